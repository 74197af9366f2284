// When passes, and commands outside of passes, ran on the GPU, and in which queue and command
// buffer.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/dataset/dataset.h"
#include "analysis/model/gpu_timeline.h"

namespace tally::analysis {

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

// The table of what encloses passes and commands in time: command buffers and labels.
DataTable span_table(const Model& model, const GpuPlaces& places, DataStrings& strings);

}  // namespace tally::analysis
