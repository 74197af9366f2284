#include "analysis/command_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>

namespace tally::analysis {
namespace {

using Key = std::array<uint32_t, 4>;

// Numbers passes so that those that are alike have the same number.
std::vector<uint32_t> kinds_of_passes(const Model& model) {
  std::map<std::string, uint32_t> kinds;
  std::vector<uint32_t> result;
  for (const Pass& pass : model.passes) {
    const std::string look = fmt::format(
        "{}|{}|{}x{}x{}|{}|{}|{}", model.frames[pass.frame].device, pass.row.name, pass.row.width,
        pass.row.height, pass.row.layers, pass.row.view_mask, pass.row.attachments, pass.label);
    result.push_back(kinds.emplace(look, static_cast<uint32_t>(kinds.size())).first->second);
  }
  return result;
}

class Grouper {
 public:
  Grouper(const Model& model, GroupBy by, bool merge) : model_(model), by_(by), merge_(merge) {
    if (merge) pass_kinds_ = kinds_of_passes(model);
  }

  CommandGroups run() {
    for (uint32_t i = 0; i < model_.commands.size(); ++i) add_command(i);
    for (uint32_t i = 0; i < model_.passes.size(); ++i) add_pass(i);
    count_frames();
    return std::move(result_);
  }

 private:
  void add_command(uint32_t index) {
    const Command& command = model_.commands[index];
    const uint32_t innermost = group_of(key_of(index, command));
    result_.group_of_command.push_back(innermost);
    const bool draw =
        command.call != kNone && model_.calls[command.call].kind == store::CallKind::Draw;
    // The time of a command in a pass is part of the pass's.
    const bool counted_with_pass =
        command.pass != kNone && by_ != GroupBy::Command && by_ != GroupBy::Pipeline;
    for (uint32_t number = innermost; number != kNone; number = result_.groups[number].parent) {
      CommandGroup& group = result_.groups[number];
      if (group.first_command == kNone) group.first_command = index;
      (draw ? group.draws : group.dispatches) += command.runs;
      note_frame(number, command.frame);
      if (!counted_with_pass) add_time(group, command.gpu_time_ns);
    }
  }

  void add_pass(uint32_t index) {
    const Pass& pass = model_.passes[index];
    if (by_ == GroupBy::Command || by_ == GroupBy::Pipeline) return;
    uint32_t number = group_of(key_of_pass(index, pass));
    for (; number != kNone; number = result_.groups[number].parent) {
      CommandGroup& group = result_.groups[number];
      if (group.pass == kNone) group.pass = index;
      ++group.passes;
      note_frame(number, pass.frame);
      add_time(group, pass.row.gpu_time_ns);
    }
  }

  Key key_of(uint32_t index, const Command& command) const {
    switch (by_) {
      case GroupBy::Command:
        if (!merge_) return {index};
        return {command.call, command.pipeline, command.label,
                command.pass == kNone ? kNone : pass_kinds_[command.pass]};
      case GroupBy::Pass:
        if (command.pass != kNone) return key_of_pass(command.pass, model_.passes[command.pass]);
        return {kNone, merge_ ? device_of(command.frame) : command.frame};
      case GroupBy::Pipeline:
        return {command.pipeline};
      case GroupBy::Frame:
        return {command.frame};
      case GroupBy::Label:
        return {command.label};
    }
    return {};
  }

  Key key_of_pass(uint32_t index, const Pass& pass) const {
    switch (by_) {
      case GroupBy::Pass:
        return {merge_ ? pass_kinds_[index] : index};
      case GroupBy::Frame:
        return {pass.frame};
      default:
        return {pass.label};
    }
  }

  uint32_t device_of(uint32_t frame) const {
    return model_.device_index.find(model_.frames[frame].device);
  }

  uint32_t group_of(const Key& key) {
    const auto [place, added] = by_key_.emplace(key, static_cast<uint32_t>(result_.groups.size()));
    if (!added) return place->second;
    const uint32_t number = place->second;
    result_.groups.emplace_back();
    if (by_ == GroupBy::Label && key[0] != kNone) {
      const uint32_t parent = model_.parent_of_label(key[0]);
      result_.groups[number].label = key[0];
      const uint32_t parent_group = parent == kNone ? kNone : group_of({parent});
      result_.groups[number].parent = parent_group;
    }
    return number;
  }

  void note_frame(uint32_t group, uint32_t frame) {
    const uint64_t pair = uint64_t{group} << 32 | frame;
    if (frames_of_groups_.empty() || frames_of_groups_.back() != pair)
      frames_of_groups_.push_back(pair);
  }

  void count_frames() {
    std::sort(frames_of_groups_.begin(), frames_of_groups_.end());
    const auto end = std::unique(frames_of_groups_.begin(), frames_of_groups_.end());
    for (auto pair = frames_of_groups_.begin(); pair != end; ++pair)
      ++result_.groups[*pair >> 32].frames;
  }

  static void add_time(CommandGroup& group, std::optional<int64_t> nanoseconds) {
    if (!nanoseconds || *nanoseconds < 0) return;
    group.gpu_time_ns = group.gpu_time_ns.value_or(0) + static_cast<uint64_t>(*nanoseconds);
  }

  const Model& model_;
  GroupBy by_;
  bool merge_;
  std::vector<uint32_t> pass_kinds_;
  std::map<Key, uint32_t> by_key_;
  std::vector<uint64_t> frames_of_groups_;  // group << 32 | frame
  CommandGroups result_;
};

}  // namespace

CommandGroups group_commands(const Model& model, GroupBy by, bool merge) {
  return Grouper(model, by, merge).run();
}

}  // namespace tally::analysis
