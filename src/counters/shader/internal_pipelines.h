// Compute programs of the layer's own. They take one address in a push constant, in bytes that the
// layer has for itself in the layouts of the application (objects/pipeline_layout.h), and no
// descriptors: using them disturbs nothing but the bound pipeline and those bytes.
#pragma once

#include <span>

#include "counters/layer/device_table.h"

namespace tally::counters {

class InternalPipelines {
 public:
  // `push_offset`: of 8 bytes in the push constants.
  InternalPipelines(VkDevice device, const DeviceTable& next, uint32_t push_offset)
      : device_(device), next_(next), push_offset_(push_offset) {}
  ~InternalPipelines();
  InternalPipelines(const InternalPipelines&) = delete;
  InternalPipelines& operator=(const InternalPipelines&) = delete;

  // Makes `pipeline` if it is null. Belongs to the caller, who destroys it before this. The source
  // has its push constant at byte 96, and the constants as specialization constants from 0 on.
  VkResult make(std::span<const uint32_t> code, std::span<const uint32_t> constants,
                VkPipeline& pipeline);
  void destroy(VkPipeline pipeline) const;

  // Binds the program and gives it the address; dispatch follows.
  void use(VkCommandBuffer commands, VkPipeline pipeline, uint64_t address) const;

 private:
  VkResult make_layout();

  VkDevice device_;
  const DeviceTable& next_;
  uint32_t push_offset_;
  VkPipelineLayout layout_ = VK_NULL_HANDLE;
};

}  // namespace tally::counters
