#include "report/table/display_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "platform/process.h"

namespace tally::report {
namespace {

constexpr char32_t kReplacement = 0xFFFD;
constexpr size_t kTabWidth = 4;

struct Range {
  char32_t first, last;
};

// Characters of two cells: the blocks of East Asian Width W and F that occur in names and comments.
constexpr std::array kWide = {
    Range{0x1100, 0x115F},   Range{0x2E80, 0x303E},   Range{0x3041, 0x33FF},
    Range{0x3400, 0x4DBF},   Range{0x4E00, 0x9FFF},   Range{0xA000, 0xA4CF},
    Range{0xA960, 0xA97F},   Range{0xAC00, 0xD7A3},   Range{0xF900, 0xFAFF},
    Range{0xFE30, 0xFE6F},   Range{0xFF00, 0xFF60},   Range{0xFFE0, 0xFFE6},
    Range{0x1F300, 0x1F64F}, Range{0x1F680, 0x1F6FF}, Range{0x1F900, 0x1F9FF},
    Range{0x20000, 0x3FFFD},
};

// Characters of zero cells: combining marks, joiners, variation selectors.
constexpr std::array kZeroWidth = {
    Range{0x0300, 0x036F}, Range{0x0483, 0x0489}, Range{0x0591, 0x05BD}, Range{0x064B, 0x065F},
    Range{0x1AB0, 0x1AFF}, Range{0x1DC0, 0x1DFF}, Range{0x200B, 0x200F}, Range{0x202A, 0x202E},
    Range{0x2060, 0x2069}, Range{0x20D0, 0x20FF}, Range{0xFE00, 0xFE0F}, Range{0xFE20, 0xFE2F},
};

template <size_t N>
bool in(const std::array<Range, N>& ranges, char32_t c) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [c](const Range& r) { return c >= r.first && c <= r.last; });
}

struct Decoded {
  char32_t character;
  size_t bytes;
};

// Decodes the first character of a non-empty text. Malformed input yields U+FFFD for one byte.
Decoded decode(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < length) return {kReplacement, 1};
  char32_t c = lead & (0x7F >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {kReplacement, 1};
    c = (c << 6) | (byte(i) & 0x3F);
  }
  constexpr std::array<char32_t, 5> kMin = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = c >= 0xD800 && c <= 0xDFFF;
  if (c < kMin[length] || c > 0x10FFFF || surrogate) return {kReplacement, 1};
  return {c, length};
}

// Includes bidirectional overrides, which could make a line read differently from its content.
bool is_control(char32_t c) {
  return c < 0x20 || (c >= 0x7F && c < 0xA0) || (c >= 0x202A && c <= 0x202E) ||
         (c >= 0x2066 && c <= 0x2069) || c == 0x2028 || c == 0x2029;
}

size_t width_of(char32_t c) {
  if (in(kZeroWidth, c)) return 0;
  return in(kWide, c) ? 2 : 1;
}

constexpr std::string_view kReplacementUtf8 = "\xEF\xBF\xBD";
constexpr std::string_view kEllipsis = "\xE2\x80\xA6";

// The length, in bytes, of the longest prefix of `text` that takes at most `width` cells.
size_t bytes_within(std::string_view text, size_t width) {
  size_t used = 0;
  size_t at = 0;
  while (at < text.size()) {
    const Decoded d = decode(text.substr(at));
    used += width_of(d.character);
    if (used > width) break;
    at += d.bytes;
  }
  return at;
}

}  // namespace

std::string printable(std::string_view text) {
  const auto is_plain = [](unsigned char c) { return c >= 0x20 && c < 0x7F; };
  if (std::ranges::all_of(text, is_plain)) return std::string(text);  // almost all texts
  std::string out;
  out.reserve(text.size());
  size_t column = 0;
  while (!text.empty()) {
    const Decoded d = decode(text);
    if (d.character == '\t') {
      const size_t spaces = kTabWidth - column % kTabWidth;
      out.append(spaces, ' ');
      column += spaces;
    } else if (is_control(d.character) || d.character == kReplacement) {
      out += kReplacementUtf8;
      ++column;
    } else {
      out += text.substr(0, d.bytes);
      column += width_of(d.character);
    }
    text.remove_prefix(d.bytes);
  }
  return out;
}

