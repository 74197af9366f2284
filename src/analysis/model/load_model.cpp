#include "analysis/model/load_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analysis/model/constants.h"
#include "analysis/model/execution_order.h"
#include "analysis/model/first_uses.h"
#include "analysis/model/metrics.h"
#include "analysis/model/names.h"

namespace tally::analysis {
namespace {

template <typename Row>
IdIndex index_rows(const std::vector<Row>& rows) {
  IdIndex index;
  for (uint32_t i = 0; i < rows.size(); ++i) index.add(rows[i].id, i);
  return index;
}

// Moves the result into `target`, or keeps the first error in `status`.
template <typename T>
void take(Result<T> result, T& target, Status& status) {
  if (!status.ok()) return;
  if (result.ok()) {
    target = std::move(*result);
  } else {
    status = Status(result.error());
  }
}

// Bounds of what a hostile file can make a reader spend. A table has a column for each metric.
constexpr size_t kMaxMetrics = 4096;
// A small file can hold many equal commands; a larger one may hold as many as it has bytes.
constexpr uint64_t kMaxCommands = uint64_t{1} << 22;

// Moves the metrics of branches out of those that every table has.
void separate_branch_metrics(Model& model) {
  for (const store::MetricRow& row : model.metrics) {
    const catalogue::Counter* counter = counter_for(row);
    if (!counter || !counter->scopes.has(catalogue::Scope::Branch)) continue;
    model.branch_metrics[row.id] = static_cast<uint32_t>(counter->number) -
                                   static_cast<uint32_t>(catalogue::Number::BranchTarget0);
  }
  std::erase_if(model.metrics,
                [&](const store::MetricRow& row) { return model.branch_metrics.contains(row.id); });
}

constexpr store::RowId kSubgroupExecutions = -1;  // no row of a file has this id

// Adds the metric of executions in counted subgroups if there are lanes to compare them with.
void add_subgroup_executions(Model& model) {
  for (uint32_t i = 0; i < model.metrics.size(); ++i) {
    const catalogue::Counter* counter = counter_for(model.metrics[i]);
    if (counter && counter->number == catalogue::Number::SubgroupLanes) model.subgroup_lanes = i;
  }
  if (model.subgroup_lanes == kNone) return;
  model.subgroup_executions = static_cast<uint32_t>(model.metrics.size());
  model.metrics.push_back({.id = kSubgroupExecutions,
                           .name = "Subgroup executions",
                           .description = "Executions of the blocks whose subgroups are counted. "
                                          "Their share of the subgroup lanes is the SIMD "
                                          "efficiency."});
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
  take(reader.frames(), model.frames, status);
  take(reader.frame_counters(), model.frame_counters, status);
  take(reader.region_counters(), model.region_counters, status);
  take(reader.messages(), model.messages, status);
  if (!status.ok()) return status;
  if (model.metrics.size() > kMaxMetrics)
    return Error{fmt::format("has {} metrics, of which at most {} can be read",
                             model.metrics.size(), kMaxMetrics)};
  separate_branch_metrics(model);
  add_subgroup_executions(model);
  model.device_index = index_rows(model.devices);
  model.metric_index = index_rows(model.metrics);
  model.module_index = index_rows(model.modules);
  model.shader_index = index_rows(model.shaders);
  model.pipeline_index = index_rows(model.pipelines);
  model.label_index = index_rows(model.labels);
  model.frame_index = index_rows(model.frames);
  model.region_counter_index = index_rows(model.region_counters);
  return status;
}

// The data of a submission until its commands are assigned to their frame.
struct Submission {
  uint32_t frame;
  int64_t number;
  uint32_t label;
  std::vector<store::ExecutionRow> executions;
  std::vector<CommandPosition> commands;
};

class Timeline {
 public:
  Timeline(Model& model, Model::Detail detail) : model_(model), detail_(detail) {}

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
    if (status.ok()) order_commands();
    return status;
  }

 private:
  // The submission and the number of runs of an execution's commands.
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
    std::vector<store::FunctionRow> functions;
    Status status;
    take(model_.reader.functions(), functions, status);
    if (!status.ok()) return status;
    const IdIndex function_index = index_rows(functions);
    if (detail_ == Model::Detail::Batches) return count_batches(functions, function_index);
    const uint64_t limit = std::max(kMaxCommands, model_.reader.file_size());
    bool fits = true;
    status = model_.reader.for_each_batch([&](const store::CommandBatchRow& row) {
      const auto place = executions_.find(row.execution);
      const uint32_t function = function_index.find(row.function);
      if (place == executions_.end() || function == kNone) return true;
      fits = loaded_.size() + row.size <= limit;
      if (fits) load_batch(row, functions[function], place->second);
      return fits;
    });
    if (status.ok() && !fits)
      return Error{
          fmt::format("has more than {} commands, which is more than can be read at once: choose "
                      "frames with --frames",
                      limit)};
    return status;
  }

  Status count_batches(const std::vector<store::FunctionRow>& functions,
                       const IdIndex& function_index) {
    auto batches =
        model_.reader.query("SELECT execution, function, size, pipeline, pass FROM command_batch");
    if (!batches) return batches.error();
    while (batches->step()) {
      const auto place = executions_.find(batches->integer(0));
      const uint32_t function = function_index.find(batches->integer(1));
      if (place == executions_.end() || function == kNone) continue;
      const auto size = static_cast<uint32_t>(
          std::clamp<int64_t>(batches->integer(2), 0, store::kMaxBatchCommands));
      const auto& [submission, runs] = place->second;
      submission->commands.push_back(
          {batches->integer(0), 0, static_cast<uint32_t>(loaded_.size())});
      loaded_.push_back({submission->frame, 0, model_.calls.intern(functions[function], {}, {}),
                         model_.pipeline_index.find(batches->optional_integer(3)),
                         pass_index_.find(batches->optional_integer(4)), submission->label,
                         runs * size, std::nullopt});
    }
    return batches->status();
  }

