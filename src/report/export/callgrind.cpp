#include "report/export/callgrind.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "analysis/model/counts.h"
#include "report/display_text.h"

namespace tally::report {
namespace {

using analysis::BlockValues;
using analysis::CallCost;
using analysis::kNone;
using analysis::SelfCost;

constexpr const char* kCommandsFile = "(commands)";

void add_to(std::vector<uint64_t>& sums, const std::vector<uint64_t>& values) {
  for (size_t m = 0; m < sums.size(); ++m) sums[m] = analysis::saturating_sum(sums[m], values[m]);
}

// Names with numbers: the text is written once, later only its number.
class CompressedNames {
 public:
  std::string text(const std::string& name) {
    const auto [found, is_new] = numbers_.try_emplace(printable(name), numbers_.size() + 1);
    return is_new ? fmt::format("({}) {}", found->second, found->first)
                  : fmt::format("({})", found->second);
  }

 private:
  std::unordered_map<std::string, size_t> numbers_;
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
      if (!values_[v].empty()) write_shader(v);
    }
    out_("\ntotals:" + costs_text(totals_) + "\n");
  }

 private:
  void choose_events() {
    totals_.resize(tree_.metrics().size());
    for (const auto& blocks : values_) {
      for (const BlockValues& block : blocks) add_to(totals_, block.metrics);
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

  std::string costs_text(const std::vector<uint64_t>& values) const {
    std::string text;
    for (const uint32_t m : events_) text += fmt::format(" {}", values[m]);
    return text;
  }

  void begin_function(const std::string& file, const std::string& name) {
    out_(fmt::format("\nfl={}\nfn={}\n", files_.text(file), functions_.text(name)));
  }

  // callgrind_annotate takes the costs of 0 calls for the caller's own.
  void write_call(const std::string& file, const std::string& name, uint64_t count, uint32_t line,
                  const std::vector<uint64_t>& values) {
    out_(fmt::format("cfi={}\ncfn={}\ncalls={} 0\n{}{}\n", files_.text(file), functions_.text(name),
                     std::max<uint64_t>(count, 1), line, costs_text(values)));
  }

  std::string draw_name(uint32_t draw) const {
    const auto& commands = tree_.commands();
    const auto& d = commands.draws()[draw];
    return fmt::format("{} in {}", commands.draw_text(d), commands.places()[d.place]);
  }

  // A place is opened again for each of its draws, so that no draw's costs need to be kept.
  void write_commands() {
    const auto& commands = tree_.commands();
    const auto& groups = commands.groups();
    for (size_t first = 0, last = 0; first < groups.size(); first = last) {
      const auto& draw = commands.draws()[groups[first].draw];
      std::vector<uint64_t> sums(totals_.size());
      const std::string name = draw_name(groups[first].draw);
      begin_function(kCommandsFile, name);
      for (last = first; last < groups.size() && groups[last].draw == groups[first].draw; ++last)
        add_to(sums, write_entry_call(last));
      begin_function(kCommandsFile, commands.places()[draw.place]);
      write_call(kCommandsFile, name, draw.runs, 0, sums);
    }
  }

  // Returns the values of the group.
  std::vector<uint64_t> write_entry_call(size_t group) {
    const uint32_t variant = tree_.commands().groups()[group].variant;
    const analysis::ShaderCode* code = tree_.code(variant);
    std::vector<uint64_t> sums(totals_.size());
    uint64_t invocations = 0;
    for (const BlockValues& block : tree_.commands().values(group)) {
      add_to(sums, block.metrics);
      if (code != nullptr && block.block == code->entry_block) invocations = block.executions;
    }
    const auto& [file, name] = entry_of(variant);
    write_call(file, name, invocations, 0, sums);
    return sums;
  }

  // The file and name of a variant's entry point.
  const std::pair<std::string, std::string>& entry_of(uint32_t variant) {
    const auto [found, is_new] = entries_.try_emplace(variant);
    if (!is_new) return found->second;
    if (tree_.code(variant) == nullptr)
      return found->second = {kCommandsFile, tree_.shader_text(variant)};
    const uint32_t entry = tree_.calls(variant).entry();
    return found->second = {tree_.function_file(variant, entry),
                            tree_.function_text(variant, entry)};
  }

  void write_shader(uint32_t variant) {
    const analysis::ShaderCode* code = tree_.code(variant);
    if (code == nullptr) {
      const auto& [file, name] = entry_of(variant);
      begin_function(file, name);
      for (const BlockValues& block : values_[variant])
        out_("0" + costs_text(block.metrics) + "\n");
      return;
    }
    const analysis::CallCosts costs(tree_.calls(variant), values_[variant], tree_.metrics());
    for (uint32_t f = 0; f < costs.functions().size(); ++f) {
      const auto is_call = [f](const CallCost& call) {
        return call.caller == f && call.count != 0;
      };
      if (costs.functions()[f].empty() && std::ranges::none_of(costs.calls(), is_call)) continue;
      const std::string file = tree_.function_file(variant, f);
      begin_function(file, tree_.function_text(variant, f));
      for (const SelfCost& line : costs.functions()[f]) write_line(variant, file, line);
      for (const CallCost& call : costs.calls()) {
        if (is_call(call)) write_function_call(variant, call);
      }
    }
  }

  // The code of another file, and inlined code, is between fi= and fe=.
  void write_line(uint32_t variant, const std::string& file, const SelfCost& line) {
    const bool has_line = line.location.line != 0;
    const std::string its_file = has_line ? tree_.file_text(variant, line.location.file) : file;
    const bool is_elsewhere = line.inlined != kNone || its_file != file;
    if (is_elsewhere) out_(fmt::format("fi={}\n", files_.text(its_file)));
    out_(fmt::format("{}{}\n", line.location.line, costs_text(line.metrics)));
    if (is_elsewhere) out_(fmt::format("fe={}\n", files_.text(file)));
  }

  void write_function_call(uint32_t variant, const CallCost& call) {
    write_call(tree_.function_file(variant, call.callee), tree_.function_text(variant, call.callee),
               call.count, call.location.line, call.metrics);
  }

  const CallTree& tree_;
  const Output& out_;
  std::vector<std::vector<BlockValues>> values_;                               // by variant
  std::vector<uint32_t> events_;                                               // metrics
  std::vector<uint64_t> totals_;                                               // by metric
  std::unordered_map<uint32_t, std::pair<std::string, std::string>> entries_;  // by variant
  CompressedNames files_, functions_;
};

}  // namespace

void write_callgrind(const CallTree& tree, const std::string& creator, const Output& out) {
  Callgrind(tree, out).write(creator);
}

}  // namespace tally::report
