// Restores the execution order of command buffers and their commands. Submissions run in the order
// of their numbers and primary command buffers in the order of their positions. The commands of a
// secondary command buffer precede the primary's command before which they ran.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/model/model.h"
#include "store/format/rows.h"

namespace tally::analysis {

// The position of a command within an execution.
struct CommandPosition {
  store::RowId execution = 0;
  int64_t position = 0;
  uint32_t command = 0;  // the caller's identifier
};

// Orders the commands of one submission. `commands` holds the commands of these executions in any
// order; the result holds each of them exactly once. Executions whose parent is unknown or that
// form a cycle run last.
std::vector<CommandPosition> in_execution_order(std::vector<store::ExecutionRow> executions,
                                                std::vector<CommandPosition> commands);

// The timeline of the GPU: passes, and commands outside of passes, by the device's clock.

struct GpuSpan {
  int64_t begin_ns;
  int64_t end_ns;
  uint32_t frame;    // index into Model::frames
  uint32_t pass;     // index into Model::passes, or kNone
  uint32_t command;  // outside of passes: index into Model::commands; else kNone
};

// Ordered by begin; spans that begin together, the longer first. Those without a begin or a time
// are left out.
Result<std::vector<GpuSpan>> gpu_timeline(const Model& model);

// When passes, and commands outside of passes, ran on the GPU, and in which queue and command
// buffer.

struct GpuPlace {
  // Nanoseconds since the first time of the capture; NaN: not known.
  double begin = std::numeric_limits<double>::quiet_NaN();
  double end = std::numeric_limits<double>::quiet_NaN();
  uint32_t queue = kNone;           // into GpuPlaces::queues
  uint32_t command_buffer = kNone;  // into GpuPlaces::command_buffers
};

struct GpuPlaces {
  std::vector<std::string> queues;
  std::vector<std::string> command_buffers;         // of each execution of a primary one
  std::vector<GpuPlace> passes;                     // by pass
  std::unordered_map<uint32_t, GpuPlace> commands;  // by command, those outside of passes
  std::vector<GpuSpan> spans;

  // None where the span is not known.
  const GpuPlace& of(const GpuSpan& span) const {
    return span.pass != kNone ? passes[span.pass] : commands.at(span.command);
  }
};

Result<GpuPlaces> find_gpu_places(const Model& model);

// Finds the commands, passes and frames that used a pipeline for the first time in the capture.
// Some drivers compile a pipeline on first use, so the GPU time measured around that use includes
// the compilation.

struct FirstUses {
  std::vector<bool> commands;  // by command
  std::vector<bool> passes;    // by pass: it contains such a command
  std::vector<bool> frames;    // by frame: it contains such a command
};

// Indexed by pipeline: whether a frame before the selected frames used it.
Result<std::vector<bool>> pipelines_used_before(const Model& model);

// Takes into account the pipelines that were used before the selected frames (Model::used_before).
FirstUses find_first_uses(const Model& model);

}  // namespace tally::analysis
