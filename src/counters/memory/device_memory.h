// The memory that the layer uses on one device. Each pool is thread-safe.
#pragma once

#include <mutex>

#include "counters/memory/record_pool.h"
#include "counters/memory/word_pool.h"

namespace tally::counters {

struct DeviceMemory {
  explicit DeviceMemory(const MemoryContext& memory_context)
      : context(memory_context),
        host_context(in_host_memory(memory_context)),
        records(context),
        host_pages(host_context),
        results(host_context, Chunk::Use::HostResults),
        words(context) {
    context.transfer_queue_mutex = &queue_mutex;
  }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  MemoryContext context;
  MemoryContext host_context;  // the same device, always in host-visible memory
  std::mutex queue_mutex;      // locked only where shares_queue()
  RecordPool records;
  RecordPool host_pages;
  RecordPool results;  // what the GPU gathers from records; in memory that the processor caches
  WordPool words;

  // True if the layer copies records on a queue that the application may use too.
  bool shares_queue() const { return context.mode == RecordMemory::Device; }

 private:
  static MemoryContext in_host_memory(MemoryContext memory) {
    memory.mode = RecordMemory::Host;
    memory.gathers = false;
    return memory;
  }
};

}  // namespace tally::counters
