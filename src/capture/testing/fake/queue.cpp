// Submissions, presents, and the ends of frames that the application marks.
#include <cstdio>
#include <cstdlib>

#include "capture/testing/fake/fake.h"
#include "vk/chain.h"

namespace tally::fake {
namespace {

// The driver below lacks the extension.
template <typename Info>
class WithoutBoundaries {
 public:
  WithoutBoundaries(uint32_t count, const Info* infos) : infos_(infos, infos + count) {
    for (Info& info : infos_) {
      const auto* boundary =
          vk::find_in_chain<VkFrameBoundaryEXT>(info.pNext, VK_STRUCTURE_TYPE_FRAME_BOUNDARY_EXT);
      if (!boundary) continue;
      note(*boundary);
      vk::ChainCopy& chain = chains_.emplace_back(info.pNext);
      chain.remove(VK_STRUCTURE_TYPE_FRAME_BOUNDARY_EXT);
      info.pNext = chain.head();
    }
  }
  const Info* get() const { return infos_.data(); }

 private:
  static void note(const VkFrameBoundaryEXT& boundary) {
    if (!has_boundaries()) return broken("a frame boundary reaches a driver without the extension");
    const char* path = std::getenv("FAKE_FRAME_ENDS");
    FILE* file = path && (boundary.flags & VK_FRAME_BOUNDARY_FRAME_END_BIT_EXT) != 0
                     ? std::fopen(path, "a")
                     : nullptr;
    if (!file) return;
    std::fputc('e', file);
    std::fclose(file);
  }

  std::vector<Info> infos_;
  std::vector<vk::ChainCopy> chains_;
};

VKAPI_ATTR VkResult VKAPI_CALL QueueSubmit(VkQueue queue, uint32_t count, const VkSubmitInfo* infos,
                                           VkFence fence) {
  {
    const std::lock_guard lock(state().mutex);
    for (uint32_t i = 0; i < count; ++i) {
      for (uint32_t j = 0; j < infos[i].commandBufferCount; ++j) run(infos[i].pCommandBuffers[j]);
    }
  }
  const WithoutBoundaries below(count, infos);
  return device_table(queue).QueueSubmit(queue, count, below.get(), fence);
}

VKAPI_ATTR VkResult VKAPI_CALL QueueSubmit2(VkQueue queue, uint32_t count,
                                            const VkSubmitInfo2* infos, VkFence fence) {
  {
    const std::lock_guard lock(state().mutex);
    for (uint32_t i = 0; i < count; ++i) {
      for (uint32_t j = 0; j < infos[i].commandBufferInfoCount; ++j)
        run(infos[i].pCommandBufferInfos[j].commandBuffer);
    }
  }
  const WithoutBoundaries below(count, infos);
  return device_table(queue).QueueSubmit2(queue, count, below.get(), fence);
}

// No test binds any memory, and not every queue of a driver may.
VKAPI_ATTR VkResult VKAPI_CALL QueueBindSparse(VkQueue, uint32_t count,
                                               const VkBindSparseInfo* infos, VkFence) {
  const WithoutBoundaries below(count, infos);
  return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL CreateSwapchainKHR(VkDevice, const VkSwapchainCreateInfoKHR*,
                                                  const VkAllocationCallbacks*,
                                                  VkSwapchainKHR* swapchain) {
  *swapchain = (VkSwapchainKHR)1;
  return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL DestroySwapchainKHR(VkDevice, VkSwapchainKHR,
                                               const VkAllocationCallbacks*) {}

VKAPI_ATTR VkResult VKAPI_CALL QueuePresentKHR(VkQueue, const VkPresentInfoKHR* info) {
  const WithoutBoundaries below(1, info);
  return VK_SUCCESS;
}

}  // namespace

void add_queue(Hooks& device) {
  device.push_back(vk::hook("vkQueueSubmit", QueueSubmit));
  device.push_back(vk::hook("vkQueueSubmit2", QueueSubmit2));
  device.push_back(vk::hook("vkQueueBindSparse", QueueBindSparse));
  device.push_back(vk::hook("vkCreateSwapchainKHR", CreateSwapchainKHR));
  device.push_back(vk::hook("vkDestroySwapchainKHR", DestroySwapchainKHR));
  device.push_back(vk::hook("vkQueuePresentKHR", QueuePresentKHR));
}

}  // namespace tally::fake
