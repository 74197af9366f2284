// The compute pipelines of counters by region (glsl/region_*.comp), created at first use.
// Thread-safe.
#pragma once

#include <mutex>

#include "counters/shader/internal_pipelines.h"

namespace tally::counters {

class RegionPrograms {
 public:
  RegionPrograms(VkDevice device, const DeviceTable& next, const PushOffsets& offsets)
      : next_(next), programs_(device, next, offsets) {}
  ~RegionPrograms();
  RegionPrograms(const RegionPrograms&) = delete;
  RegionPrograms& operator=(const RegionPrograms&) = delete;

  VkResult prepare();

  // A workgroup processes kTile x kTile regions.
  static constexpr uint32_t kTile = 8;
  // Writes the values of the subpass with the RegionBlock at `block` to the application's buffers.
  void write_values(const InternalCommands& commands, VkDeviceAddress block, uint32_t columns,
                    uint32_t rows, uint32_t layers) const;
  // Links or unlinks the secondary command buffers of a list.
  void link(const InternalCommands& commands, VkDeviceAddress list, bool unlink) const;

 private:
  const DeviceTable& next_;
  std::mutex mutex_;  // held while pipelines are created
  InternalPipelines programs_;
  InternalPipeline values_;
  InternalPipeline links_;
};

}  // namespace tally::counters