size_t display_width(std::string_view text) {
  size_t width = 0;
  while (!text.empty()) {
    const Decoded d = decode(text);
    width += width_of(d.character);
    text.remove_prefix(d.bytes);
  }
  return width;
}

std::string shortened(std::string_view text, size_t width) {
  if (display_width(text) <= width) return std::string(text);
  if (width == 0) return {};
  return std::string(text.substr(0, bytes_within(text, width - 1))) + std::string(kEllipsis);
}

std::string wrapped(std::string_view text, size_t width) {
  std::string out, line = " ";
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    if (display_width(line) + 1 + display_width(word) > width && line.size() > 1) {
      out += line + "\n";
      line = " ";
    }
    line += " " + std::string(word);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out + line + "\n";
}

std::string shell_word(const std::string& word) {
  // Both shells of Windows take quotation marks, and one takes apostrophes.
  if (platform::list_separator() == ';')
    return word.find_first_of(" '`$%&|;<>()^") == std::string::npos ? word : '"' + word + '"';
  return word.find_first_of(" '\"$`\\&|;<>()*?[#~") == std::string::npos ? word : "'" + word + "'";
}

std::string left_aligned(std::string_view text, size_t width) {
  const size_t have = display_width(text);
  return std::string(text) + std::string(have < width ? width - have : 0, ' ');
}

std::string right_aligned(std::string_view text, size_t width) {
  const size_t have = display_width(text);
  return std::string(have < width ? width - have : 0, ' ') + std::string(text);
}

namespace {

using analysis::Cell;
using analysis::Unit;

constexpr std::array kTimes = {"ns", "\xC2\xB5s", "ms", "s"};
constexpr std::array kSizes = {"B", "KiB", "MiB", "GiB", "TiB"};
constexpr double kTimeStep = 1000, kSizeStep = 1024;

// The index of the largest unit in which the value is at least 1.
template <size_t N>
size_t step_of(double value, double step, const std::array<const char*, N>&) {
  size_t i = 0;
  for (; value >= step && i + 1 < N; ++i) value /= step;
  return i;
}

// Four significant digits.
template <size_t N>
std::string scaled(double value, double step, const std::array<const char*, N>& names) {
  const size_t i = step_of(value, step, names);
  value /= std::pow(step, static_cast<double>(i));
  if (i == 0) return fmt::format("{:.0f} {}", value, names[0]);
  const int decimals = value >= 1000 ? 0 : value >= 100 ? 1 : value >= 10 ? 2 : 3;
  return fmt::format("{:.{}f} {}", value, decimals, names[i]);
}

}  // namespace

std::string duration_text(double nanoseconds) { return scaled(nanoseconds, kTimeStep, kTimes); }

std::string bytes_text(double bytes) { return scaled(bytes, kSizeStep, kSizes); }

ColumnFormat::ColumnFormat(const analysis::Table& table, size_t column)
    : unit_(table.columns[column].unit), zero_(table.columns[column].zero) {
  if (unit_ == Unit::None) return;
  double max_value = 0;
  for (size_t r = 0; r < table.rows.size(); ++r) {
    const Cell cell = table.rows.cell(r, column);
    fractional_ |= std::holds_alternative<double>(cell);
    max_value = std::max(max_value, analysis::number_of(cell));
  }
  const auto scale = [&](double step, const auto& names) {
    const size_t i = step_of(max_value, step, names);
    divisor_ = std::pow(step, static_cast<double>(i));
    suffix_ = std::string(" ") + names[i];
    decimals_ = i != 0 ? 3 : fractional_ && max_value < 10 ? 2 : 0;
  };
  if (unit_ == Unit::Nanoseconds) scale(kTimeStep, kTimes);
  if (unit_ == Unit::Bytes) scale(kSizeStep, kSizes);
  if (unit_ == Unit::Percent) decimals_ = 1, suffix_ = "%";
  if (unit_ == Unit::Count && fractional_) decimals_ = 2;
}

std::string ColumnFormat::text(const Cell& cell) const {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (std::holds_alternative<std::monostate>(cell)) return {};
  const double number = analysis::number_of(cell);
  if (number == 0 && !zero_.empty()) return zero_;
  const auto* count = std::get_if<uint64_t>(&cell);
  const bool exact = count != nullptr && (unit_ == Unit::Count || unit_ == Unit::None);
  if (exact && !fractional_) return with_separators(*count);
  return analysis::with_separators(fmt::format("{:.{}f}", number / divisor_, decimals_)) + suffix_;
}

