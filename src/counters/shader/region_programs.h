// The two compute pipelines of counters by region (glsl/region_*.comp), made when first needed.
// They take one address in a push constant, in bytes that the layer has for itself in the layouts
// of the application (state/pipeline_layout.h), and no descriptors: using them disturbs nothing but
// the bound pipeline. Thread-safe.
#pragma once

#include <mutex>
#include <span>

#include "counters/device_table.h"

namespace tally::counters {

class RegionPrograms {
 public:
  // `push_offset`: of 8 bytes in the push constants.
  RegionPrograms(VkDevice device, const DeviceTable& next, uint32_t push_offset)
      : device_(device), next_(next), push_offset_(push_offset) {}
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
  VkResult make_layout();
  VkResult make_pipeline(std::span<const uint32_t> code, VkPipeline& pipeline) const;
  void push(VkCommandBuffer commands, VkPipeline pipeline, uint64_t address) const;

  VkDevice device_;
  const DeviceTable& next_;
  uint32_t push_offset_;
  std::mutex mutex_;  // while they are made
  VkPipelineLayout layout_ = VK_NULL_HANDLE;
  VkPipeline values_ = VK_NULL_HANDLE;
  VkPipeline links_ = VK_NULL_HANDLE;
};

}  // namespace tally::counters
