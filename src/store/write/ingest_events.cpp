// Ingest: frames, submissions and what they contain.

#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

#include "store/write/ingest.h"

namespace tally::store {
namespace {

constexpr size_t kMaxExecutions = 1'000'000;
constexpr size_t kMaxValueSets = 1'000'000;
constexpr size_t kMaxTimeSamples = 1'000'000;

// Bounds the memory of a long run. Queues are never this far apart; the stream of a process that
// refers to an older frame is refused.
constexpr size_t kMaxKnownFrames = 100'000;

}  // namespace

Status Ingest::on(stream::Frame& frame) {
  ++definitions_;
  const Device* device = find(devices_, frame.device);
  if (!device) return unknown("device", frame.device);
  const auto [at, fresh] = frames_.try_emplace({frame.device, frame.number});
  if (!fresh) return Error{"the same frame twice"};
  ++frame_count_;
  if (frames_.size() > kMaxKnownFrames)
    frames_.erase(frames_.lower_bound({frame.device, INT64_MIN}));
  at->second.row = writer_.add(
      FrameRow{.device = device->row, .number = frame.number, .begin_ns = frame.begin_ns});
  return {};
}

// Commands of a frame that the capture knows are counted in it; the ledger knows of all others.
Status Ingest::drop(stream::AnyMessage& message) {
  if (auto* frame = std::get_if<stream::Frame>(&message)) {
    if (find(frames_, {frame->device, frame->number})) return Error{"the same frame twice"};
    ++frames_dropped_;
  } else if (auto* ended = std::get_if<stream::FrameEnded>(&message)) {
    if (find(frames_, {ended->device, ended->number})) return on(*ended);
  } else if (auto* missing = std::get_if<stream::Missing>(&message)) {
    if (find(frames_, {missing->device, missing->frame})) return on(*missing);
  } else if (std::holds_alternative<stream::Gone>(message)) {
    return {};  // the capture is full: it removes nothing
  } else if (auto* submission = std::get_if<stream::Submission>(&message)) {
    const Queue* queue = find(queues_, submission->queue);
    const KnownFrame* known = queue ? find(frames_, {queue->device, submission->frame}) : nullptr;
    submission_frame_ = known ? known->row : 0;
  } else if (auto* batch = std::get_if<stream::CommandBatch>(&message);
             batch && submission_frame_ != 0) {
    writer_.add_missing(submission_frame_, batch->size);
    missing_ += batch->size;
  }
  dropped_ = true;
  return writer_.status();
}

Status Ingest::on(stream::FrameEnded& frame) {
  const KnownFrame* known = find(frames_, {frame.device, frame.number});
  if (!known) return unknown("frame", static_cast<Id>(frame.number));
  if (frame.ended_by == FrameEnd::Open) return Error{"the end of a frame that is open"};
  writer_.end_frame(known->row, frame.end_ns, frame.ended_by);
  return {};
}

Status Ingest::on(stream::Missing& missing) {
  const KnownFrame* frame = find(frames_, {missing.device, missing.frame});
  if (!frame) return unknown("frame", static_cast<Id>(missing.frame));
  if (missing.commands < 0) return Error{"a negative number of missing commands"};
  writer_.add_missing(frame->row, missing.commands);
  missing_ += static_cast<uint64_t>(missing.commands);
  return {};
}

Status Ingest::on(stream::Submission& submission) {
  const Queue* queue = find(queues_, submission.queue);
  if (!queue) return unknown("queue", submission.queue);
  const KnownFrame* frame = find(frames_, {queue->device, submission.frame});
  if (!frame) return unknown("frame", static_cast<Id>(submission.frame));
  SubmissionRow row{.frame = frame->row,
                    .queue = queue->row,
                    .number = submission.number,
                    .time_ns = submission.time_ns};
  TALLY_TRY(resolve(labels_, submission.label, "label", row.label));
  TALLY_TRY(regions_.end());
  submission_ = writer_.add(row);
  submission_frame_ = frame->row;
  submission_device_ = queue->device;
  executions_.clear();
  values_of_ = 0;
  return {};
}

Status Ingest::on(stream::Execution& execution) {
  if (submission_ == 0) return Error{"an execution without its submission"};
  if (executions_.size() >= kMaxExecutions) return Error{"too many executions in a submission"};
  std::optional<RowId> command_buffer;
  Status found = resolve(objects_, execution.command_buffer, "object", command_buffer);
  if (!found || !command_buffer) return unknown("object", execution.command_buffer);
  ExecutionRow row{.submission = submission_,
                   .position = execution.position,
                   .command_buffer = *command_buffer,
                   .recording = execution.recording,
                   .runs = execution.runs,
                   .overlapped = execution.overlapped};
  if (execution.parent) {
    if (*execution.parent >= executions_.size()) return unknown("execution", *execution.parent);
    row.parent = executions_[*execution.parent].row;
    row.parent_command = execution.parent_command;
  }
  executions_.push_back({writer_.add(row), execution.parent, {}});
  values_of_ = 0;
  return {};
}

Status Ingest::on(stream::Pass& pass) {
  if (executions_.empty()) return Error{"a pass without its execution"};
  Execution& execution = executions_.back();
  PassRow row{.execution = execution.row,
              .position = pass.position,
              .kind = pass.dynamic ? PassKind::Rendering : PassKind::RenderPass,
              .width = pass.width,
              .height = pass.height,
              .layers = pass.layers,
              .view_mask = pass.view_mask,
              .attachments = std::move(pass.attachments)};
  if (!nlohmann::json::accept(row.attachments)) row.attachments = "[]";
  Status found = resolve(objects_, pass.render_pass, "object", row.render_pass);
  if (found.ok()) found = resolve(objects_, pass.framebuffer, "object", row.framebuffer);
  if (found.ok()) found = resolve(labels_, pass.label, "label", row.label);
  TALLY_TRY(found);
  if (pass.gpu) {
    row.gpu_begin_ns = pass.gpu->begin_ns;
    row.gpu_time_ns = pass.gpu->time_ns;
  }
  row.time_sample = time_sample_of(pass.time_sample);
  execution.passes.push_back(writer_.add(row));
  return {};
}

Status Ingest::find_pass(const stream::CommandBatch& batch, std::optional<RowId>& pass) const {
  if (batch.pass_of == stream::PassOf::None) return {};
  const Execution* owner = &executions_.back();
  if (batch.pass_of == stream::PassOf::Parent) {
    if (!owner->parent) return Error{"a pass of a parent execution, which has no parent"};
    owner = &executions_[*owner->parent];
  }
  if (batch.pass >= owner->passes.size()) return unknown("pass", batch.pass);
  pass = owner->passes[batch.pass];
  return {};
}

// Replaces the sender's ids of labels with rows.
Status Ingest::resolve_labels(Column& labels) const {
  for (int64_t& label : labels.values) {
    std::optional<RowId> row;
    const Id id = label == Column::kNull ? 0 : static_cast<Id>(label);
    TALLY_TRY(resolve(labels_, id, "label", row));
    label = row.value_or(Column::kNull);
  }
  return {};
}

// The row's number for one of the sender's. Beyond kMaxTimeSamples there are no new ones:
// dispatches and passes without a time have none in reports then.
std::optional<RowId> Ingest::time_sample_of(Id sample) {
  if (sample == 0) return std::nullopt;
  if (const auto known = time_samples_.find(sample); known != time_samples_.end())
    return known->second;
  if (time_samples_.size() == kMaxTimeSamples) return std::nullopt;
  return time_samples_.emplace(sample, writer_.add_time_sample()).first->second;
}

Status Ingest::on(stream::CommandBatch& batch) {
  if (executions_.empty()) return Error{"commands without their execution"};
  const auto fits = [&](const Column& column) { return column.fits(batch.size); };
  const bool sound = batch.size >= 1 && batch.size <= kMaxBatchCommands &&
                     batch.positions.values.size() == batch.size && fits(batch.labels) &&
                     fits(batch.gpu_begin_ns) && fits(batch.gpu_time_ns) &&
                     std::ranges::all_of(batch.parameters, fits);
  if (!sound) return Error{"a batch of commands whose columns do not fit"};
  if (batch.parameters.size() != parameter_count(batch.function)) {
    return Error{"commands with the wrong number of parameters"};
  }
  const FunctionInfo& info = function_info(batch.function);
  CommandBatchRow row{.execution = executions_.back().row,
                      .size = batch.size,
                      .function = writer_.add(FunctionRow{.kind = info.kind, .name = info.name}),
                      .subpass = batch.subpass,
                      .counted = batch.counted,
                      .positions = std::move(batch.positions),
                      .labels = std::move(batch.labels),
                      .gpu_begin_ns = std::move(batch.gpu_begin_ns),
                      .gpu_time_ns = std::move(batch.gpu_time_ns),
                      .topology = batch.topology,
                      .primitive_restart = batch.primitive_restart,
                      .patch_control_points = batch.patch_control_points,
                      .repeats = batch.repeats};
  for (size_t i = 0; i < batch.parameters.size(); ++i) {
    row.parameters.push_back({info.parameters[i], std::move(batch.parameters[i])});
  }
  if (batch.pipeline != 0) {
    const Pipeline* pipeline = find(pipelines_, batch.pipeline);
    if (!pipeline) return unknown("pipeline", batch.pipeline);
    row.pipeline = pipeline->row;
  }
  Status found = find_pass(batch, row.pass);
  if (found.ok()) found = resolve_labels(row.labels);
  TALLY_TRY(found);
  const auto known = value_sets_.find(batch.values);
  if (known != value_sets_.end()) {
    const ValueSet& set = known->second;
    if (set.commands != 1 && set.commands != batch.size)
      return Error{"a batch with the values of another number of commands"};
    row.value_set = set.row;
  } else if (batch.values != 0) {
    if (value_sets_.size() == kMaxValueSets) return Error{"too many value sets"};
    row.value_set = writer_.begin_value_set();
    value_sets_.emplace(batch.values, ValueSet{*row.value_set});
  }
  const bool is_new = known == value_sets_.end();
  row.time_sample = time_sample_of(batch.time_sample);
  batch_ = writer_.add(row);
  values_of_ = is_new ? row.value_set.value_or(batch_) : 0;
  new_set_ = is_new ? batch.values : 0;
  values_size_ = batch.size;
  commands_ += batch.size;
  return {};
}

// True if the column can have values of the last batch. If a value set begins with that batch,
// later batches must fit the column, too.
bool Ingest::fits_batch(const Column& column) {
  if (!column.fits(values_size_)) return false;
  if (column.values.size() <= 1) return true;
  const auto set = value_sets_.find(new_set_);
  if (set != value_sets_.end()) set->second.commands = values_size_;
  return true;
}

Status Ingest::on(stream::BatchValues& values) {
  if (values_of_ == 0) return Error{"values without their commands"};
  const Device& device = devices_.at(submission_device_);
  std::vector<BlockCountRow> rows;
  rows.reserve(values.counts.size());
  for (stream::BlockCounts& counts : values.counts) {
    if (!fits_batch(counts.executions)) return Error{"counts that do not fit their commands"};
    rows.push_back({.batch = values_of_,
                    .sub = counts.sub,
                    .stage = counts.stage,
                    .block = counts.block,
                    .executions = std::move(counts.executions)});
  }
  writer_.add_all(rows);
  for (stream::BlockOthers& others : values.others) {
    if (!fits_batch(others.values)) return Error{"values that do not fit their commands"};
    if (others.metric >= device.metrics.size()) return unknown("metric", others.metric);
    writer_.add(BlockOtherRow{.batch = values_of_,
                              .sub = others.sub,
                              .stage = others.stage,
                              .block = others.block,
                              .metric = device.metrics[others.metric],
                              .values = std::move(others.values)});
  }
  return {};
}

Status Ingest::on(stream::ForgetValues& forgotten) {
  const auto found = value_sets_.find(forgotten.values);
  if (found == value_sets_.end()) return unknown("value set", forgotten.values);
  writer_.end_value_set(found->second.row);
  value_sets_.erase(found);
  return {};
}

Status Ingest::on(stream::BlockCosts& costs) {
  const Shader* shader = find(shaders_, costs.shader);
  if (!shader) return unknown("shader", costs.shader);
  const Device& device = devices_.at(shader->device);
  if (costs.metrics == 0 || costs.metrics != device.metrics.size() ||
      costs.costs.size() % costs.metrics != 0) {
    return Error{"block costs that do not fit the device's metrics"};
  }
  for (size_t i = 0; i < costs.costs.size(); ++i) {
    if (costs.costs[i] == 0) continue;
    writer_.add(BlockCostRow{.shader = shader->row,
                             .block = costs.first_block + static_cast<uint32_t>(i / costs.metrics),
                             .metric = device.metrics[i % costs.metrics],
                             .per_execution = costs.costs[i]});
  }
  return {};
}

Status Ingest::on(stream::FrameValues& values) {
  const auto frame = frames_.find({values.device, values.frame});
  if (frame == frames_.end()) return unknown("frame", static_cast<Id>(values.frame));
  std::vector<FrameValue> found;
  found.reserve(values.values.size());
  for (const stream::FrameValue& value : values.values) {
    const Counter* counter = find(counters_, value.counter);
    if (!counter || counter->device != values.device) return unknown("counter", value.counter);
    found.push_back({.frame = frame->second.row, .counter = counter->row, .value = value.value});
  }
  if (std::exchange(frame->second.has_values, true)) return Error{"a frame's values twice"};
  std::ranges::sort(found, {}, &FrameValue::counter);
  if (std::ranges::adjacent_find(found, {}, &FrameValue::counter) != found.end())
    return Error{"a counter twice in a frame's values"};
  writer_.add_frame_values(found);
  return {};
}

Result<RowId> Ingest::pass_of(int64_t execution, uint32_t pass) const {
  const auto index = static_cast<uint64_t>(execution);
  if (index >= executions_.size()) return unknown("execution", index);
  const std::vector<RowId>& passes = executions_[index].passes;
  if (pass >= passes.size()) return unknown("pass", pass);
  return passes[pass];
}

Status Ingest::on(stream::PassRegions& regions) {
  const Result<RowId> pass = pass_of(regions.execution, regions.pass);
  return pass ? regions_.begin(regions, *pass) : Status(pass.error());
}

Status Ingest::on(stream::RegionValues& values) {
  const Device* device = find(devices_, submission_device_);
  if (!device) return Error{"values without their regions"};
  return regions_.add(values, device->region_counters);
}

Status Ingest::on(stream::RegionDraw& draw) {
  const Device* device = find(devices_, submission_device_);
  if (!device) return Error{"a draw's values without their regions"};
  return regions_.add(draw, device->region_counters);
}

Status Ingest::on(stream::PassPicture& picture) {
  const Result<RowId> pass = pass_of(picture.execution, picture.pass);
  return pass ? regions_.begin(picture, *pass) : Status(pass.error());
}

Status Ingest::on(stream::PictureRows& rows) { return regions_.add(rows); }

}  // namespace tally::store