std::string unit_name(Unit unit) {
  switch (unit) {
    case Unit::Count:
      return "count";
    case Unit::Nanoseconds:
      return "ns";
    case Unit::Bytes:
      return "bytes";
    case Unit::Percent:
      return "percent";
    case Unit::None:
      return "";
  }
  return "";
}

namespace {

using analysis::Column;
using analysis::ColumnRole;
using analysis::Table;

constexpr size_t kGap = 2;
constexpr size_t kMinTextWidth = 24;
constexpr size_t kMinKeyWidth = 20;

// The layout of a shown column: its title, the format of its cells, and its width.
struct ColumnLayout {
  const Column* column;
  size_t index;
  ColumnFormat format;
  std::string title;
  size_t width;

  bool can_shrink() const { return !column->is_number(); }
  size_t min_width() const {
    const size_t floor = column->role == ColumnRole::Text ? kMinTextWidth : kMinKeyWidth;
    return std::min(width, std::max(floor, display_width(title)));
  }
};

std::string text_of(const Table& table, const ColumnLayout& layout, size_t row) {
  return printable(layout.format.text(table.rows.cell(row, layout.index)));
}

ColumnLayout make_layout(const Table& table, size_t index) {
  const Column& column = table.columns[index];
  ColumnLayout layout{&column, index, ColumnFormat(table, index), printable(column.title), 0};
  layout.width = display_width(layout.title);
  for (size_t r = 0; r < table.rows.size(); ++r)
    layout.width = std::max(layout.width, display_width(text_of(table, layout, r)));
  return layout;
}

size_t line_width(const std::vector<ColumnLayout>& layouts) {
  size_t width = 0;
  for (const ColumnLayout& layout : layouts) width += layout.width + kGap;
  return width;
}

// Shrinks text columns first, then key columns, until the line fits or all have their minimum
// width.
void shrink(std::vector<ColumnLayout>& layouts, size_t width) {
  for (const ColumnRole role : {ColumnRole::Text, ColumnRole::Key}) {
    for (ColumnLayout& layout : layouts) {
      const size_t have = line_width(layouts);
      if (have <= width) return;
      if (layout.column->role != role || !layout.can_shrink()) continue;
      const size_t excess = have - width;
      const size_t min_width = layout.min_width();
      layout.width = layout.width > min_width + excess ? layout.width - excess : min_width;
    }
  }
}

// Omits the last value columns until the line fits with all texts at their minimum width. Returns
// the number of omitted columns.
size_t drop_values(std::vector<ColumnLayout>& layouts, size_t width) {
  const auto min_line_width = [&] {
    size_t sum = 0;
    for (const ColumnLayout& s : layouts) sum += (s.can_shrink() ? s.min_width() : s.width) + kGap;
    return sum;
  };
  size_t dropped = 0;
  while (min_line_width() > width) {
    const auto last = std::find_if(layouts.rbegin(), layouts.rend(), [](const ColumnLayout& s) {
      return s.column->role == ColumnRole::Value;
    });
    if (last == layouts.rend() || layouts.size() == 1) break;
    layouts.erase(std::next(last).base());
    ++dropped;
  }
  return dropped;
}

std::string aligned(const ColumnLayout& layout, const std::string& text, bool last) {
  if (layout.column->is_number()) return right_aligned(text, layout.width);
  const std::string cut = shortened(text, layout.width);
  return last ? cut : left_aligned(cut, layout.width);
}

std::string without_trailing_spaces(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

template <typename CellText>
std::string line_of(const std::vector<ColumnLayout>& layouts, CellText cell_text) {
  std::string line;
  for (size_t i = 0; i < layouts.size(); ++i) {
    line += std::string(kGap, ' ') +
            aligned(layouts[i], cell_text(layouts[i]), i + 1 == layouts.size());
  }
  return without_trailing_spaces(std::move(line)) + "\n";
}

std::string heading(const Table& table) {
  std::string text = table.title;
  if (const auto column = table.column_index(table.sorted_by)) {
    text += ", by " + table.columns[*column].title;
  }
  if (table.total_rows > table.rows.size()) {
    text += fmt::format(" (first {} of {})", with_separators(table.rows.size()),
                        with_separators(table.total_rows));
  }
  return printable(text) + "\n";
}

std::vector<ColumnLayout> shown_columns(const Table& table) {
  std::vector<ColumnLayout> layouts;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    if (table.columns[i].shown) layouts.push_back(make_layout(table, i));
  }
  return layouts;
}

}  // namespace

