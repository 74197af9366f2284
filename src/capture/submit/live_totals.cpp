#include "capture/submit/live_totals.h"

#include <algorithm>
#include <cstring>

#include "capture/record/recording.h"
#include "capture/submit/submission.h"
#include "catalogue/catalogue.h"

namespace tally::capture {
namespace {

// The catalogue lists them in the order of LiveCounter.
constexpr catalogue::Number number_of(LiveCounter counter) {
  return static_cast<catalogue::Number>(static_cast<uint32_t>(catalogue::Number::VkSubmissions) +
                                        static_cast<uint32_t>(counter));
}
static_assert(number_of(LiveCounter::GpuTime) == catalogue::Number::VkGpuTime);
static_assert(number_of(LiveCounter::ComputeInvocations) ==
              catalogue::Number::VkComputeInvocations);

template <size_t kSize>
void copy_text(char (&target)[kSize], std::string_view text) {
  const size_t length = std::min(text.size(), kSize - 1);
  std::memcpy(target, text.data(), length);
  target[length] = '\0';
}

// Finds a metric of VK_LAYER_TALLY_counters by its name in that layer. The metrics of a driver may
// have any name.
const catalogue::Counter* find_metric(const std::string& name) {
  for (const catalogue::Counter* counter : catalogue::counters_of(catalogue::Scope::Block)) {
    if (counter->id == name || counter->name == name) return counter;
  }
  return nullptr;
}

void describe_metric(const std::string& metric, TallyLiveCounter& description) {
  const catalogue::Counter* known = find_metric(metric);
  const bool is_executions = known && known->number == catalogue::Number::Executions;
  const bool is_bytes = known && known->unit == catalogue::Unit::Bytes;
  std::string name = "Shaders: ";
  name += is_executions ? "Blocks executed" : known ? known->name : std::string_view(metric);
  copy_text(description.name, name);
  copy_text(description.unit, is_bytes ? "bytes" : "operations");
  description.denominator = 1;
}

}  // namespace

LiveTotals& LiveTotals::instance() {
  static auto* const one = new LiveTotals;  // outlives every thread
  return *one;
}

std::vector<uint32_t> LiveTotals::list(const MetricLayout& layout) {
  const std::lock_guard lock(mutex_);
  std::vector<uint32_t> places;
  for (const stream::Metric& metric : layout.metrics) {
    auto found = std::ranges::find(metrics_, metric.name);
    if (found == metrics_.end()) found = metrics_.insert(found, metric.name);
    places.push_back(static_cast<uint32_t>(kLiveCounterCount + (found - metrics_.begin())));
  }
  values_.resize(kLiveCounterCount + metrics_.size());
  return places;
}

void LiveTotals::add(const LiveSum& sum, std::span<const uint32_t> places) {
  const std::lock_guard lock(mutex_);
  for (size_t i = 0; i < kLiveCounterCount; ++i) values_[i] += sum.counts()[i];
  for (size_t i = 0; i < std::min(places.size(), sum.metrics().size()); ++i) {
    values_[places[i]] += sum.metrics()[i];
  }
}

uint32_t LiveTotals::count() const {
  const std::lock_guard lock(mutex_);
  return static_cast<uint32_t>(values_.size());
}

bool LiveTotals::describe(uint32_t counter, TallyLiveCounter& description) const {
  const std::lock_guard lock(mutex_);
  if (counter >= values_.size()) return false;
  if (counter >= kLiveCounterCount) {
    describe_metric(metrics_[counter - kLiveCounterCount], description);
    return true;
  }
  const catalogue::Counter& row = catalogue::counter(number_of(static_cast<LiveCounter>(counter)));
  const bool is_time = row.unit == catalogue::Unit::Nanoseconds;
  copy_text(description.name, row.name);
  copy_text(description.unit, is_time ? "us" : catalogue::unit_of(row));
  description.denominator = is_time ? 1000 : 1;
  return true;
}

void LiveTotals::read(std::span<uint64_t> values) const {
  const std::lock_guard lock(mutex_);
  for (size_t i = 0; i < values.size(); ++i) values[i] = i < values_.size() ? values_[i] : 0;
}

namespace {

LiveCounter counter_of(const CommandRun& run, const Pipeline* pipeline) {
  const store::CallKind kind = store::function_info(run.function).kind;
  if (store::is_draw(kind, run.pass_of != stream::PassOf::None)) return LiveCounter::DrawCommands;
  const bool traces = kind == store::CallKind::TraceRays ||
                      (pipeline && pipeline->bind_point == VK_PIPELINE_BIND_POINT_RAY_TRACING_KHR);
  return traces ? LiveCounter::RayTraces : LiveCounter::Dispatches;
}

std::optional<LiveCounter> invocations_of(uint32_t stage) {
  switch (stage) {
    case VK_SHADER_STAGE_VERTEX_BIT:
      return LiveCounter::VertexInvocations;
    case VK_SHADER_STAGE_TESSELLATION_CONTROL_BIT:
      return LiveCounter::TessellationControlInvocations;
    case VK_SHADER_STAGE_TESSELLATION_EVALUATION_BIT:
      return LiveCounter::TessellationEvaluationInvocations;
    case VK_SHADER_STAGE_GEOMETRY_BIT:
      return LiveCounter::GeometryInvocations;
    case VK_SHADER_STAGE_FRAGMENT_BIT:
      return LiveCounter::FragmentInvocations;
    case VK_SHADER_STAGE_COMPUTE_BIT:
      return LiveCounter::ComputeInvocations;
    default:
      return std::nullopt;
  }
}

// The number of draws as far as the host knows it. A command with its draw count in a buffer counts
// as one draw.
uint64_t draws_of(store::Function function, std::span<const int64_t> parameters) {
  using store::Function;
  const auto parameter = [&](size_t index) { return static_cast<uint64_t>(parameters[index]); };
  switch (function) {
    case Function::DrawMulti:
    case Function::DrawMultiIndexed:
      return parameter(0);
    case Function::DrawIndirect:
    case Function::DrawIndexedIndirect:
    case Function::DrawMeshTasksIndirect:
    case Function::DrawMeshTasksIndirectNv:
      return parameter(1);
    default:
      return 1;
  }
}

}  // namespace

void LiveSum::add_execution(const Execution& execution,
                            std::span<const std::optional<stream::GpuTime>> times) {
  add(LiveCounter::RenderPasses, execution.recording->passes.size() * execution.runs);
  const auto add_time = [&](size_t index) {
    if (index < times.size() && times[index])
      add(LiveCounter::GpuTime, static_cast<uint64_t>(times[index]->time_ns));
  };
  for (const RecordedPass& pass : execution.recording->passes) add_time(pass.time);
  for (const CommandRun& run : execution.recording->command_runs) {
    if (run.pass_of != stream::PassOf::None || run.times == CommandRun::kNone) continue;
    for (uint32_t i = 0; i < run.count; ++i) add_time(run.times + i);
  }
}

void LiveSum::add_commands(const Execution& execution, const CommandSlice& slice) {
  const CommandRun& run = *slice.run;
  const Pipeline* pipeline = run.pipeline == CommandRun::kNone
                                 ? nullptr
                                 : execution.recording->pipelines[run.pipeline].get();
  const LiveCounter counter = counter_of(run, pipeline);
  add(counter, uint64_t{slice.count} * execution.runs);
  if (counter == LiveCounter::DrawCommands) {
    for (uint32_t i = 0; i < slice.count; ++i) {
      const size_t begin = i * slice.parameters_of_command();
      add(LiveCounter::Draws,
          draws_of(run.function, slice.parameters.subspan(begin)) * execution.runs);
    }
  }
  if (slice.words.empty()) {
    add(LiveCounter::CommandsNotCounted, uint64_t{slice.count} * execution.runs);
  }
  constexpr size_t kHeaderWords =
      sizeof(VkShaderInstrumentationMetricDataHeaderARM) / sizeof(uint64_t);
  const size_t block_words = kHeaderWords + layout_.values();
  for (size_t at = 0; at < slice.words.size(); at += block_words) {
    VkShaderInstrumentationMetricDataHeaderARM header;
    std::memcpy(&header, slice.words.data() + at, sizeof header);
    add_block(pipeline ? pipeline->shader_of(header.resultSubIndex, header.stages) : nullptr,
              header.stages, header.basicBlockIndex,
              slice.words.subspan(at + kHeaderWords, layout_.values()));
  }
}

void LiveSum::add_block(const Shader* shader, uint32_t stage, uint32_t block,
                        std::span<const uint64_t> values) {
  for (size_t i = 0; i < values.size(); ++i) metrics_[layout_.returned[i]] += values[i];
  if (!shader || !shader->facts || !layout_.executions) return;
  const uint64_t executions = values[*layout_.executions];
  add_static_costs(*shader, block, executions);
  const auto invocations = invocations_of(stage);
  if (invocations && shader->facts->entry_block == block) add(*invocations, executions);
}

// Nothing, where the device returns them.
void LiveSum::add_static_costs(const Shader& shader, uint32_t block, uint64_t executions) {
  if (layout_.added.empty()) return;
  const std::vector<BlockCost>& costs = shader.facts->costs;
  auto known = std::ranges::lower_bound(costs, block, {}, &BlockCost::block);
  for (; known != costs.end() && known->block == block; ++known) {
    metrics_[layout_.added[static_cast<size_t>(known->cost)]] += executions * known->per_execution;
  }
}

}  // namespace tally::capture
