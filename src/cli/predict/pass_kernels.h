// Render passes that run kernels as fragment shaders.
#pragma once

#include <vulkan/vulkan_core.h>

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "cli/predict/vulkan_functions.h"

namespace tally::cli {

// One render pass: it clears `size` x `size` pixels and stores them.
struct KernelPass {
  uint32_t size = 0;
  uint32_t draws = 0;
  uint32_t first_vertex =
      0;                  // 0: the first triangle covers the pass; otherwise none covers a pixel
  uint32_t vertices = 3;  // of a draw
};

class PassKernels {
 public:
  static constexpr uint32_t kSize = 1024;  // of the picture; the largest `size`
  static constexpr VkFormat kFormat = VK_FORMAT_R8G8B8A8_UNORM;

  // The picture's `view`, the device and its functions outlive this.
  Status create(const DeviceFunctions& vk, VkDevice device, VkImageView view,
                VkPipelineLayout layout);
  void destroy();

  // The fragment shader `words` behind vertices that count nothing. It lives until destroy().
  Result<VkPipeline> make(std::span<const uint32_t> words);
  // Descriptors and push constants are set; `pipeline` may be null where nothing is drawn.
  void record(VkCommandBuffer commands, VkPipeline pipeline, const KernelPass& pass) const;

 private:
  const DeviceFunctions* vk_ = nullptr;
  VkDevice device_ = VK_NULL_HANDLE;
  VkPipelineLayout layout_ = VK_NULL_HANDLE;
  VkRenderPass pass_ = VK_NULL_HANDLE;
  VkFramebuffer framebuffer_ = VK_NULL_HANDLE;
  std::vector<VkPipeline> pipelines_;
};

}  // namespace tally::cli
