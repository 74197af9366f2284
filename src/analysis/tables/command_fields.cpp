#include "analysis/tables/command_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

#include "analysis/model/label_paths.h"
#include "analysis/model/names.h"

namespace tally::analysis {
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
