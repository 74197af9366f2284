#include "analysis/tables/command_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "analysis/model/first_uses.h"
#include "base/hash.h"
#include "base/number_table.h"

namespace tally::analysis {
namespace {

using Key = std::array<uint32_t, 4>;

uint64_t hash_of(const Key& key) {
  return hash_combine(uint64_t{key[0]} << 32 | key[1], uint64_t{key[2]} << 32 | key[3]);
}

// Assigns the same number to identical passes.
std::vector<uint32_t> classify_passes(const Model& model) {
  std::unordered_map<std::string, uint32_t> kinds;
  std::vector<uint32_t> result;
  for (const Pass& pass : model.passes) {
    const std::string look = fmt::format(
        "{}|{}|{}x{}x{}|{}|{}|{}", model.frames[pass.frame].device, pass.row.name, pass.row.width,
        pass.row.height, pass.row.layers, pass.row.view_mask, pass.row.attachments, pass.label);
    result.push_back(kinds.emplace(look, static_cast<uint32_t>(kinds.size())).first->second);
  }
  return result;
}

void add_time(std::optional<uint64_t>& sum, std::optional<uint64_t> nanoseconds) {
  if (nanoseconds) sum = sum.value_or(0) + *nanoseconds;
}

// The time of a command or a pass; `first`: it uses a pipeline for the first time.
void add_part(CommandGroup& group, bool first, std::optional<int64_t> nanoseconds) {
  if (!nanoseconds || *nanoseconds < 0) {
    ++group.untimed;
    return;
  }
  add_time(first ? group.first_use_ns : group.gpu_time_ns, static_cast<uint64_t>(*nanoseconds));
}

void add_group(CommandGroup& sum, const CommandGroup& part) {
  sum.first_command = std::min(sum.first_command, part.first_command);
  sum.pass = std::min(sum.pass, part.pass);
  sum.passes += part.passes;
  sum.draws += part.draws;
  sum.dispatches += part.dispatches;
  sum.uncounted += part.uncounted;
  sum.untimed += part.untimed;
  add_time(sum.gpu_time_ns, part.gpu_time_ns);
  add_time(sum.first_use_ns, part.first_use_ns);
}

class Grouper {
 public:
  Grouper(const Model& model, GroupBy by, bool merge)
      : model_(model), by_(by), merge_(merge), first_uses_(find_first_uses(model)) {
    if (merge) pass_kinds_ = classify_passes(model);
    counted_.resize(model.commands.size());
    for (const Batch& batch : model.batches) {
      for (const uint32_t command : batch.commands) counted_[command] = batch.counted;
    }
  }

  CommandGroups run() {
    result_.group_of_command.reserve(model_.commands.size());
    if (each_alone()) result_.groups.reserve(model_.commands.size());
    for (uint32_t i = 0; i < model_.commands.size(); ++i) add_command(i);
    for (uint32_t i = 0; i < model_.passes.size(); ++i) add_pass(i);
    count_frames();
    return std::move(result_);
  }

 private:
  bool each_alone() const { return by_ == GroupBy::Command && !merge_; }

  void add_command(uint32_t index) {
    const Command& command = model_.commands[index];
    const uint32_t number = group_of_command(index, command);
    result_.group_of_command.push_back(number);
    CommandGroup& group = result_.groups[number];
    if (group.first_command == kNone) group.first_command = index;
    (model_.is_draw(command) ? group.draws : group.dispatches) += command.runs;
    if (!counted_[index]) group.uncounted += command.runs;
    note_frame(number, command.frame);
    // The time of a command in a pass is already part of the pass's time.
    const bool counted_with_pass =
        command.pass != kNone && by_ != GroupBy::Command && by_ != GroupBy::Pipeline;
    if (counted_with_pass) return;
    add_part(group, first_uses_.commands[index], command.gpu_time_ns);
  }

  void add_pass(uint32_t index) {
    const Pass& pass = model_.passes[index];
    if (by_ == GroupBy::Command || by_ == GroupBy::Pipeline) return;
    const uint32_t number = group_of(key_of_pass(index, pass));
    result_.group_of_pass.push_back(number);
    CommandGroup& group = result_.groups[number];
    if (group.pass == kNone) group.pass = index;
    ++group.passes;
    note_frame(number, pass.frame);
    add_part(group, first_uses_.passes[index], pass.row.gpu_time_ns);
  }

