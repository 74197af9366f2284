#include "capture/emit/live_totals.h"

#include <tally/vulkan_arm.h>

#include <cstring>

namespace tally::capture {
namespace {

LiveCounter counter_of(store::CallKind kind) {
  switch (kind) {
    case store::CallKind::Dispatch:
      return LiveCounter::Dispatches;
    case store::CallKind::TraceRays:
      return LiveCounter::RayTraces;
    default:
      return LiveCounter::DrawCommands;
  }
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
uint64_t draws_of(const Recording& recording, const CommandRun& run, size_t index) {
  using store::Function;
  const auto parameter = [&](size_t of_function) {
    return static_cast<uint64_t>(recording.parameter(run, index, of_function));
  };
  switch (run.function) {
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
  for (const std::optional<stream::GpuTime>& time : times) {
    if (time) add(LiveCounter::GpuTime, static_cast<uint64_t>(time->time_ns));
  }
}

void LiveSum::add_command(const Execution& execution, const CommandRun& run, size_t index,
                          std::span<const uint64_t> words) {
  const Recording& recording = *execution.recording;
  const LiveCounter counter = counter_of(store::function_info(run.function).kind);
  add(counter, execution.runs);
  if (counter == LiveCounter::DrawCommands) {
    add(LiveCounter::Draws, draws_of(recording, run, index) * execution.runs);
  }
  if (words.empty()) add(LiveCounter::CommandsNotCounted, execution.runs);
  const Pipeline* pipeline =
      run.pipeline == CommandRun::kNone ? nullptr : recording.pipelines[run.pipeline].get();
  constexpr size_t kHeaderWords =
      sizeof(VkShaderInstrumentationMetricDataHeaderARM) / sizeof(uint64_t);
  const size_t block_words = kHeaderWords + layout_.values();
  for (; words.size() >= block_words; words = words.subspan(block_words)) {
    VkShaderInstrumentationMetricDataHeaderARM header;
    std::memcpy(&header, words.data(), sizeof header);
    add_block(pipeline, header, words.subspan(kHeaderWords, layout_.values()));
  }
}

void LiveSum::add_block(const Pipeline* pipeline,
                        const VkShaderInstrumentationMetricDataHeaderARM& header,
                        std::span<const uint64_t> values) {
  for (size_t i = 0; i < values.size(); ++i) metrics_[i] += values[i];
  const auto invocations = invocations_of(header.stages);
  const Shader* shader =
      pipeline ? pipeline->shader_of(header.resultSubIndex, header.stages) : nullptr;
  if (!invocations || !shader || shader->entry_block != header.basicBlockIndex ||
      !layout_.executions)
    return;
  add(*invocations, values[*layout_.executions]);
}

}  // namespace tally::capture
