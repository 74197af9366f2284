// The counting copy of a command buffer: a second Vulkan command buffer of the same pool and level.
// It takes the same commands, with instrumentation. Submissions of captured frames execute it in
// place of the application's command buffer, which has no instrumentation then.
//
// Externally synchronised, like the command buffer and its pool.
#pragma once

#include <vulkan/vulkan_core.h>

namespace tally::capture {

class RecordingContext;

class CountingCopy {
 public:
  CountingCopy(RecordingContext& context, VkCommandPool pool, VkCommandBufferLevel level)
      : context_(context), pool_(pool), level_(level) {}
  CountingCopy(const CountingCopy&) = delete;
  CountingCopy& operator=(const CountingCopy&) = delete;

  VkCommandBuffer handle() const { return handle_; }
  // Between begin() and end() or abandon(): every command goes to the copy, too.
  bool recording() const { return state_ == State::Recording; }

  // Call these when the application's command buffer has been begun, ended or reset. They return
  // false if the driver failed; the copy is then not recorded.
  bool begin(const VkCommandBufferBeginInfo& info);
  bool end();
  void reset(VkCommandBufferResetFlags flags);
  void pool_was_reset();
  // Stops recording in the middle.
  void abandon();
  // Frees it. The pool still exists, and no submission that executes the copy is pending.
  void release();

 private:
  enum class State { Initial, Recording, Complete, Abandoned };

  bool allocate();

  RecordingContext& context_;
  const VkCommandPool pool_;
  const VkCommandBufferLevel level_;
  VkCommandBuffer handle_ = VK_NULL_HANDLE;
  State state_ = State::Initial;
};

}  // namespace tally::capture
