#include "capture/testing/client_kit.h"

namespace tally::test {

void set_name(const Context& context, VkObjectType type, const void* handle, const char* name) {
  const VkDebugUtilsObjectNameInfoEXT info{VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT,
                                           nullptr, type, reinterpret_cast<uint64_t>(handle), name};
  context.function<PFN_vkSetDebugUtilsObjectNameEXT>("vkSetDebugUtilsObjectNameEXT")(
      context.device(), &info);
}

void submit(const Context& context, std::vector<VkCommandBuffer> commands, VkFence fence) {
  VkSubmitInfo info{VK_STRUCTURE_TYPE_SUBMIT_INFO};
  info.commandBufferCount = static_cast<uint32_t>(commands.size());
  info.pCommandBuffers = commands.data();
  check(vkQueueSubmit(context.queue(), 1, &info, fence));
}

}  // namespace tally::test
