// Deep copies of the create infos of pipelines and shader objects, for variants that are made
// later. Members that a driver ignores may be invalid and are left out, and so are those of no use
// to a variant: the modules of the stages (their SPIR-V is kept elsewhere), creation feedback,
// names.
#pragma once

#include <tally/vulkan_newer.h>
#include <vulkan/vulkan_core.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "counters/pipelines/pipeline_contents.h"

namespace tally::counters {

// The memory of one copy.
class KeptMemory {
 public:
  // `size` bytes, aligned for every type.
  void* take(size_t size);

  template <typename T>
  T* copy(const T* from, size_t count) {
    return count == 0 ? nullptr : static_cast<T*>(copy_bytes(from, count * sizeof(T)));
  }
  void* copy_bytes(const void* from, size_t size);

 private:
  std::vector<std::unique_ptr<std::byte[]>> blocks_;
  size_t used_ = 0;  // of the last block
  size_t size_ = 0;
};

// Makes all pointers of `info` point to copies in `memory`. Returns whether the layer knows all
// structs of its chains.
bool keep(KeptMemory& memory, VkComputePipelineCreateInfo& info);
// The chain of a stage or a shader object alone.
bool keep_shader_chain(KeptMemory& memory, const void*& chain);
// Leaves out the code, its entry point and its constants (ShaderOrigin).
bool keep(KeptMemory& memory, VkShaderCreateInfoEXT& info);
// `attachments`: those of the subpass, where the pipeline has a render pass object.
bool keep(KeptMemory& memory, VkGraphicsPipelineCreateInfo& info,
          const KeptRenderPass* render_pass);

}  // namespace tally::counters
