#include "analysis/model.h"

#include <algorithm>
#include <map>

#include "analysis/execution_order.h"
#include "analysis/first_uses.h"
#include "analysis/shader_name.h"

namespace tally::analysis {
namespace {

template <typename Row>
IdIndex index_rows(const std::vector<Row>& rows) {
  IdIndex index;
  for (uint32_t i = 0; i < rows.size(); ++i) index.add(rows[i].id, i);
  return index;
}

// Takes over what a reading gave, or keeps the first error.
template <typename T>
void take(Result<T> result, T& target, Status& status) {
  if (!status.ok()) return;
  if (result.ok()) {
    target = std::move(*result);
  } else {
    status = Status(result.error());
  }
}

Status load_small_tables(Model& model) {
  Status status;
  const store::Reader& reader = model.reader;
  take(reader.capture(), model.capture, status);
  take(reader.processes(), model.processes, status);
  take(reader.devices(), model.devices, status);
  take(reader.metrics(), model.metrics, status);
  take(reader.modules(), model.modules, status);
  take(reader.shaders(), model.shaders, status);
  take(reader.pipelines(), model.pipelines, status);
  take(reader.labels(), model.labels, status);
  take(reader.calls(), model.calls, status);
  take(reader.frames(), model.frames, status);
  take(reader.frame_counters(), model.frame_counters, status);
  take(reader.region_counters(), model.region_counters, status);
  take(reader.messages(), model.messages, status);
  if (!status.ok()) return status;
  model.device_index = index_rows(model.devices);
  model.metric_index = index_rows(model.metrics);
  model.module_index = index_rows(model.modules);
  model.shader_index = index_rows(model.shaders);
  model.pipeline_index = index_rows(model.pipelines);
  model.label_index = index_rows(model.labels);
  model.call_index = index_rows(model.calls);
  model.frame_index = index_rows(model.frames);
  model.region_counter_index = index_rows(model.region_counters);
  return status;
}

// What is needed of a submission until its commands stand in their frame.
struct Submission {
  uint32_t frame;
  int64_t number;
  uint32_t label;
  std::vector<store::ExecutionRow> executions;
  std::vector<store::CommandRow> commands;
};

class Timeline {
 public:
  explicit Timeline(Model& model) : model_(model) {}

  Status load() {
    Status status = model_.reader.for_each_submission([&](const store::SubmissionRow& row) {
      const uint32_t frame = model_.frame_index.find(row.frame);
      if (frame != kNone && model_.frame_selected(frame)) {
        submissions_[row.id] = {frame, row.number, model_.label_index.find(row.label), {}, {}};
      }
      return true;
    });
    if (status.ok()) status = load_executions();
    if (status.ok()) status = load_passes();
    if (status.ok()) status = load_commands();
    if (status.ok()) number_commands();
    return status;
  }

 private:
  struct Place {
    Submission* submission;
    uint32_t runs;
  };

  Status load_executions() {
    return model_.reader.for_each_execution([&](const store::ExecutionRow& row) {
      const auto found = submissions_.find(row.submission);
      if (found == submissions_.end()) return true;
      found->second.executions.push_back(row);
      executions_[row.id] = {&found->second, static_cast<uint32_t>(std::max<int64_t>(row.runs, 1))};
      return true;
    });
  }

  Status load_passes() {
    return model_.reader.for_each_pass([&](const store::PassRow& row) {
      const auto place = executions_.find(row.execution);
      if (place == executions_.end()) return true;
      const uint32_t own_label = model_.label_index.find(row.label);
      const Submission& submission = *place->second.submission;
      pass_index_.add(row.id, static_cast<uint32_t>(model_.passes.size()));
      model_.passes.push_back(
          {row, submission.frame, own_label != kNone ? own_label : submission.label, kNone});
      return true;
    });
  }

  Status load_commands() {
    return model_.reader.for_each_command([&](const store::CommandRow& row) {
      const auto place = executions_.find(row.execution);
      if (place != executions_.end()) place->second.submission->commands.push_back(row);
      return true;
    });
  }

  void number_commands() {
    std::vector<Submission*> in_order;
    for (auto& [id, submission] : submissions_) in_order.push_back(&submission);
    std::stable_sort(in_order.begin(), in_order.end(),
                     [](const Submission* a, const Submission* b) {
                       return std::pair(a->frame, a->number) < std::pair(b->frame, b->number);
                     });
    for (Submission* submission : in_order) {
      const auto rows =
          in_execution_order(std::move(submission->executions), std::move(submission->commands));
      for (const store::CommandRow& row : rows) add_command(row, *submission);
    }
    number_passes_without_commands();
  }

  void add_command(const store::CommandRow& row, const Submission& submission) {
    const uint32_t pass = pass_index_.find(row.pass);
    if (pass != kNone) number_pass(pass);
    const uint32_t label = model_.label_index.find(row.label);
    model_.command_by_id.emplace(row.id, static_cast<uint32_t>(model_.commands.size()));
    model_.commands.push_back(
        {row.id, submission.frame, next_command_[submission.frame]++,
         model_.call_index.find(row.call), model_.pipeline_index.find(row.pipeline), pass,
         label != kNone ? label : submission.label, executions_.at(row.execution).runs,
         row.has_blocks, row.gpu_time_ns});
  }

  void number_pass(uint32_t pass) {
    Pass& p = model_.passes[pass];
    if (p.number_in_frame == kNone) p.number_in_frame = next_pass_[p.frame]++;
  }

  void number_passes_without_commands() {
    for (uint32_t pass = 0; pass < model_.passes.size(); ++pass) number_pass(pass);
  }

  Model& model_;
  std::map<store::RowId, Submission> submissions_;
  std::unordered_map<store::RowId, Place> executions_;
  IdIndex pass_index_;
  std::unordered_map<uint32_t, uint32_t> next_command_, next_pass_;  // by frame
};

}  // namespace

Result<Model> Model::load(store::Reader reader, const Selection& selection) {
  Model model{.reader = std::move(reader), .selection = selection};
  Status status = load_small_tables(model);
  if (status.ok()) status = Timeline(model).load();
  if (status.ok()) take(pipelines_used_before(model), model.used_before, status);
  if (!status.ok()) return status.error();
  model.shader_names = name_shaders(model);
  std::vector<std::string> told_apart = tell_shaders_apart(model);
  for (uint32_t shader = 0; shader < model.shaders.size(); ++shader) {
    model.shader_selected.push_back(shader_matches(model, shader, selection.shader) ||
                                    told_apart[shader] == selection.shader);
  }
  model.shader_names = std::move(told_apart);
  model.pipeline_names = name_pipelines(model);
  return model;
}

uint32_t Model::shader_of(uint32_t pipeline, uint32_t stage) const {
  if (pipeline == kNone) return kNone;
  uint32_t found = kNone;
  for (const store::RowId id : pipelines[pipeline].shaders) {
    const uint32_t shader = shader_index.find(id);
    if (shader == kNone || shaders[shader].stage != stage) continue;
    if (found != kNone) return kNone;
    found = shader;
  }
  return found;
}

uint32_t Model::parent_of_label(uint32_t label) const {
  const uint32_t parent = label_index.find(labels[label].parent);
  return parent != kNone && parent < label ? parent : kNone;
}

bool Model::frame_selected(uint32_t frame) const {
  return !selection.frames || selection.frames->contains(frames[frame].number);
}

}  // namespace tally::analysis