void write_text_table(const Table& table, const TextOptions& options, const Output& out) {
  std::vector<ColumnLayout> layouts = shown_columns(table);
  const size_t dropped = drop_values(layouts, options.width);
  shrink(layouts, options.width);

  out(heading(table) + "\n");
  if (table.rows.empty()) {
    out("  (no rows)\n");
  } else {
    out(line_of(layouts, [](const ColumnLayout& s) { return s.title; }));
    out(line_of(layouts, [](const ColumnLayout& s) { return std::string(s.width, '-'); }));
    for (size_t r = 0; r < table.rows.size(); ++r)
      out(line_of(layouts, [&](const ColumnLayout& s) { return text_of(table, s, r); }));
  }
  for (const std::string& note : table.notes) out(wrapped(printable(note), options.width));
  if (dropped != 0)
    out(fmt::format("  ({} not shown: {})\n", counted(dropped, "column"), options.remedy));
}

std::string text_table(const Table& table, const TextOptions& options) {
  std::string text;
  write_text_table(table, options, [&](std::string_view piece) { text += piece; });
  return text;
}

namespace {

std::string row_of(const std::vector<std::string>& cells) {
  std::string row = "|";
  for (const std::string& cell : cells) row += " " + cell + " |";
  return row + "\n";
}

}  // namespace

std::string markdown_text(std::string_view text) {
  std::string safe;
  for (const char c : printable(text)) {
    if (c == '&') {
      safe += "&amp;";
    } else if (c == '<') {
      safe += "&lt;";
    } else {
      if (std::string_view("\\`*_[]|#~@!$").find(c) != std::string_view::npos) safe += '\\';
      safe += c;
    }
  }
  return safe;
}

// HTML, because a code span of Markdown cannot hold every text in a table.
std::string markdown_code(std::string_view text) {
  return text.empty() ? std::string() : "<code>" + markdown_text(text) + "</code>";
}

bool MarkdownDocument::add(std::string_view paragraph) {
  if (full_) return false;
  if (!fits(paragraph.size() + 2)) {
    full_ = true;
    text_ += "The rest is left out: it would be too long here.\n";
    return false;
  }
  text_ += std::string(paragraph) + "\n\n";
  return true;
}

void MarkdownDocument::add(const analysis::Table& table) {
  std::vector<size_t> shown;
  std::vector<std::string> titles, rules;
  std::vector<ColumnFormat> formats;
  for (size_t c = 0; c < table.columns.size(); ++c) {
    if (!table.columns[c].shown) continue;
    shown.push_back(c);
    titles.push_back(markdown_text(table.columns[c].title));
    rules.push_back(table.columns[c].is_number() ? "--:" : "---");
    formats.emplace_back(table, c);
  }
  if (!add("### " + markdown_text(table.title))) return;
  const std::string head = row_of(titles) + row_of(rules);
  if (!fits(head.size())) return void(add(head));
  text_ += head;
  size_t rows = 0;
  for (; rows < table.rows.size(); ++rows) {
    std::vector<std::string> cells;
    for (size_t i = 0; i < shown.size(); ++i) {
      const std::string text = formats[i].text(table.rows.cell(rows, shown[i]));
      cells.push_back(table.columns[shown[i]].is_number() ? markdown_text(text)
                                                          : markdown_code(text));
    }
    const std::string row = row_of(cells);
    if (!fits(row.size())) break;
    text_ += row;
  }
  const size_t left_out = std::max(table.total_rows, table.rows.size()) - rows;
  text_ += "\n";
  if (left_out != 0) text_ += fmt::format("and {}\n\n", counted(left_out, "more row"));
  for (const std::string& note : table.notes) add(markdown_text(note));
}

}  // namespace tally::report
