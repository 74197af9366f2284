#include "analysis/diff/causes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <utility>

#include "analysis/diff/alignment.h"
#include "analysis/model/names.h"

namespace tally::analysis {
namespace {

// value x after / before, rounded to the nearest.
uint64_t proportion(uint64_t value, uint64_t before, uint64_t after) {
  using Wide = unsigned __int128;
  return static_cast<uint64_t>((Wide{value} * after + before / 2) / before);
}

}  // namespace

uint64_t magnitude(int64_t value) {
  return value < 0 ? ~static_cast<uint64_t>(value) + 1 : static_cast<uint64_t>(value);
}

int64_t signed_difference(uint64_t a, uint64_t b) {
  return a >= b ? static_cast<int64_t>(a - b) : -static_cast<int64_t>(b - a);
}

ChangeParts split_change(const ChangeFactors& before, const ChangeFactors& after, bool same_code) {
  const std::pair<uint64_t, uint64_t> factors[] = {{before.commands, after.commands},
                                                   {before.invocations, after.invocations},
                                                   {before.executions, after.executions}};
  uint64_t values[] = {0, 0, 0};
  uint64_t at = before.value;
  for (size_t f = 0; f < std::size(factors); ++f) {
    const auto [old, now] = factors[f];
    if (old == 0 && now != 0) {
      std::fill(values + f, std::end(values), after.value);
      break;
    }
    if (old != 0) at = proportion(before.value, old, now);
    values[f] = at;
  }
  if (same_code) values[2] = after.value;
  return {.code = signed_difference(after.value, values[2]),
          .executions = signed_difference(values[2], values[1]),
          .invocations = signed_difference(values[1], values[0]),
          .commands = signed_difference(values[0], before.value)};
}

std::string_view cause_name(CauseKind kind) {
  constexpr std::string_view kNames[] = {"edit", "rebuilt",     "added",   "removed",
                                         "data", "invocations", "commands"};
  return kNames[static_cast<size_t>(kind)];
}

namespace {

constexpr size_t kMaxEditedText = 60;  // bytes of an edited line in a sentence
constexpr size_t kMaxNamed = 2;        // lines or loops in a sentence

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// The part of a text between two positions, made wider so that it is a whole call, or else the
// whole text. `head` and `tail`: how much the two texts have in common.
std::string_view around_edit(std::string_view text, size_t head, size_t tail) {
  size_t depth = 0, begin = std::string_view::npos;
  for (size_t i = head; i-- > 0;) {
    if (text[i] == ')') ++depth;
    if (text[i] == '(' && depth-- == 0) {
      begin = i;
      break;
    }
  }
  if (begin == std::string_view::npos) return text;
  depth = 0;
  size_t end = text.size() - tail;
  for (; end < text.size(); ++end) {
    if (text[end] == '(') ++depth;
    if (text[end] == ')' && depth-- == 0) break;
  }
  if (end == text.size()) return text;
  while (begin > 0 && is_word(text[begin - 1])) --begin;
  return text.substr(begin, end + 1 - begin);
}

std::string shortened_edit(std::string_view text) {
  if (text.ends_with(';')) text.remove_suffix(1);
  if (text.size() <= kMaxEditedText) return std::string(text);
  size_t end = kMaxEditedText;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return std::string(text.substr(0, end)) + "...";
}

// "min(d, 0.6) -> min(d, 0.4)"
std::string edit_text(std::string_view old, std::string_view now) {
  const size_t shorter = std::min(old.size(), now.size());
  size_t head = 0, tail = 0;
  while (head < shorter && old[head] == now[head]) ++head;
  while (tail < shorter - head && old[old.size() - 1 - tail] == now[now.size() - 1 - tail]) ++tail;
  const std::string_view a = around_edit(old, head, tail), b = around_edit(now, head, tail);
  const bool whole = a.size() == old.size() || b.size() == now.size();
  return shortened_edit(whole ? old : a) + " -> " + shortened_edit(whole ? now : b);
}

// "scene.frag:58", or ":58" where the file is known from before.
std::string cause_place(const std::string& file, uint32_t line, const std::string& known) {
  return fmt::format("{}:{}", file == known ? std::string() : base_name(file), line);
}

std::string edited_text(const EditedLine& line, const std::string& known) {
  if (line.text.empty()) {
    const std::string text = shortened_edit(line.old_text);
    if (line.old_line == 0)
      return fmt::format("a line of {} was removed ({})", base_name(line.file), text);
    return fmt::format("{} was removed ({})", cause_place(line.file, line.old_line, known), text);
  }
  const std::string place = cause_place(line.file, line.line, known);
  if (line.old_text.empty())
    return fmt::format("{} was added ({})", place, shortened_edit(line.text));
  return fmt::format("{} was edited ({})", place, edit_text(line.old_text, line.text));
}

double rate(uint64_t count, uint64_t base) {
  return base == 0 ? 0 : static_cast<double>(count) / static_cast<double>(base);
}

// "50.3 instead of 41.7", with as many decimals as tell the two apart.
std::string rates_text(double after, double before) {
  for (int decimals = 1; decimals < 6; ++decimals) {
    const std::string now = with_separators(fmt::format("{:.{}f}", after, decimals));
    const std::string old = with_separators(fmt::format("{:.{}f}", before, decimals));
    if (now != old) return fmt::format("{} instead of {}", now, old);
  }
  return with_separators(fmt::format("{:.1f}", after));
}

std::string loop_text(const CountChange& loop, const std::string& known) {
  const std::string place = cause_place(loop.file, loop.line, known);
  const double now = rate(loop.after, loop.base_after);
  if (loop.base_before == 0)
    return fmt::format("the loop at {} ran {:.1f} times per entry", place, now);
  return fmt::format("the loop at {} ran {} times per entry", place,
                     rates_text(now, rate(loop.before, loop.base_before)));
}

// Sentences of what followed within an invocation.
std::vector<std::string> effects(const Cause& cause, const std::string& file) {
  std::vector<std::string> texts;
  for (size_t l = 0; l < std::min(cause.loops.size(), kMaxNamed); ++l)
    texts.push_back(loop_text(cause.loops[l], file));
  if (cause.other_lines.empty()) return texts;
  const auto found = std::ranges::find_if(
      cause.other_lines, [](const CountChange& change) { return change.line != 0; });
  if (found == cause.other_lines.end()) return texts;
  const CountChange& line = *found;
  const bool small =
      !cause.loops.empty() && magnitude(line.part) < magnitude(cause.loops.front().part) / 10;
  if (small) return texts;
  texts.push_back(fmt::format(
      "{} ran {} times per invocation", cause_place(line.file, line.line, file),
      rates_text(rate(line.after, line.base_after), rate(line.before, line.base_before))));
  return texts;
}

std::string shaders_text(const Cause& cause) {
  if (cause.shaders.size() == 1) return cause.shaders.front();
  return counted(cause.shaders.size(), "shader");
}

std::string what_changed(const Cause& cause) {
  std::string file;
  if (!cause.lines.empty()) {
    file = cause.lines.front().file;
  } else if (!cause.loops.empty()) {
    file = cause.loops.front().file;
  } else if (!cause.other_lines.empty()) {
    file = cause.other_lines.front().file;
  }
  const std::string first_place = cause.lines.empty() ? std::string() : file;
  std::string text;
  const auto join = [&text](const std::string& part, const char* separator) {
    text += (text.empty() ? "" : separator) + part;
  };
  switch (cause.kind) {
    case CauseKind::Edit: {
      for (size_t l = 0; l < std::min(cause.lines.size(), kMaxNamed); ++l)
        join(edited_text(cause.lines[l], l == 0 ? std::string() : file), ", ");
      if (cause.lines.size() > kMaxNamed)
        join(fmt::format("{} more were edited", counted(cause.lines.size() - kMaxNamed, "line")),
             ", ");
      if (cause.shaders.size() > 1) text += fmt::format(" in {}", shaders_text(cause));
      break;
    }
    case CauseKind::Rebuilt:
      text = fmt::format("{} has other code, {}", shaders_text(cause),
                         cause.is_text_known ? "though no line of its source differs"
                                             : "and its source text is not known");
      break;
    case CauseKind::Added:
      return shaders_text(cause) + " did not run before";
    case CauseKind::Removed:
      return shaders_text(cause) + " does not run any more";
    case CauseKind::Data:
      text = shaders_text(cause) + " has the same code and took other paths";
      break;
    case CauseKind::Invocations: {
      if (cause.commands_before == cause.commands_after)
        return fmt::format("{} had {} invocations instead of {} in as many {}", shaders_text(cause),
                           with_separators(cause.after), with_separators(cause.before),
                           cause.command == "dispatch" ? "dispatches" : "draws");
      return fmt::format("{} had {} invocations per {}", shaders_text(cause),
                         rates_text(rate(cause.after, cause.commands_after),
                                    rate(cause.before, cause.commands_before)),
                         cause.command);
    }
    case CauseKind::Commands:
      return fmt::format("{} had {} instead of {}", cause.pass.empty() ? "the program" : cause.pass,
                         counted(cause.commands_after, cause.command),
                         with_separators(cause.commands_before));
  }
  for (const std::string& effect : effects(cause, first_place)) join(effect, "; ");
  return text;
}

std::string signed_count(int64_t amount) {
  if (amount == 0) return "0";
  return (amount > 0 ? "+" : "-") + with_separators(magnitude(amount));
}

// "+19.3 %"; as a count where the percentage would be 0.0.
std::string amount_text(int64_t amount, uint64_t before) {
  const double percent = 100 * rate(magnitude(amount), before);
  if (before == 0 || percent < 0.05) return signed_count(amount);
  return fmt::format("{}{:.1f} %", amount > 0 ? "+" : "-", percent);
}

}  // namespace

std::string cause_text(const Causes& causes, const Cause& cause) {
  const std::string change = cause.amount() == 0
                                 ? std::string("unchanged")
                                 : amount_text(cause.amount(), cause.shaders_before);
  return fmt::format("{}; {} {}", what_changed(cause), causes.metric_title, change);
}

std::string parts_text(const Causes& causes, const Cause& cause) {
  std::string text;
  size_t count = 0;
  const auto part = [&](const std::string& name, int64_t amount) {
    if (amount == 0) return;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, signed_count(amount));
    ++count;
  };
  part("code", cause.parts.code);
  int64_t elsewhere = cause.parts.executions;
  for (const CountChange& loop : cause.loops) {
    part(fmt::format("loop at {}:{}", base_name(loop.file), loop.line), loop.part);
    elsewhere -= loop.part;
  }
  part(cause.loops.empty() ? "executions" : "other executions", elsewhere);
  part("invocations", cause.parts.invocations);
  part("draws and dispatches", cause.parts.commands);
  if (count == 0) return {};
  const std::string amount =
      fmt::format("{} of {}", signed_count(cause.amount()),
                  signed_count(signed_difference(causes.after, causes.before)));
  return count == 1 ? amount : amount + ": " + text;
}

std::string total_text(const Causes& causes) {
  const int64_t amount = signed_difference(causes.after, causes.before);
  return fmt::format("{} {} -> {}, {}", causes.metric_title, with_separators(causes.before),
                     with_separators(causes.after),
                     amount == 0 ? std::string("unchanged") : amount_text(amount, causes.before));
}

}  // namespace tally::analysis