  uint32_t group_of_command(uint32_t index, const Command& command) {
    if (!each_alone()) return group_of(key_of(command));
    result_.groups.emplace_back();
    return index;
  }

  Key key_of(const Command& command) const {
    switch (by_) {
      case GroupBy::Command:
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

  // Returns the group of a key. For a new label it also adds the missing groups of the enclosing
  // labels.
  uint32_t group_of(const Key& key) {
    const auto [number, added] = number_of(key);
    if (!added) return number;
    result_.groups.emplace_back();
    if (by_ == GroupBy::Label) add_enclosing_labels(number, key[0]);
    return number;
  }

  void add_enclosing_labels(uint32_t inner, uint32_t label) {
    result_.groups[inner].label = label;
    while (label != kNone) {
      label = model_.parent_of_label(label);
      if (label == kNone) return;
      const auto [outer, added] = number_of(Key{label});
      result_.groups[inner].parent = outer;
      if (!added) return;
      inner = outer;
      result_.groups.emplace_back().label = label;
    }
  }

  // The group's number, and whether the caller has to add the group.
  std::pair<uint32_t, bool> number_of(const Key& key) {
    const auto next = static_cast<uint32_t>(keys_.size());
    const uint32_t number = numbers_.find_or_add(
        hash_of(key), next, [&](uint32_t other) { return keys_[other] == key; },
        [&](uint32_t other) { return hash_of(keys_[other]); });
    if (number == next) keys_.push_back(key);
    return {number, number == next};
  }

  void note_frame(uint32_t group, uint32_t frame) {
    if (each_alone()) return;
    const uint64_t pair = uint64_t{group} << 32 | frame;
    if (frames_of_groups_.empty() || frames_of_groups_.back() != pair)
      frames_of_groups_.push_back(pair);
  }

  void count_frames() {
    std::sort(frames_of_groups_.begin(), frames_of_groups_.end());
    const auto end = std::unique(frames_of_groups_.begin(), frames_of_groups_.end());
    for (auto pair = frames_of_groups_.begin(); pair != end; ++pair)
      ++result_.groups[*pair >> 32].frames;
    if (by_ != GroupBy::Label) return;
    std::vector<std::unordered_set<uint32_t>> frames(result_.groups.size());
    for (auto pair = frames_of_groups_.begin(); pair != end; ++pair)
      frames[*pair >> 32].insert(static_cast<uint32_t>(*pair));
    add_to_enclosing_labels(frames);
  }

  // Merges the smaller set of frames into the larger one, so that each frame is copied at most log
  // n times.
  void add_to_enclosing_labels(std::vector<std::unordered_set<uint32_t>>& frames) {
    for (const uint32_t inner : result_.innermost_first()) {
      const CommandGroup& part = result_.groups[inner];
      CommandGroup& whole = result_.groups[part.parent];
      add_group(whole, part);
      auto& all = frames[part.parent];
      if (all.size() < frames[inner].size()) std::swap(all, frames[inner]);
      all.merge(frames[inner]);
      frames[inner].clear();
      whole.frames = all.size();
    }
  }

  const Model& model_;
  GroupBy by_;
  bool merge_;
  const FirstUses first_uses_;
  std::vector<bool> counted_;  // by command
  std::vector<uint32_t> pass_kinds_;
  std::vector<Key> keys_;  // by group
  NumberTable numbers_;
  std::vector<uint64_t> frames_of_groups_;  // group << 32 | frame
  CommandGroups result_;
};

}  // namespace

// A nested label is a newer row than its parent.
std::vector<uint32_t> CommandGroups::innermost_first() const {
  std::vector<uint32_t> order;
  for (uint32_t g = 0; g < groups.size(); ++g) {
    if (groups[g].parent != kNone) order.push_back(g);
  }
  std::sort(order.begin(), order.end(),
            [this](uint32_t a, uint32_t b) { return groups[a].label > groups[b].label; });
  return order;
}

CommandGroups group_commands(const Model& model, GroupBy by, bool merge) {
  return Grouper(model, by, merge).run();
}

}  // namespace tally::analysis
