#include "store/ingest.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <variant>

namespace tally::store {
namespace {

// Far more than any program defines; bounds what a hostile one can make the receiver remember.
constexpr uint64_t kMaxDefinitions = 16'000'000;
constexpr size_t kMaxExecutions = 1'000'000;

Error unknown(const char* what, stream::Id id) {
  return {fmt::format("the capture stream refers to {} {}, which it never defined", what, id)};
}

template <typename Map>
const typename Map::mapped_type* find(const Map& map, const typename Map::key_type& key) {
  const auto found = map.find(key);
  return found == map.end() ? nullptr : &found->second;
}

}  // namespace

Status Ingest::take(stream::AnyMessage& message) {
  if (!greeted() && !std::holds_alternative<stream::Hello>(message)) {
    return Error{"the capture stream does not begin with who sends it"};
  }
  if (closed_) return Error{"the capture stream goes on after its end"};
  if (definitions_ > kMaxDefinitions) return Error{"the capture stream defines too much"};
  Status status = std::visit([&](auto& body) { return on(body); }, message);
  return status.ok() ? writer_.status() : status;
}

std::optional<int64_t> Ingest::missing(std::optional<uint64_t> submitted) const {
  if (!submitted) return std::nullopt;
  const uint64_t known = commands_ + missing_;
  return *submitted > known
             ? static_cast<int64_t>(std::min<uint64_t>(*submitted - known, INT64_MAX))
             : 0;
}

void Ingest::end(int64_t time_ns, bool refused, std::optional<uint64_t> submitted) {
  if (!greeted()) return;
  const Ending ending = refused ? Ending::Refused : closed_ ? Ending::Closed : Ending::CutOff;
  writer_.end_process(process_, closed_ ? closed_ns_ : time_ns, ending, missing(submitted));
}

Status Ingest::define(Ids& ids, Id id, RowId row) {
  ++definitions_;
  if (id == 0 || !ids.emplace(id, row).second) {
    return Error{fmt::format("the capture stream defines {} twice", id)};
  }
  return {};
}

Status Ingest::resolve(const Ids& ids, Id id, const char* what, std::optional<RowId>& row) const {
  row.reset();
  if (id == 0) return {};
  const RowId* found = find(ids, id);
  if (!found) return unknown(what, id);
  row = *found;
  return {};
}

Status Ingest::on(stream::Hello& hello) {
  if (greeted()) return Error{"the capture stream begins twice"};
  pid_ = hello.pid;
  process_ = writer_.add(ProcessRow{.pid = hello.pid,
                                    .parent_pid = hello.parent_pid,
                                    .executable = std::move(hello.executable),
                                    .command_line = std::move(hello.command_line),
                                    .application = std::move(hello.application),
                                    .engine = std::move(hello.engine),
                                    .start_ns = hello.start_ns});
  return {};
}

Status Ingest::on(stream::Goodbye& goodbye) {
  closed_ = true;
  closed_ns_ = goodbye.time_ns;
  return {};
}

Status Ingest::on(stream::Device& device) {
  ++definitions_;
  if (device.id == 0 || devices_.contains(device.id)) return Error{"the same device twice"};
  Device& added = devices_[device.id];
  added.row = writer_.add(DeviceRow{.process = process_,
                                    .name = std::move(device.name),
                                    .type = std::move(device.type),
                                    .vendor_id = device.vendor_id,
                                    .device_id = device.device_id,
                                    .api_version = device.api_version,
                                    .driver_name = std::move(device.driver_name),
                                    .driver_info = std::move(device.driver_info),
                                    .driver_version = device.driver_version,
                                    .uuid = std::move(device.uuid),
                                    .timestamp_period_ns = device.timestamp_period_ns,
                                    .per_block = device.per_block,
                                    .not_captured = std::move(device.not_captured)});
  for (const stream::Metric& metric : device.metrics) {
    const RowId row =
        writer_.add(MetricRow{.name = metric.name, .description = metric.description});
    writer_.add_device_metric(added.row, static_cast<uint32_t>(added.metrics.size()), row);
    added.metrics.push_back(row);
  }
  for (const std::string& name : device.region_counters) {
    added.region_counters.push_back(writer_.add(RegionCounterRow{.name = name}));
  }
  return {};
}

Status Ingest::on(stream::Queue& queue) {
  ++definitions_;
  const Device* device = find(devices_, queue.device);
  if (!device) return unknown("device", queue.device);
  if (queue.id == 0 || queues_.contains(queue.id)) return Error{"the same queue twice"};
  const RowId row = writer_.add(QueueRow{.device = device->row,
                                         .family = queue.family,
                                         .position = queue.position,
                                         .flags = queue.flags,
                                         .timestamp_bits = queue.timestamp_bits});
  queues_[queue.id] = {row, queue.device};
  return {};
}

Status Ingest::on(stream::Module& module) {
  const RowId row =
      writer_.add(ModuleRow{.hash = std::move(module.hash), .spirv = std::move(module.words)});
  return define(modules_, module.id, row);
}

Status Ingest::on(stream::Shader& shader) {
  ++definitions_;
  const Device* device = find(devices_, shader.device);
  if (!device) return unknown("device", shader.device);
  if (shader.id == 0 || shaders_.contains(shader.id)) return Error{"the same shader twice"};
  std::optional<RowId> module;
  if (Status found = resolve(modules_, shader.module, "module", module); !found) return found;
  const RowId row = writer_.add(ShaderRow{.device = device->row,
                                          .module = module,
                                          .stage = shader.stage,
                                          .entry_point = std::move(shader.entry_point),
                                          .not_instrumented = std::move(shader.not_instrumented)});
  shaders_[shader.id] = {row, shader.device};
  return {};
}

Status Ingest::on(stream::Pipeline& pipeline) {
  ++definitions_;
  const Device* device = find(devices_, pipeline.device);
  if (!device) return unknown("device", pipeline.device);
  if (pipeline.id == 0 || pipelines_.contains(pipeline.id)) return Error{"the same pipeline twice"};
  PipelineRow row{.device = device->row,
                  .hash = std::move(pipeline.hash),
                  .bind_point = std::move(pipeline.bind_point),
                  .not_instrumented = std::move(pipeline.not_instrumented)};
  for (const Id id : pipeline.shaders) {
    const Shader* shader = find(shaders_, id);
    if (!shader || shader->device != pipeline.device) return unknown("shader", id);
    row.shaders.push_back(shader->row);
  }
  pipelines_[pipeline.id] = {writer_.add(row), pipeline.device};
  return {};
}

Status Ingest::on(stream::Object& object) {
  const Device* device = find(devices_, object.device);
  if (!device) return unknown("device", object.device);
  const RowId row = writer_.add(
      ObjectRow{.device = device->row, .type = std::move(object.type), .handle = object.handle});
  return define(objects_, object.id, row);
}

Status Ingest::on(stream::Name& name) {
  switch (name.kind) {
    case stream::Named::Module:
      if (const RowId* row = find(modules_, name.id)) {
        writer_.set_module_name(*row, name.name);
        return {};
      }
      return unknown("module", name.id);
    case stream::Named::Pipeline:
      if (const Pipeline* pipeline = find(pipelines_, name.id)) {
        writer_.set_pipeline_name(pipeline->row, name.name);
        return {};
      }
      return unknown("pipeline", name.id);
    case stream::Named::Object:
      if (const RowId* row = find(objects_, name.id)) {
        writer_.set_object_name(*row, name.name);
        return {};
      }
      return unknown("object", name.id);
    case stream::Named::Queue:
      if (const Queue* queue = find(queues_, name.id)) {
        writer_.set_queue_name(queue->row, name.name);
        return {};
      }
      return unknown("queue", name.id);
  }
  return {};
}

Status Ingest::on(stream::Label& label) {
  LabelRow row{.name = std::move(label.name)};
  if (Status found = resolve(labels_, label.parent, "label", row.parent); !found) return found;
  return define(labels_, label.id, writer_.add(row));
}

Status Ingest::on(stream::Frame& frame) {
  ++definitions_;
  const Device* device = find(devices_, frame.device);
  if (!device) return unknown("device", frame.device);
  const auto [at, fresh] = frames_.try_emplace({frame.device, frame.number}, 0);
  if (!fresh) return Error{"the same frame twice"};
  at->second = writer_.add(
      FrameRow{.device = device->row, .number = frame.number, .begin_ns = frame.begin_ns});
  return {};
}

Status Ingest::on(stream::FrameEnded& frame) {
  const RowId* row = find(frames_, {frame.device, frame.number});
  if (!row) return unknown("frame", static_cast<Id>(frame.number));
  writer_.end_frame(*row, frame.end_ns, frame.by_present ? FrameEnd::Present : FrameEnd::Submit);
  return {};
}

Status Ingest::on(stream::Submission& submission) {
  const Queue* queue = find(queues_, submission.queue);
  if (!queue) return unknown("queue", submission.queue);
  const RowId* frame = find(frames_, {queue->device, submission.frame});
  if (!frame) return unknown("frame", static_cast<Id>(submission.frame));
  SubmissionRow row{.frame = *frame,
                    .queue = queue->row,
                    .number = submission.number,
                    .time_ns = submission.time_ns};
  if (Status found = resolve(labels_, submission.label, "label", row.label); !found) return found;
  if (Status ended = regions_.end(); !ended) return ended;
  submission_ = writer_.add(row);
  submission_device_ = queue->device;
  executions_.clear();
  batch_ = 0;
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
  batch_ = 0;
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
  if (!found) return found;
  if (pass.gpu) {
    row.gpu_begin_ns = pass.gpu->begin_ns;
    row.gpu_time_ns = pass.gpu->time_ns;
  }
  execution.passes.push_back(writer_.add(row));
  return {};
}

Status Ingest::find_pass(const stream::CommandBatch& batch, std::optional<RowId>& pass) const {
  if (batch.pass_of == stream::PassOf::None) return {};
  const Execution* owner = &executions_.back();
  if (batch.pass_of == stream::PassOf::Parent) {
    if (!owner->parent) return Error{"a pass of a parent that is not there"};
    owner = &executions_[*owner->parent];
  }
  if (batch.pass >= owner->passes.size()) return unknown("pass", batch.pass);
  pass = owner->passes[batch.pass];
  return {};
}

// The sender's ids of labels become rows.
Status Ingest::resolve_labels(Column& labels) const {
  for (int64_t& label : labels.values) {
    std::optional<RowId> row;
    const Id id = label == Column::kNull ? 0 : static_cast<Id>(label);
    if (Status found = resolve(labels_, id, "label", row); !found) return found;
    label = row.value_or(Column::kNull);
  }
  return {};
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
                      .gpu_time_ns = std::move(batch.gpu_time_ns)};
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
  if (!found) return found;
  batch_ = writer_.add(row);
  batch_size_ = batch.size;
  commands_ += batch.size;
  return {};
}

