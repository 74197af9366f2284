#include "analysis/tables/command_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "analysis/model/counts.h"
#include "analysis/model/names.h"
#include "analysis/model/timeline.h"
#include "base/containers.h"
#include "base/hash.h"

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
  sum.vertices = saturating_sum(sum.vertices, part.vertices);
  sum.unknown_vertices += part.unknown_vertices;
  sum.primitives = saturating_sum(sum.primitives, part.primitives);
  sum.unknown_primitives += part.unknown_primitives;
  sum.draws += part.draws;
  sum.dispatches += part.dispatches;
  sum.uncounted += part.uncounted;
  sum.untimed += part.untimed;
  add_time(sum.gpu_time_ns, part.gpu_time_ns);
  sum.estimated.add(part.estimated);
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
    if (counted_[index] && model_.is_draw(command)) add_vertices(command, group);
    note_frame(number, command.frame);
    // The time of a command in a pass is already part of the pass's time.
    const bool counted_with_pass =
        command.pass != kNone && by_ != GroupBy::Command && by_ != GroupBy::Pipeline;
    if (counted_with_pass) return;
    add_part(group, first_uses_.commands[index], command.gpu_time_ns);
    if (!first_uses_.commands[index]) group.estimated.add(command.estimated_from);
  }

  void add_vertices(const Command& command, CommandGroup& group) const {
    const auto vertices = vertices_of(model_.calls[command.call]);
    group.unknown_vertices += !vertices;
    group.vertices =
        saturating_sum(group.vertices, saturating_product(vertices.value_or(0), command.runs));
    const auto primitives = primitives_of(model_.calls[command.call], command.assembly);
    group.unknown_primitives += !primitives;
    group.primitives =
        saturating_sum(group.primitives, saturating_product(primitives.value_or(0), command.runs));
  }

  void add_pass(uint32_t index) {
    const Pass& pass = model_.passes[index];
    if (by_ == GroupBy::Command || by_ == GroupBy::Pipeline) return;
    const uint32_t number = group_of(key_of_pass(index, pass));
    result_.group_of_pass.push_back(number);
    CommandGroup& group = result_.groups[number];
    if (group.pass == kNone) group.pass = index;
    ++group.passes;
    group.pixels = saturating_sum(group.pixels, pixels_of(pass));
    note_frame(number, pass.frame);
    add_part(group, first_uses_.passes[index], pass.row.gpu_time_ns);
    if (!first_uses_.passes[index]) group.estimated.add(pass.estimated_from);
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

namespace {

// A direct draw.
struct NamedVertices {
  uint64_t vertices = 0;  // or indices, of each instance
  uint64_t instances = 0;
};

std::optional<NamedVertices> named_vertices(const Call& call) {
  if (call.name != "vkCmdDraw" && call.name != "vkCmdDrawIndexed") return std::nullopt;
  NamedVertices named;
  for (size_t i = 0; i < call.parameters.size(); ++i) {
    const std::string& name = call.parameter_names[i];
    const auto value = static_cast<uint64_t>(std::max<int64_t>(call.parameters[i], 0));
    if (name == "vertexCount" || name == "indexCount") named.vertices = value;
    if (name == "instanceCount") named.instances = value;
  }
  return named;
}

// VkPrimitiveTopology: the first primitive takes `first` vertices, each further one `next`.
struct Topology {
  uint64_t first, next;
};
constexpr Topology kTopologies[] = {{1, 1}, {2, 2}, {2, 1}, {3, 3}, {3, 1},
                                    {3, 1}, {4, 4}, {4, 1}, {6, 6}, {6, 2}};
constexpr size_t kPatchList = std::size(kTopologies);

}  // namespace

std::optional<uint64_t> vertices_of(const Call& call) {
  const auto named = named_vertices(call);
  if (!named) return std::nullopt;
  return saturating_product(named->vertices, named->instances);
}

std::optional<uint64_t> primitives_of(const Call& call, const PrimitiveAssembly& assembly) {
  const auto named = named_vertices(call);
  if (!named || (assembly.restart && call.name == "vkCmdDrawIndexed")) return std::nullopt;
  Topology topology{assembly.patch_control_points, assembly.patch_control_points};
  if (assembly.topology < kPatchList) {
    topology = kTopologies[assembly.topology];
  } else if (assembly.topology != kPatchList || topology.first == 0) {
    return std::nullopt;
  }
  if (named->vertices < topology.first) return 0;
  const uint64_t primitives = 1 + (named->vertices - topology.first) / topology.next;
  return saturating_product(primitives, named->instances);
}

CommandGroups group_commands(const Model& model, GroupBy by, bool merge) {
  return Grouper(model, by, merge).run();
}

namespace {

// Looks up the model's objects for one row.
class RowLookup {
 public:
  RowLookup(const Model& model, const CommandGroups& groups)
      : model_(model), groups_(groups), labels_(std::make_shared<LabelPaths>(model)) {}

  const CommandGroup& group(size_t row) const { return groups_.groups[row]; }

  const Command* command(size_t row) const {
    const uint32_t index = group(row).first_command;
    return index == kNone ? nullptr : &model_.commands[index];
  }

  const Pass* pass(size_t row) const {
    uint32_t index = group(row).pass;
    if (index == kNone && command(row) != nullptr) index = command(row)->pass;
    return index == kNone ? nullptr : &model_.passes[index];
  }

  const store::FrameRow* frame(size_t row) const {
    if (command(row) != nullptr) return &model_.frames[command(row)->frame];
    return pass(row) != nullptr ? &model_.frames[pass(row)->frame] : nullptr;
  }

  const store::PipelineRow* pipeline(size_t row) const {
    const Command* c = command(row);
    return c == nullptr || c->pipeline == kNone ? nullptr : &model_.pipelines[c->pipeline];
  }

  Cell frame_number(size_t row) const {
    return frame(row) == nullptr
               ? Cell()
               : Cell(static_cast<uint64_t>(std::max<int64_t>(frame(row)->number, 0)));
  }

  std::string device_name(size_t row) const {
    if (frame(row) == nullptr) return {};
    const uint32_t device = model_.device_index.find(frame(row)->device);
    return device == kNone ? std::string() : model_.devices[device].name;
  }

  std::string label_path(uint32_t label) const { return labels_->path(label); }

  std::string pipeline_name_of(size_t row) const {
    return command(row) == nullptr ? std::string() : pipeline_name(model_, command(row)->pipeline);
  }

  std::string shaders(size_t row) const {
    std::string text;
    if (pipeline(row) == nullptr) return text;
    for (const store::RowId id : pipeline(row)->shaders) {
      const uint32_t shader = model_.shader_index.find(id);
      if (shader == kNone) continue;
      if (!text.empty()) text += ", ";
      text += stage_name(model_.shaders[shader].stage) + " " + model_.shader_names[shader];
    }
    return text;
  }

 private:
  const Model& model_;
  const CommandGroups& groups_;
  std::shared_ptr<const LabelPaths> labels_;
};

Field frame_field(const RowLookup& rows) {
  return key_field(
      "frame", "frame", "number of the frame", [rows](size_t r) { return rows.frame_number(r); },
      Unit::Count);
}

Field pass_field(const RowLookup& rows) {
  return key_field("pass", "pass", "name and size of the render pass",
                   [rows](size_t r) -> Cell { return pass_text(rows.pass(r)); });
}

Field pipeline_field(const RowLookup& rows) {
  return key_field("pipeline", "pipeline", "name of the pipeline, or the start of its hash",
                   [rows](size_t r) -> Cell { return rows.pipeline_name_of(r); });
}

// `of` returns the label of a row.
template <typename Of>
Field label_field(const RowLookup& rows, Of of) {
  return key_field("label", "label", "debug label, with the labels around it",
                   [rows, of](size_t r) -> Cell { return rows.label_path(of(r)); });
}

std::vector<Field> fields_of_commands(const Model& model, const RowLookup& rows, bool merge) {
  std::vector<Field> fields;
  if (!merge) {
    fields.push_back(frame_field(rows));
    fields.push_back(key_field(
        "command", "command", "number of the draw or dispatch in its frame, from 0",
        [rows](size_t r) -> Cell { return uint64_t{rows.command(r)->number_in_frame}; },
        Unit::Count));
  }
  fields.push_back(key_field("call", "call",
                             "Vulkan command: its counts, then the other parameters that are not 0",
                             [&model, rows](size_t r) -> Cell {
                               const uint32_t call = rows.command(r)->call;
                               return call == kNone ? std::string() : call_text(model.calls[call]);
                             }));
  fields.push_back(pipeline_field(rows));
  fields.push_back(pass_field(rows));
  fields.push_back(label_field(rows, [rows](size_t r) { return rows.command(r)->label; }));
  return fields;
}

std::vector<Field> fields_of_passes(const RowLookup& rows, bool merge) {
  const auto own = [rows](size_t r) {
    return rows.group(r).pass == kNone ? nullptr : rows.pass(r);
  };
  std::vector<Field> fields;
  if (!merge) {
    fields.push_back(frame_field(rows));
    fields.push_back(key_field(
        "pass_number", "pass nr", "number of the pass in its frame, from 0",
        [own](size_t r) { return own(r) ? Cell(uint64_t{own(r)->number_in_frame}) : Cell(); },
        Unit::Count));
  }
  fields.push_back(
      key_field("pass", "pass", "name and size of the render pass", [own](size_t r) -> Cell {
        return own(r) ? pass_text(own(r)) : std::string("(outside of passes)");
      }));
  fields.push_back(label_field(rows, [own](size_t r) { return own(r) ? own(r)->label : kNone; }));
  fields.push_back(key_field("attachments", "attachments", "attachments of the pass, as JSON",
                             [own](size_t r) -> Cell {
                               return own(r) ? own(r)->row.attachments : std::string();
                             })
                       .hidden());
  return fields;
}

std::vector<Field> fields_of_pipelines(const RowLookup& rows) {
  std::vector<Field> fields;
  fields.push_back(pipeline_field(rows));
  fields.push_back(key_field("pipeline_hash", "pipeline hash",
                             "hash of stages, code and specialization",
                             [rows](size_t r) -> Cell {
                               return rows.pipeline(r) ? rows.pipeline(r)->hash : std::string();
                             })
                       .hidden());
  fields.push_back(
      key_field("bind_point", "kind", "graphics, compute or ray tracing", [rows](size_t r) -> Cell {
        return rows.pipeline(r) ? rows.pipeline(r)->bind_point : std::string();
      }));
  fields.push_back(key_field("shaders", "shaders", "the pipeline's shaders",
                             [rows](size_t r) -> Cell { return rows.shaders(r); }));
  return fields;
}

std::vector<Field> fields_of_frames(const RowLookup& rows) {
  std::vector<Field> fields;
  fields.push_back(frame_field(rows));
  fields.push_back(key_field(
      "ended_by", "ended by",
      "what ended the frame: present, submit, boundary, label, fence, queue idle, or it was still "
      "open",
      [rows](size_t r) -> Cell { return frame_end_text(rows.frame(r)->ended_by); }));
  return fields;
}

std::vector<Field> fields_of_labels(const RowLookup& rows) {
  std::vector<Field> fields;
  fields.push_back(key_field(
      "label", "label", "debug label, with the labels around it", [rows](size_t r) -> Cell {
        const uint32_t label = rows.group(r).label;
        return label == kNone ? std::string("(no label)") : rows.label_path(label);
      }));
  return fields;
}

std::vector<Field> own_fields(const Model& model, const RowLookup& rows, GroupBy by, bool merge) {
  switch (by) {
    case GroupBy::Command:
      return fields_of_commands(model, rows, merge);
    case GroupBy::Pass:
      return fields_of_passes(rows, merge);
    case GroupBy::Pipeline:
      return fields_of_pipelines(rows);
    case GroupBy::Frame:
      return fields_of_frames(rows);
    case GroupBy::Label:
      return fields_of_labels(rows);
  }
  return {};
}

}  // namespace

std::string frame_end_text(store::FrameEnd end) {
  switch (end) {
    case store::FrameEnd::Present:
      return "present";
    case store::FrameEnd::Submit:
      return "submit";
    case store::FrameEnd::Open:
      return "open";
    case store::FrameEnd::Boundary:
      return "boundary";
    case store::FrameEnd::Label:
      return "label";
    case store::FrameEnd::Fence:
      return "fence";
    case store::FrameEnd::QueueIdle:
      return "queue idle";
  }
  return {};
}

std::vector<Field> command_key_fields(const Model& model, const CommandGroups& groups, GroupBy by,
                                      bool merge) {
  const RowLookup rows(model, groups);
  std::vector<Field> fields = own_fields(model, rows, by, merge);
  Field device = key_field("device", "device", "name of the device",
                           [rows](size_t r) -> Cell { return rows.device_name(r); });
  device.column.shown = model.devices.size() > 1;
  fields.push_back(std::move(device));
  return fields;
}

}  // namespace tally::analysis
