// Owns one device object and destroys it with its device. Converts to the plain handle.
#pragma once

#include <vulkan/vulkan.h>

#include <utility>

namespace tally::test {

template <typename T, auto kDestroy>
class Handle {
 public:
  Handle() = default;
  Handle(VkDevice device, T handle) : device_(device), handle_(handle) {}
  Handle(Handle&& other) noexcept
      : device_(other.device_), handle_(std::exchange(other.handle_, T(VK_NULL_HANDLE))) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Handle() { reset(); }

  void reset() {
    if (handle_ != VK_NULL_HANDLE)
      kDestroy(device_, std::exchange(handle_, T(VK_NULL_HANDLE)), nullptr);
  }
  T get() const { return handle_; }
  operator T() const { return handle_; }
  const T* address() const { return &handle_; }

 private:
  VkDevice device_ = VK_NULL_HANDLE;
  T handle_ = VK_NULL_HANDLE;
};

using ShaderModule = Handle<VkShaderModule, vkDestroyShaderModule>;
using Pipeline = Handle<VkPipeline, vkDestroyPipeline>;
using PipelineLayout = Handle<VkPipelineLayout, vkDestroyPipelineLayout>;
using PipelineCache = Handle<VkPipelineCache, vkDestroyPipelineCache>;
using SetLayout = Handle<VkDescriptorSetLayout, vkDestroyDescriptorSetLayout>;
using DescriptorPool = Handle<VkDescriptorPool, vkDestroyDescriptorPool>;
using RenderPass = Handle<VkRenderPass, vkDestroyRenderPass>;
using Framebuffer = Handle<VkFramebuffer, vkDestroyFramebuffer>;
using QueryPool = Handle<VkQueryPool, vkDestroyQueryPool>;
using CommandPool = Handle<VkCommandPool, vkDestroyCommandPool>;
using ImageView = Handle<VkImageView, vkDestroyImageView>;
using Sampler = Handle<VkSampler, vkDestroySampler>;
using Fence = Handle<VkFence, vkDestroyFence>;

}  // namespace tally::test
