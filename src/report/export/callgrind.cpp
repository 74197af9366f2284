#include "report/export/exports.h"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "analysis/model/counts.h"
#include "report/table/display_text.h"

namespace tally::report {
namespace {

using analysis::BlockValues;
using analysis::CallCost;
using analysis::SelfCost;

constexpr const char* kCommandsFile = "(commands)";

void add_to(std::vector<uint64_t>& sums, std::span<const uint64_t> values) {
  for (size_t m = 0; m < sums.size(); ++m) sums[m] = analysis::saturating_sum(sums[m], values[m]);
}

// Names with numbers: the text is written once, later only its number.
class CompressedNames {
 public:
  uint32_t number(std::string_view name) { return names_.add(printable(name)); }
  void append(std::string& text, uint32_t number) {
    text += fmt::format(FMT_COMPILE("({})"), number + 1);
    is_written_.resize(names_.size());
    if (is_written_[number]) return;
    is_written_[number] = true;
    text += ' ';
    text += names_[number];
  }

 private:
  NameTable names_;
  std::vector<bool> is_written_;
};

class Callgrind {
 public:
  Callgrind(const CallTree& tree, const Output& out)
      : tree_(tree), out_(out), values_(tree.commands().variant_values()) {
    choose_events();
  }

  void write(const std::string& creator) {
    write_header(creator);
    write_commands();
    for (uint32_t v = 0; v < values_.size(); ++v) {
      if (!values_[v].blocks().empty()) write_shader(v);
    }
    out_("\ntotals:" + costs_text(totals_) + "\n");
  }

 private:
  void choose_events() {
    totals_.resize(tree_.metrics().size());
    for (const auto& blocks : values_) {
      for (const BlockValues& block : blocks.blocks()) add_to(totals_, block.metrics);
    }
    const uint32_t first = analysis::default_metric(tree_.metrics());
    if (first < totals_.size()) events_.push_back(first);
    for (uint32_t m = 0; m < totals_.size(); ++m) {
      if (totals_[m] != 0 && m != first) events_.push_back(m);
    }
  }

  void write_header(const std::string& creator) {
    std::string command;
    for (const std::string& argument : tree_.model().capture.command_line)
      command += (command.empty() ? "" : " ") + printable(argument);
    out_("# callgrind format\nversion: 1\ncreator: " + printable(creator) + "\ncmd: " + command);
    out_(
        "\ndesc: Calls: a block's counts do not say which caller it ran for. The inclusive costs "
        "of a function with several callers are apportioned by the number of calls, in integers "
        "that sum to the function's costs exactly.\npositions: line\n");
    std::string events = "events:";
    for (const uint32_t m : events_) {
      const std::string id = event_name(m);
      out_(fmt::format("event: {} : {}\n", id, printable(tree_.metrics()[m].title)));
      events += " " + id;
    }
    out_(events + "\n");
  }

  // An event's name is one word.
  std::string event_name(uint32_t metric) const {
    std::string name = tree_.metrics()[metric].id;
    for (char& c : name) {
      const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
      if (!is_letter && !(c >= '0' && c <= '9')) c = '_';
    }
    return name;
  }

  void append_costs(std::string& text, std::span<const uint64_t> values) const {
    for (const uint32_t m : events_) {
      const fmt::format_int digits(values[m]);
      text += ' ';
      text.append(digits.data(), digits.size());
    }
  }

  std::string costs_text(std::span<const uint64_t> values) const {
    std::string text;
    append_costs(text, values);
    return text;
  }

  // The numbers of a function's file and name.
  struct Function {
    uint32_t file, name;
  };
  Function function(std::string_view file, std::string_view name) {
    return {files_.number(file), functions_.number(name)};
  }

  void begin_function(const Function& f) {
    text_ = "\nfl=";
    files_.append(text_, f.file);
    text_ += "\nfn=";
    functions_.append(text_, f.name);
    text_ += '\n';
    out_(text_);
  }

  // callgrind_annotate takes the costs of 0 calls for the caller's own.
  void write_call(const Function& f, uint64_t count, uint32_t line,
                  std::span<const uint64_t> values) {
    text_ = "cfi=";
    files_.append(text_, f.file);
    text_ += "\ncfn=";
    functions_.append(text_, f.name);
    text_ += fmt::format(FMT_COMPILE("\ncalls={} 0\n{}"), std::max<uint64_t>(count, 1), line);
    append_costs(text_, values);
    text_ += '\n';
    out_(text_);
  }

  std::string draw_name(uint32_t draw) const {
    const auto& commands = tree_.commands();
    const auto& d = commands.draws()[draw];
    return commands.draw_text(d) + " in " + commands.places()[d.place];
  }

