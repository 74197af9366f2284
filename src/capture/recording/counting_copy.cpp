#include "capture/recording/counting_copy.h"

#include "capture/recording/recording_context.h"
#include "vk/own_call.h"

namespace tally::capture {

bool CountingCopy::allocate() {
  if (handle_ != VK_NULL_HANDLE) return true;
  const VkCommandBufferAllocateInfo info{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, nullptr,
                                         pool_, level_, 1};
  VkCommandBuffer buffer = VK_NULL_HANDLE;
  const DeviceTable& table = context_.table();
  if (vk::own("vkAllocateCommandBuffers",
              table.AllocateCommandBuffers(context_.handle(), &info, &buffer)) != VK_SUCCESS) {
    return false;
  }
  if (!context_.initialize(buffer)) {
    table.FreeCommandBuffers(context_.handle(), pool_, 1, &buffer);
    return false;
  }
  handle_ = buffer;
  state_ = State::Initial;
  return true;
}

bool CountingCopy::begin(const VkCommandBufferBeginInfo& info) {
  if (!allocate()) return false;
  // In the middle of a recording it cannot be begun. Its pool allows the reset: otherwise the
  // application would have reset the pool.
  if (state_ == State::Abandoned) reset(0);
  if (vk::own("vkBeginCommandBuffer", context_.table().BeginCommandBuffer(handle_, &info)) !=
      VK_SUCCESS) {
    return false;
  }
  state_ = State::Recording;
  return true;
}

bool CountingCopy::end() {
  const bool ended =
      vk::own("vkEndCommandBuffer", context_.table().EndCommandBuffer(handle_)) == VK_SUCCESS;
  state_ = ended ? State::Complete : State::Abandoned;
  return ended;
}

void CountingCopy::reset(VkCommandBufferResetFlags flags) {
  if (handle_ == VK_NULL_HANDLE || state_ == State::Initial) return;
  const VkResult result =
      vk::own("vkResetCommandBuffer", context_.table().ResetCommandBuffer(handle_, flags));
  state_ = result == VK_SUCCESS ? State::Initial : State::Abandoned;
}

void CountingCopy::pool_was_reset() { state_ = State::Initial; }

void CountingCopy::abandon() {
  if (recording()) state_ = State::Abandoned;
}

void CountingCopy::release() {
  if (handle_ == VK_NULL_HANDLE) return;
  context_.table().FreeCommandBuffers(context_.handle(), pool_, 1, &handle_);
  handle_ = VK_NULL_HANDLE;
  state_ = State::Initial;
}

}  // namespace tally::capture
