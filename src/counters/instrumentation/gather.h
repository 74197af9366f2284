// Moves records to results, at the end of a primary command buffer: the GPU sums the shards, adds
// the sums to memory that the processor caches, and leaves zeros in the records. The host then
// reads a few bytes a command, over no bus, and the records' memory needs no other zeroing.
// Thread-safe.
//
// Executions of a command buffer follow each other, so each finds the records as it needs them. Not
// gathered, and read where they are, are the records of command buffers with simultaneous use and
// of secondary ones, and those that queries read too.
#pragma once

#include <memory>
#include <mutex>
#include <span>

#include "counters/instrumentation/object.h"
#include "counters/shader/internal_pipelines.h"

namespace tally::counters {

struct RecordedRange {
  std::shared_ptr<Instrumentation> object;
  RecordRange* range = nullptr;
};

class RecordGather {
 public:
  RecordGather(VkDevice device, const DeviceTable& next, const PushOffsets& offsets)
      : next_(next), programs_(device, next, offsets) {}
  ~RecordGather() { programs_.destroy(program_); }
  RecordGather(const RecordGather&) = delete;
  RecordGather& operator=(const RecordGather&) = delete;

  // Records it for the ranges, outside of a render pass. On failure they are read where they are.
  VkResult record(const InternalCommands& commands, std::span<const RecordedRange> ranges);

 private:
  VkResult prepare();

  const DeviceTable& next_;
  std::mutex mutex_;  // held while the pipeline is created
  InternalPipelines programs_;
  InternalPipeline program_;
};

}  // namespace tally::counters
