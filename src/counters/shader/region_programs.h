// The two compute programs of counters by region (glsl/region_*.comp), made when first needed.
// Thread-safe.
#pragma once

#include <mutex>

#include "counters/shader/internal_pipelines.h"

namespace tally::counters {

class RegionPrograms {
 public:
  RegionPrograms(VkDevice device, const DeviceTable& next, uint32_t push_offset)
      : next_(next), programs_(device, next, push_offset) {}
  ~RegionPrograms();
  RegionPrograms(const RegionPrograms&) = delete;
  RegionPrograms& operator=(const RegionPrograms&) = delete;

  VkResult prepare();

  // Workgroups of kTile x kTile regions.
  static constexpr uint32_t kTile = 8;
  // Writes the application's values of the subpass whose block is at `block`.
  void write_values(VkCommandBuffer commands, VkDeviceAddress block, uint32_t columns,
                    uint32_t rows, uint32_t layers) const;
  // Links the secondary command buffers of a list, or unlinks them.
  void link(VkCommandBuffer commands, VkDeviceAddress list, bool unlink) const;

 private:
  const DeviceTable& next_;
  std::mutex mutex_;  // while they are made
  InternalPipelines programs_;
  VkPipeline values_ = VK_NULL_HANDLE;
  VkPipeline links_ = VK_NULL_HANDLE;
};

}  // namespace tally::counters