  // A place is opened again for each of its draws, so that no draw's costs need to be kept.
  void write_commands() {
    const auto& commands = tree_.commands();
    const auto& groups = commands.groups();
    std::vector<uint64_t> sums;
    for (size_t first = 0, last = 0; first < groups.size(); first = last) {
      const auto& draw = commands.draws()[groups[first].draw];
      sums.assign(totals_.size(), 0);
      const Function of_draw = function(kCommandsFile, draw_name(groups[first].draw));
      begin_function(of_draw);
      for (last = first; last < groups.size() && groups[last].draw == groups[first].draw; ++last)
        add_to(sums, write_entry_call(last));
      begin_function(function(kCommandsFile, commands.places()[draw.place]));
      write_call(of_draw, draw.runs, 0, sums);
    }
  }

  // Returns the values of the group, until the next call.
  const std::vector<uint64_t>& write_entry_call(size_t group) {
    const uint32_t variant = tree_.commands().groups()[group].variant;
    const analysis::ShaderCode* code = tree_.code(variant);
    group_sums_.assign(totals_.size(), 0);
    uint64_t invocations = 0;
    tree_.commands().values(group, group_values_);
    for (const BlockValues& block : group_values_.blocks()) {
      add_to(group_sums_, block.metrics);
      if (code != nullptr && block.block == code->entry_block) invocations = block.executions;
    }
    write_call(entry_of(variant), invocations, 0, group_sums_);
    return group_sums_;
  }

  // A variant's entry point.
  Function entry_of(uint32_t variant) {
    const auto [found, is_new] = entries_.try_emplace(variant);
    if (is_new) {
      const bool has_code = tree_.code(variant) != nullptr;
      const uint32_t entry = has_code ? tree_.calls(variant).entry() : 0;
      found->second =
          has_code ? function(tree_.frame_file(variant, entry), tree_.frame_text(variant, entry))
                   : function(kCommandsFile, tree_.shader_text(variant));
    }
    return found->second;
  }

  void write_shader(uint32_t variant) {
    const analysis::ShaderCode* code = tree_.code(variant);
    if (code == nullptr) {
      begin_function(entry_of(variant));
      for (const BlockValues& block : values_[variant].blocks())
        out_("0" + costs_text(block.metrics) + "\n");
      return;
    }
    const analysis::CallCosts costs(tree_.calls(variant), values_[variant].blocks(),
                                    tree_.metrics());
    const std::vector<CallCost> calls = costs.calls_with_costs();
    const analysis::ShaderCalls& shader = tree_.calls(variant);
    for (uint32_t f = 0; f < code->map.functions().size(); ++f) {
      const auto is_call = [&](const CallCost& call) {
        return shader.frames()[call.caller].function == f && call.count != 0;
      };
      const auto has_lines = [&](uint32_t frame) { return !costs.frames()[frame].empty(); };
      if (std::ranges::none_of(shader.frames_in(f), has_lines) &&
          std::ranges::none_of(calls, is_call))
        continue;
      const std::string file = tree_.frame_file(variant, f);
      begin_function(function(file, tree_.frame_text(variant, f)));
      for (const uint32_t frame : shader.frames_in(f)) {
        for (const SelfCost& line : costs.frames()[frame])
          write_line(variant, file, line, shader.is_inlined(frame));
      }
      for (const CallCost& call : calls) {
        if (is_call(call)) write_function_call(variant, call);
      }
    }
  }

  // The code of another file, and inlined code, is between fi= and fe=.
  void write_line(uint32_t variant, const std::string& file, const SelfCost& line,
                  bool is_inlined) {
    const bool has_line = line.location.line != 0;
    const std::string its_file = has_line ? tree_.file_text(variant, line.location.file) : file;
    const bool is_elsewhere = is_inlined || its_file != file;
    if (is_elsewhere) write_file("fi", its_file);
    out_(fmt::format("{}{}\n", line.location.line, costs_text(line.metrics)));
    if (is_elsewhere) write_file("fe", file);
  }

  void write_file(const char* field, const std::string& file) {
    text_ = std::string(field) + '=';
    files_.append(text_, files_.number(file));
    out_(text_ + '\n');
  }

  void write_function_call(uint32_t variant, const CallCost& call) {
    write_call(
        function(tree_.frame_file(variant, call.callee), tree_.frame_text(variant, call.callee)),
        call.count, call.location.line, call.metrics);
  }

  const CallTree& tree_;
  const Output& out_;
  std::vector<analysis::BlockValueList> values_;    // by variant
  std::vector<uint32_t> events_;                    // metrics
  std::vector<uint64_t> totals_;                    // by metric
  std::unordered_map<uint32_t, Function> entries_;  // by variant
  CompressedNames files_, functions_;
  std::string text_;
  analysis::BlockValueList group_values_;
  std::vector<uint64_t> group_sums_;
};

}  // namespace

void write_callgrind(const CallTree& tree, const std::string& creator, const Output& out) {
  Callgrind(tree, out).write(creator);
}

}  // namespace tally::report
