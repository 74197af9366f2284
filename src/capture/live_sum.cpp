#include "capture/live_totals.h"

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

// As far as the host knows: draws whose number stands in a buffer are one.
uint64_t draws_of(const Recording& recording, const RecordedCommand& command) {
  using store::Function;
  const auto parameter = [&](uint32_t index) {
    return static_cast<uint64_t>(recording.parameters[command.first_parameter + index]);
  };
  switch (command.function) {
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

// How often a block was executed.
uint64_t executions_of(const stream::StageValues& values, uint32_t block, size_t metric) {
  for (const stream::BlockCount& count : values.blocks) {
    if (count.block == block) return count.executions;
  }
  for (const stream::BlockOther& other : values.others) {
    if (other.block == block && other.metric == metric) return other.value;
  }
  return 0;
}

}  // namespace

void LiveSum::add(const Execution& execution, std::span<const std::optional<stream::GpuTime>> times,
                  std::span<const std::vector<stream::StageValues>> stages) {
  const Recording& recording = *execution.recording;
  add(LiveCounter::RenderPasses, recording.passes.size() * execution.runs);
  for (const std::optional<stream::GpuTime>& time : times) {
    if (time) add(LiveCounter::GpuTime, static_cast<uint64_t>(time->time_ns));
  }
  for (const RecordedCommand& command : recording.commands) {
    add_command(recording, command, execution.runs);
    const bool counted = command.result < stages.size() && !stages[command.result].empty();
    if (!counted) {
      add(LiveCounter::CommandsNotCounted, execution.runs);
      continue;
    }
    const Pipeline* pipeline = command.pipeline == RecordedCommand::kNone
                                   ? nullptr
                                   : recording.pipelines[command.pipeline].get();
    for (const stream::StageValues& values : stages[command.result]) add_stage(pipeline, values);
  }
}

void LiveSum::add_command(const Recording& recording, const RecordedCommand& command,
                          uint32_t runs) {
  const LiveCounter counter = counter_of(store::function_info(command.function).kind);
  add(counter, runs);
  if (counter == LiveCounter::DrawCommands) {
    add(LiveCounter::Draws, draws_of(recording, command) * runs);
  }
}

void LiveSum::add_stage(const Pipeline* pipeline, const stream::StageValues& values) {
  for (size_t i = 0; i < std::min(metrics_.size(), values.totals.size()); ++i) {
    metrics_[i] += values.totals[i];
  }
  const auto invocations = invocations_of(values.stage);
  const Shader* shader = pipeline ? pipeline->shader_of(values.stage) : nullptr;
  if (!invocations || !shader || !shader->entry_block || !layout_.executions) return;
  add(*invocations, executions_of(values, *shader->entry_block, *layout_.executions));
}

}  // namespace tally::capture
