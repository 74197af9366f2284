#include "store/write/ingest.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <tuple>
#include <type_traits>
#include <variant>

#include "picture/picture.h"

namespace tally::store {

Status RegionIngest::end() {
  if (!values_.empty()) return Error{"a counter's values do not cover its regions"};
  if (!picture_.pixels.empty()) return Error{"a picture that ends before its last row"};
  regions_ = 0;
  picture_row_ = {};
  return {};
}

Status RegionIngest::begin(const stream::PassRegions& regions, RowId pass) {
  TALLY_TRY(end());
  PassRegionsRow row{.pass = pass,
                     .subpass = regions.subpass,
                     .layer = regions.layer,
                     .x = regions.x,
                     .y = regions.y,
                     .width = regions.width,
                     .height = regions.height,
                     .region_width = regions.region_width,
                     .region_height = regions.region_height};
  if (row.region_width == 0 || row.region_height == 0) return Error{"regions without a size"};
  if (!stream::is_offset(row.x) || !stream::is_offset(row.y)) {
    return Error{"a render area beyond all offsets"};
  }
  region_count_ = uint64_t{row.columns()} * row.rows();
  if (region_count_ == 0 || region_count_ > stream::kMaxRegions) {
    return Error{"a pass without regions, or with too many"};
  }
  regions_ = writer_.add(row);
  return {};
}

Status RegionIngest::add(const stream::RegionValues& values, std::span<const RowId> counters) {
  if (regions_ == 0) return Error{"values without their regions"};
  if (values.counter >= counters.size()) return Error{"values of a counter that does not exist"};
  if (!values_.empty() && values.counter != counter_) {
    return Error{"a counter's values do not cover its regions"};
  }
  if (values.values.empty() || values_.size() + values.values.size() > region_count_) {
    return Error{"values of regions that do not exist"};
  }
  counter_ = values.counter;
  values_.insert(values_.end(), values.values.begin(), values.values.end());
  if (values_.size() < region_count_) return {};
  writer_.add(RegionValuesRow{
      .regions = regions_, .counter = counters[counter_], .by_region = std::move(values_)});
  values_.clear();
  return {};
}

Status RegionIngest::add(const stream::RegionDraw& draw, std::span<const RowId> counters) {
  if (regions_ == 0 || !values_.empty()) return Error{"a draw's values without their regions"};
  if (draw.counter >= counters.size()) return Error{"values of a counter that does not exist"};
  const std::vector<uint32_t>& places = draw.regions;
  const bool sound = draw.position >= 0 && !places.empty() && places.size() == draw.values.size() &&
                     places.back() < region_count_ &&
                     std::ranges::adjacent_find(places, std::greater_equal()) == places.end();
  if (!sound) return Error{"a draw's values that do not fit the regions"};
  writer_.add(RegionDrawRow{.regions = regions_,
                            .position = draw.position,
                            .counter = counters[draw.counter],
                            .places = places,
                            .values = draw.values});
  return {};
}

Status RegionIngest::begin(const stream::PassPicture& picture, RowId pass) {
  TALLY_TRY(end());
  const uint64_t pixels = uint64_t{picture.width} * picture.height;
  if (pixels == 0 || pixels > stream::kMaxPicturePixels) {
    return Error{"a picture without pixels, or with too many"};
  }
  picture_ = {picture.width, picture.height, {}};
  picture_row_ = {.pass = pass,
                  .layer = picture.layer,
                  .attachment = picture.attachment,
                  .width = picture.width,
                  .height = picture.height};
  return {};
}

Status RegionIngest::add(const stream::PictureRows& rows) {
  if (picture_row_.pass == 0) return Error{"rows without their picture"};
  const uint64_t pixels = uint64_t{picture_.width} * picture_.height;
  const size_t sent = rows.pixels.size();
  if (sent == 0 || sent % picture_.width != 0 || picture_.pixels.size() + sent > pixels) {
    return Error{"rows that a picture does not have"};
  }
  picture_.pixels.insert(picture_.pixels.end(), rows.pixels.begin(), rows.pixels.end());
  if (picture_.pixels.size() < pixels) return {};
  picture_row_.png = TALLY_TRY(encode_png(picture_));
  writer_.add(std::exchange(picture_row_, {}));
  picture_ = {};
  return {};
}

namespace {

// For what is added in any case, and for pages that are partly empty.
constexpr uint64_t kReserve = uint64_t{64} << 10;

uint64_t text_bytes(const Column& column) {
  uint64_t bytes = 2;
  for (const int64_t value : column.values) {
    const auto magnitude = static_cast<uint64_t>(value < 0 ? -(value + 1) : value);
    bytes += static_cast<uint64_t>(std::bit_width(magnitude)) * 3 / 10 + 3;
  }
  return bytes;
}

// At least about the size of a message's rows in the file, where they can be large.
template <typename Message>
uint64_t row_bytes(const Message&) {
  return 1024;
}
uint64_t row_bytes(const stream::Module& module) { return module.spirv.size() * sizeof(uint32_t); }
uint64_t row_bytes(const stream::Message& message) { return message.text.size(); }
uint64_t row_bytes(const stream::PipelineStatistic& statistic) {
  return 64 + statistic.executable_name.size() + statistic.executable_description.size() +
         statistic.name.size() + statistic.description.size();
}
uint64_t row_bytes(const stream::Name& name) { return name.name.size(); }
uint64_t row_bytes(const stream::Label& label) { return 2 * label.name.size(); }
uint64_t row_bytes(const stream::Pass& pass) { return 256 + pass.attachments.size(); }
uint64_t row_bytes(const stream::CommandBatch& batch) {
  uint64_t bytes = 512 + text_bytes(batch.positions) + text_bytes(batch.labels) +
                   text_bytes(batch.gpu_begin_ns) + text_bytes(batch.gpu_time_ns);
  for (const Column& column : batch.parameters) bytes += 32 + text_bytes(column);
  return bytes;
}
uint64_t row_bytes(const stream::BatchValues& values) {
  uint64_t bytes = 0;
  for (const stream::BlockCounts& counts : values.counts)
    bytes += 64 + text_bytes(counts.executions);
  for (const stream::BlockOthers& others : values.others) bytes += 64 + text_bytes(others.values);
  return bytes;
}
uint64_t row_bytes(const stream::BlockCosts& costs) { return costs.costs.size() * 32; }
uint64_t row_bytes(const stream::FrameValues& values) { return values.values.size() * 20 + 64; }
uint64_t row_bytes(const stream::PassRegions& regions) {
  const uint64_t columns = regions.width / std::max(regions.region_width, 1u) + 2;
  const uint64_t rows = regions.height / std::max(regions.region_height, 1u) + 2;
  return columns * rows * sizeof(uint64_t);
}
uint64_t row_bytes(const stream::RegionValues& values) { return values.values.size() * 12; }
uint64_t row_bytes(const stream::RegionDraw& draw) { return draw.values.size() * 8 + 64; }
uint64_t row_bytes(const stream::PassPicture& picture) {
  return (uint64_t{picture.width} * 4 + 16) * picture.height + 1024;
}

}  // namespace

bool SizeLimit::fits(const stream::AnyMessage& message, bool completes, Writer& writer) {
  if (bytes_ == 0 || full_) return !full_;
  const uint64_t more = std::visit([](const auto& body) { return row_bytes(body); }, message);
  full_ = writer.bytes() + more + (completes ? kReserve / 2 : kReserve) > bytes_;
  return !full_;
}

namespace {

// More than any program defines; bounds the memory that a hostile sender can make the receiver use.
constexpr uint64_t kMaxDefinitions = 16'000'000;

// The row that a message carries. Its keys are left 0: they become ids of rows one by one, as each
// is checked in its own way.
template <template <typename> class RowOf>
RowOf<RowId> row_of(RowOf<stream::Id>& message) {
  RowOf<RowId> row;
  const auto move_column = [&](const auto& to, const auto& from) {
    if constexpr (std::is_same_v<decltype(to.of(row)), decltype(from.of(message))>) {
      to.of(row) = std::move(from.of(message));
    }
  };
  constexpr const auto& kTo = kTable<RowOf<RowId>>.columns;
  constexpr const auto& kFrom = kTable<RowOf<stream::Id>>.columns;
  [&]<size_t... kIndices>(std::index_sequence<kIndices...>) {
    (move_column(std::get<kIndices>(kTo), std::get<kIndices>(kFrom)), ...);
  }
  (std::make_index_sequence<std::tuple_size_v<std::remove_cvref_t<decltype(kTo)>>>{});
  return row;
}

}  // namespace

Status Ingest::take(stream::AnyMessage& message) {
  if (!has_process() && !std::holds_alternative<stream::Process>(message)) {
    return Error{"the capture stream does not begin with its process"};
  }
  if (ended_) return Error{"the capture stream continues after its end"};
  if (definitions_ > kMaxDefinitions) return Error{"the capture stream defines too much"};
  const bool always = std::holds_alternative<stream::Process>(message) ||
                      std::holds_alternative<stream::End>(message);
  const bool values = std::holds_alternative<stream::BatchValues>(message) && values_of_ != 0;
  if (!always && !limit_.fits(message, values, writer_)) {
    if (values) writer_.lacks_values(batch_);
    return drop(message);
  }
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

void Ingest::end(int64_t time_ns, bool refused, std::optional<uint64_t> submitted, bool full) {
  if (!has_process()) return;
  for (const auto& [id, set] : value_sets_) writer_.end_value_set(set.row);
  value_sets_.clear();
  // How many commands later frames have is not known.
  const Ending ending = refused           ? Ending::Refused
                        : ended_ && !full ? Ending::Closed
                                          : Ending::CutOff;
  if (full) submitted.reset();
  writer_.end_process(process_, ended_ ? end_ns_ : time_ns, ending, missing(submitted));
}

Status Ingest::define(Ids& ids, Id id, RowId row) {
  ++definitions_;
  if (id == 0 || !ids.emplace(id, row).second) {
    return Error{fmt::format("the capture stream defines {} twice", id)};
  }
  return {};
}

Status Ingest::forget(Ids& ids, const std::vector<Id>& gone, const char* what) {
  for (const Id id : gone) {
    if (ids.erase(id) == 0) return unknown(what, id);
    --definitions_;
  }
  return {};
}

void Ingest::add_held(Writer::HeldRows& held) const {
  for (const auto& [id, row] : objects_) held.objects.insert(row);
  for (const auto& [id, row] : labels_) held.labels.insert(row);
}

Status Ingest::resolve(const Ids& ids, Id id, const char* what, std::optional<RowId>& row) const {
  row.reset();
  if (id == 0) return {};
  const RowId* found = find(ids, id);
  if (!found) return unknown(what, id);
  row = *found;
  return {};
}

Status Ingest::on(stream::Process& process) {
  if (has_process()) return Error{"the capture stream begins twice"};
  pid_ = process.pid;
  process_ = writer_.add(row_of(process));
  return {};
}

Status Ingest::on(stream::End& end) {
  ended_ = true;
  end_ns_ = end.time_ns;
  return {};
}

Status Ingest::on(stream::Device& device) {
  ++definitions_;
  if (device.id == 0 || devices_.contains(device.id)) return Error{"the same device twice"};
  Device& added = devices_[device.id];
  DeviceRow row = row_of(device);
  row.process = process_;
  added.row = writer_.add(row);
  for (stream::Metric& metric : device.metrics) {
    const RowId metric_row = writer_.add(row_of(metric));
    writer_.add(DeviceMetricRow{.device = added.row,
                                .position = static_cast<uint32_t>(added.metrics.size()),
                                .metric = metric_row});
    added.metrics.push_back(metric_row);
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
  QueueRow row = row_of(queue);
  row.device = device->row;
  queues_[queue.id] = {writer_.add(row), queue.device};
  return {};
}

Status Ingest::on(stream::Module& module) {
  return define(modules_, module.id, writer_.add(row_of(module)));
}

Status Ingest::on(stream::Shader& shader) {
  ++definitions_;
  const Device* device = find(devices_, shader.device);
  if (!device) return unknown("device", shader.device);
  if (shader.id == 0 || shaders_.contains(shader.id)) return Error{"the same shader twice"};
  ShaderRow row = row_of(shader);
  row.device = device->row;
  make_valid(row.constants);
  TALLY_TRY(resolve(modules_, shader.module, "module", row.module));
  shaders_[shader.id] = {writer_.add(row), shader.device};
  return {};
}

Status Ingest::on(stream::Pipeline& pipeline) {
  ++definitions_;
  const Device* device = find(devices_, pipeline.device);
  if (!device) return unknown("device", pipeline.device);
  if (pipeline.id == 0 || pipelines_.contains(pipeline.id)) return Error{"the same pipeline twice"};
  PipelineRow row = row_of(pipeline);
  row.device = device->row;
  for (const Id id : pipeline.shaders) {
    const Shader* shader = find(shaders_, id);
    if (!shader || shader->device != pipeline.device) return unknown("shader", id);
    row.shaders.push_back(shader->row);
  }
  pipelines_[pipeline.id] = {writer_.add(row), pipeline.device};
  return {};
}

Status Ingest::on(stream::PipelineStatistic& statistic) {
  ++definitions_;
  const Pipeline* pipeline = find(pipelines_, statistic.pipeline);
  if (!pipeline) return unknown("pipeline", statistic.pipeline);
  if (!std::isfinite(statistic.value)) return Error{"a statistic that is not a number"};
  PipelineStatisticRow row = row_of(statistic);
  row.pipeline = pipeline->row;
  writer_.add(row);
  return {};
}

Status Ingest::on(stream::Object& object) {
  const Device* device = find(devices_, object.device);
  if (!device) return unknown("device", object.device);
  ObjectRow row = row_of(object);
  row.device = device->row;
  return define(objects_, object.id, writer_.add(row));
}

Status Ingest::on(stream::Label& label) {
  LabelRow row = row_of(label);
  TALLY_TRY(resolve(labels_, label.parent, "label", row.parent));
  return define(labels_, label.id, writer_.add(row));
}

Status Ingest::on(stream::Gone& gone) {
  Status forgotten = forget(objects_, gone.objects, "object");
  return forgotten.ok() ? forget(labels_, gone.labels, "label") : forgotten;
}

Status Ingest::on(stream::FrameCounter& counter) {
  ++definitions_;
  const Device* device = find(devices_, counter.device);
  if (!device) return unknown("device", counter.device);
  if (counter.id == 0 || counters_.contains(counter.id)) return Error{"the same counter twice"};
  if (counter.denominator == 0) return Error{"a counter whose denominator is 0"};
  FrameCounterRow row = row_of(counter);
  row.device = device->row;
  counters_[counter.id] = {writer_.add(row), counter.device};
  return {};
}

Status Ingest::on(stream::Message& message) {
  MessageRow row = row_of(message);
  row.process = process_;
  writer_.add(row);
  return {};
}

Status Ingest::on(stream::Replacement& replacement) {
  ++definitions_;
  ReplacementRow row = row_of(replacement);
  row.process = process_;
  writer_.add(row);
  return {};
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

Status Ingest::on(stream::NotInstrumented& update) {
  const Shader* shader = find(shaders_, update.shader);
  if (!shader) return unknown("shader", update.shader);
  writer_.set_shader_not_instrumented(shader->row, update.reason);
  return {};
}

Status Ingest::on(stream::Bound& update) {
  const Pipeline* pipeline = find(pipelines_, update.pipeline);
  if (!pipeline) return unknown("pipeline", update.pipeline);
  writer_.set_pipeline_bound(pipeline->row);
  return {};
}

}  // namespace tally::store