Status Ingest::on(stream::BatchValues& values) {
  if (batch_ == 0) return Error{"values without their commands"};
  const Device& device = devices_.at(submission_device_);
  for (stream::BlockCounts& counts : values.counts) {
    if (!counts.executions.fits(batch_size_)) return Error{"counts that do not fit their commands"};
    writer_.add(BlockCountRow{.batch = batch_,
                              .sub = counts.sub,
                              .stage = counts.stage,
                              .block = counts.block,
                              .executions = std::move(counts.executions)});
  }
  for (stream::BlockOthers& others : values.others) {
    if (!others.values.fits(batch_size_)) return Error{"values that do not fit their commands"};
    if (others.metric >= device.metrics.size()) return unknown("metric", others.metric);
    writer_.add(BlockOtherRow{.batch = batch_,
                              .sub = others.sub,
                              .stage = others.stage,
                              .block = others.block,
                              .metric = device.metrics[others.metric],
                              .values = std::move(others.values)});
  }
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

Status Ingest::on(stream::Missing& missing) {
  const RowId* row = find(frames_, {missing.device, missing.frame});
  if (!row) return unknown("frame", static_cast<Id>(missing.frame));
  if (missing.commands < 0) return Error{"fewer than no commands are missing"};
  writer_.add_missing(*row, missing.commands);
  missing_ += static_cast<uint64_t>(missing.commands);
  return {};
}

Status Ingest::on(stream::Message& message) {
  writer_.add(MessageRow{.process = process_,
                         .time_ns = message.time_ns,
                         .severity = message.severity,
                         .text = std::move(message.text),
                         .count = message.count});
  return {};
}

Status Ingest::on(stream::NotInstrumented& news) {
  const Shader* shader = find(shaders_, news.shader);
  if (!shader) return unknown("shader", news.shader);
  writer_.set_shader_not_instrumented(shader->row, news.reason);
  return {};
}

Status Ingest::on(stream::FrameCounter& counter) {
  ++definitions_;
  const Device* device = find(devices_, counter.device);
  if (!device) return unknown("device", counter.device);
  if (counter.id == 0 || counters_.contains(counter.id)) return Error{"the same counter twice"};
  if (counter.denominator == 0) return Error{"a counter in parts of nothing"};
  const RowId row = writer_.add(FrameCounterRow{.device = device->row,
                                                .group = std::move(counter.group),
                                                .name = std::move(counter.name),
                                                .unit = std::move(counter.unit),
                                                .denominator = counter.denominator,
                                                .is_level = counter.is_level});
  counters_[counter.id] = {row, counter.device};
  return {};
}

Status Ingest::on(stream::FrameValues& values) {
  const RowId* frame = find(frames_, {values.device, values.frame});
  if (!frame) return unknown("frame", static_cast<Id>(values.frame));
  for (const stream::FrameValue& value : values.values) {
    const Counter* counter = find(counters_, value.counter);
    if (!counter || counter->device != values.device) return unknown("counter", value.counter);
    writer_.add(FrameValueRow{.frame = *frame, .counter = counter->row, .value = value.value});
  }
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

Status Ingest::on(stream::PassPicture& picture) {
  const Result<RowId> pass = pass_of(picture.execution, picture.pass);
  return pass ? regions_.begin(picture, *pass) : Status(pass.error());
}

Status Ingest::on(stream::PictureRows& rows) { return regions_.add(rows); }

}  // namespace tally::store
