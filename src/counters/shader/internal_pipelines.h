// Compute pipelines of the layer. Their only input is an address in a push constant, in the bytes
// that the layer reserves in the application's layouts (objects/pipeline_layout.h). So they change
// nothing but the bound compute pipeline and those bytes.
#pragma once

#include <span>

#include "counters/base/device_table.h"

namespace tally::counters {

class InternalPipelines {
 public:
  // `push_offset`: of the 8 bytes in the push constants.
  InternalPipelines(VkDevice device, const DeviceTable& next, uint32_t push_offset)
      : device_(device), next_(next), push_offset_(push_offset) {}
  ~InternalPipelines();
  InternalPipelines(const InternalPipelines&) = delete;
  InternalPipelines& operator=(const InternalPipelines&) = delete;

  // Creates `pipeline` if it is null. The caller owns it and destroys it before this object. The
  // code has its push constant at byte 96. `constants` are the specialization constants from ID 0
  // on.
  VkResult make(std::span<const uint32_t> code, std::span<const uint32_t> constants,
                VkPipeline& pipeline);
  void destroy(VkPipeline pipeline) const;

  // Binds the pipeline and pushes the address, for the dispatch that follows.
  void use(VkCommandBuffer commands, VkPipeline pipeline, uint64_t address) const;

 private:
  VkResult make_layout();

  VkDevice device_;
  const DeviceTable& next_;
  uint32_t push_offset_;
  VkPipelineLayout layout_ = VK_NULL_HANDLE;
};

}  // namespace tally::counters