  // Its commands, in the order of the file; `order_commands` gives them their places.
  void load_batch(const store::CommandBatchRow& row, const store::FunctionRow& function,
                  const Place& place) {
    Batch& batch = model_.batches.emplace_back(
        Batch{row.id, row.values(), model_.pipeline_index.find(row.pipeline), row.counted, {}});
    const uint32_t pass = pass_index_.find(row.pass);
    std::vector<std::string> names;
    for (const auto& parameter : row.parameters) names.push_back(parameter.name);
    std::vector<int64_t> parameters(names.size());
    for (size_t i = 0; i < row.size; ++i) {
      for (size_t p = 0; p < names.size(); ++p) parameters[p] = row.parameters[p].values.at(i);
      const auto number = static_cast<uint32_t>(loaded_.size());
      batch.commands.push_back(number);
      place.submission->commands.push_back({row.execution, row.positions.at(i), number});
      const uint32_t label = model_.label_index.find(row.labels.at(i));
      const int64_t time = row.gpu_time_ns.at(i);
      loaded_.push_back({place.submission->frame, 0,
                         model_.calls.intern(function, names, parameters), batch.pipeline, pass,
                         label != kNone ? label : place.submission->label, place.runs,
                         time == store::Column::kNull ? std::nullopt : std::optional(time)});
    }
  }

  void order_commands() {
    std::vector<Submission*> in_order;
    for (auto& [id, submission] : submissions_) in_order.push_back(&submission);
    std::stable_sort(in_order.begin(), in_order.end(),
                     [](const Submission* a, const Submission* b) {
                       return std::pair(a->frame, a->number) < std::pair(b->frame, b->number);
                     });
    std::vector<uint32_t> index_of(loaded_.size(), kNone);
    model_.commands.reserve(loaded_.size());
    for (Submission* submission : in_order) {
      const auto places =
          in_execution_order(std::move(submission->executions), std::move(submission->commands));
      for (const CommandPosition& place : places) {
        index_of[place.command] = static_cast<uint32_t>(model_.commands.size());
        add_command(loaded_[place.command]);
      }
    }
    for (Batch& batch : model_.batches) {
      for (uint32_t& command : batch.commands) command = index_of[command];
    }
    number_passes_without_commands();
  }

  void add_command(Command command) {
    if (command.pass != kNone) number_pass(command.pass);
    command.number_in_frame = next_command_[command.frame]++;
    model_.commands.push_back(command);
  }

  void number_pass(uint32_t pass) {
    Pass& p = model_.passes[pass];
    if (p.number_in_frame == kNone) p.number_in_frame = next_pass_[p.frame]++;
  }

  void number_passes_without_commands() {
    for (uint32_t pass = 0; pass < model_.passes.size(); ++pass) number_pass(pass);
  }

  Model& model_;
  const Model::Detail detail_;
  std::map<store::RowId, Submission> submissions_;
  std::unordered_map<store::RowId, Place> executions_;
  IdIndex pass_index_;
  std::vector<Command> loaded_;
  std::unordered_map<uint32_t, uint32_t> next_command_, next_pass_;  // by frame
};

// Shaders that the selection does not name, of pipelines that it names.
void select_by_pipeline(Model& model) {
  model.selected_by_pipeline.resize(model.shaders.size());
  model.pipeline_selected.resize(model.pipelines.size());
  if (model.selection.shader.empty()) return;
  for (uint32_t pipeline = 0; pipeline < model.pipelines.size(); ++pipeline) {
    if (!pipeline_matches(model, pipeline, model.selection.shader)) continue;
    model.pipeline_selected[pipeline] = true;
    for (const store::RowId id : model.pipelines[pipeline].shaders) {
      const uint32_t shader = model.shader_index.find(id);
      if (shader == kNone || model.shader_selected[shader]) continue;
      model.shader_selected[shader] = true;
      model.selected_by_pipeline[shader] = true;
    }
  }
}

}  // namespace

Result<Model> load_model(store::Reader reader, const Selection& selection, Model::Detail detail) {
  Model model{.reader = std::move(reader), .selection = selection};
  Status status = load_small_tables(model);
  if (status.ok()) status = Timeline(model, detail).load();
  if (status.ok()) take(pipelines_used_before(model), model.used_before, status);
  if (!status.ok()) return status.error();
  model.shader_names = name_shaders(model);
  model.pipeline_names = name_pipelines(model);
  ShaderConstants constants = describe_constants(model);
  model.shader_constants = std::move(constants.specialized);
  std::vector<std::string> disambiguated =
      disambiguated_shader_names(model, constants.distinguishing);
  for (uint32_t shader = 0; shader < model.shaders.size(); ++shader) {
    model.shader_selected.push_back(shader_matches(model, shader, selection.shader) ||
                                    disambiguated[shader] == selection.shader);
  }
  select_by_pipeline(model);
  model.shader_names = std::move(disambiguated);
  return model;
}

}  // namespace tally::analysis
