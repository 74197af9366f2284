// The state of a command buffer during recording. It wraps the recorded commands with shader
// instrumentation and timestamps where that is legal, and keeps their description in a Recording.
//
// Instrumentation begins before the first action command that needs it, or before its pipeline is
// bound, but there not where a command buffer may begin between suspended render pass instances:
// before its first action outside of a pass.
// Instrumentation ends before secondaries are executed, before a render pass is suspended, and at
// the end of the command buffer.
//
// Where frames end at labels, a label that ends outside of a render pass begins another recording;
// one that ends inside of a pass, or between suspended ones, does so after it.
//
// Where not all frames are captured, a command buffer that may be submitted again is recorded
// twice: the application's own without instrumentation, and a counting copy (counting_copy.h).
//
// Externally synchronised, like the command buffer.
#pragma once

#include <vulkan/vulkan_core.h>

#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "capture/recording/bound_pipelines.h"
#include "capture/recording/contents.h"
#include "capture/recording/counting_copy.h"
#include "capture/recording/label_stack.h"
#include "capture/recording/pass_recorder.h"
#include "capture/recording/recording.h"

namespace tally::capture {

class RecordingContext;

// The relevant properties of a command pool.
struct CommandPool {
  VkCommandPool handle = VK_NULL_HANDLE;
  VkQueueFlags queue_flags = 0;
  uint32_t timestamp_bits = 0;
  bool protected_memory = false;
  std::vector<VkCommandBuffer> buffers;  // externally synchronised, like the pool
};

class CommandBuffer {
 public:
  CommandBuffer(RecordingContext& context, VkCommandBuffer handle, bool primary,
                const CommandPool& pool);

  VkCommandBuffer handle() const { return handle_; }
  RecordingContext& context() const { return context_; }
  const DeviceTable& table() const { return table_; }
  const std::shared_ptr<Object>& object() const { return object_; }
  // Null: not captured.
  const std::shared_ptr<Contents>& contents() const { return contents_; }

  void begin(const VkCommandBufferBeginInfo& info);
  void end();
  void after_end();
  // The layer below did not count all commands of the recording, or none of the pass's regions.
  void note_uncounted(const std::string& why);
  void refuse_regions(const std::string& why);
  void reset();
  void reset(VkCommandBufferResetFlags flags);
  void pool_was_reset();
  void free_copy() { copy_.release(); }

  // The command buffer that has the instrumentation: the counting copy or the application's.
  VkCommandBuffer counting() const { return counting_; }
  // The counting copy if it takes the application's next command, too; else null.
  VkCommandBuffer copy() const {
    return copy_.recording() ? copy_.handle() : VkCommandBuffer{VK_NULL_HANDLE};
  }
  // Calls `call(command buffer, whether its contents are listed)` for each one that takes the
  // application's next command.
  template <typename Call>
  void record(const Call& call) const {
    const bool copied = copy_.recording();
    call(handle_, !copied && recording_);
    if (copied) call(copy_.handle(), true);
  }

  // The bound pipelines. Null while nothing is recorded.
  BoundPipelines* bound() { return recording_ ? &bound_ : nullptr; }
  // Call this before the command. A pipeline that is bound where nothing is counted needs a plain
  // version, so the instrumentation begins here if that is possible.
  void before_bind(VkPipelineBindPoint bind_point, VkPipeline pipeline);

  // Call these before and after an action command. The result of before_action is passed to
  // after_action.
  std::optional<TimestampPair> before_action(store::Function function,
                                             std::initializer_list<int64_t> parameters);
  void after_action(std::optional<TimestampPair> pair);
  // Call this before a command that may run shaders and that the capture cannot count.
  void before_unknown_action(const char* name);

  void before_begin_pass(const VkRenderPassBeginInfo& info, VkSubpassContents contents);
  void before_next_subpass(VkSubpassContents contents);
  void after_end_pass();
  void before_begin_rendering(const VkRenderingInfo& info);
  void before_end_rendering();
  void after_end_rendering();
  // The values by region to request for the pass that begins. Null if there are none.
  const RecordedRegions* regions() const;
  // For vkCmdExecuteCommands while there are contents(): call before_execute once, then execute
  // for each captured secondary, with its index.
  void before_execute(std::span<const VkCommandBuffer> secondaries);
  void execute(size_t index, const CommandBuffer& secondary);
  // The secondaries that counting() executes.
  const std::vector<VkCommandBuffer>& counting_secondaries() const { return secondaries_; }

  void push_label(const char* name);
  void pop_label();

 private:
  bool ends_at_labels() const;
  std::shared_ptr<Recording> make_recording();
  void begin_part();
  void enter_pass(bool suspending);
  void leave_pass();
  bool begin_counting(const VkCommandBufferBeginInfo& info, bool once);
  void abandon_copy();
  void tell_uncounted();
  // A second primary may not execute the same secondary, unless that allows simultaneous use.
  bool may_be_executed_twice() const { return counting_ != handle_ || simultaneous_; }
  bool measurable() const { return can_measure_ && !passes_.between_suspended(); }
  void activate();
  void deactivate();
  PassTarget target() { return {*recording_, counting_, label()}; }
  void after_begin_pass();
  const Label* label() const { return labels_.innermost().get(); }

  RecordingContext& context_;
  const DeviceTable& table_;
  const VkCommandBuffer handle_;
  const bool primary_;
  const bool can_measure_;
  const std::shared_ptr<Object> object_;
  std::shared_ptr<Contents> contents_;
  std::shared_ptr<Recording> recording_;  // of the contents' last part; null: not recorded
  bool used_once_ = false;                // so were the last contents that were used
  CountingCopy copy_;
  VkCommandBuffer counting_;
  bool simultaneous_ = false;
  std::vector<RecordedPart> abandoned_;  // their objects live until the copy is reset
  std::vector<VkCommandBuffer> secondaries_;

  bool active_ = false;
  bool refused_ = false;  // the driver created no instrumentation object
  bool needs_barrier_ = false;
  PassRecorder passes_;
  BoundPipelines bound_;
  LabelStack labels_;

  // Where frames end at labels. They also do where nothing is recorded.
  FrameLabels frame_labels_;
  PartEnd part_end_;  // what has ended since the last part began
  bool in_pass_ = false;
  bool suspends_pass_ = false;
  bool between_passes_ = false;  // suspended ones
};

}  // namespace tally::capture
