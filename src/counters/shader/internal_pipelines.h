// Compute pipelines of the layer. Their only input is an address in a push constant, in the bytes
// that the layer reserves in the application's layouts (objects/pipeline_layout.h). So they change
// nothing but the bound compute pipeline and those bytes.
//
// Push constants invalidate the descriptor heaps that are bound, and push data invalidate
// descriptor sets. So where descriptor heaps are enabled, each pipeline exists a second time, with
// heaps.
#pragma once

#include <span>

#include "counters/base/device_table.h"

namespace tally::counters {

// Where the 8 bytes of the address are.
struct PushOffsets {
  uint32_t constants = 0;
  uint32_t data = 0;
  bool heaps = false;  // descriptor heaps are enabled
};

struct InternalPipeline {
  VkPipeline sets = VK_NULL_HANDLE;
  VkPipeline heaps = VK_NULL_HANDLE;  // null where heaps are not enabled
};

// A command buffer that the layer records a dispatch into.
struct InternalCommands {
  VkCommandBuffer handle = VK_NULL_HANDLE;
  bool uses_heaps = false;  // it uses descriptor heaps
};

class InternalPipelines {
 public:
  InternalPipelines(VkDevice device, const DeviceTable& next, const PushOffsets& offsets)
      : device_(device), next_(next), offsets_(offsets) {}
  ~InternalPipelines();
  InternalPipelines(const InternalPipelines&) = delete;
  InternalPipelines& operator=(const InternalPipelines&) = delete;

  // Creates `pipeline` if it is null. The caller owns it and destroys it before this object. The
  // code has its push constant at byte 96. `constants` are the specialization constants from ID 0
  // on.
  VkResult make(std::span<const uint32_t> code, std::span<const uint32_t> constants,
                InternalPipeline& pipeline);
  void destroy(const InternalPipeline& pipeline) const;

  // Binds the pipeline and pushes the address, for the dispatch that follows.
  void use(const InternalCommands& commands, const InternalPipeline& pipeline,
           uint64_t address) const;

 private:
  VkResult make_layout();
  VkResult make_one(std::span<const uint32_t> code, std::span<const uint32_t> constants, bool heaps,
                    VkPipeline& pipeline);

  VkDevice device_;
  const DeviceTable& next_;
  PushOffsets offsets_;
  VkPipelineLayout layout_ = VK_NULL_HANDLE;
};

}  // namespace tally::counters
