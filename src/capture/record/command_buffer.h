// The contents of a command buffer between vkBeginCommandBuffer and its next reset: how many
// commands, their recordings if there are any, and how they are used. There is one recording, and
// where frames end at labels a further one after each label that may end a frame. Contents without
// a recording cost what they cost without the layer; if they are executed in a captured frame,
// their commands are missing from the capture. One thread records; executions may come from several
// threads.
#pragma once

#include <tally/vulkan_generated.h>
#include <vulkan/vulkan_core.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "capture/record/descriptor_sizes.h"
#include "capture/record/pass_recorder.h"
#include "capture/record/recording.h"
#include "capture/record/shaders.h"
#include "store/format/definition_rows.h"
#include "vk/pipeline.h"

namespace tally::capture {

// A submission of contents, and what it shows.
struct ContentsUse {
  int64_t frame = 0;
  bool captured = false;
  int64_t lag = 0;            // frames since the recording of contents that are submitted once
  uint64_t not_recorded = 0;  // commands
};

// Labels that end at the end of a part, where frames end at labels.
struct PartEnd {
  uint32_t begun_before = 0;  // labels that another command buffer has begun
  bool outermost = false;  // one that ends a frame, unless another command buffer has an open one

  bool any() const { return begun_before != 0 || outermost; }
};

struct RecordedPart {
  std::shared_ptr<Recording> recording;  // null: not recorded
  PartEnd end;

  bool empty() const { return !recording || recording->empty(); }
};

class Contents {
 public:
  Contents(int64_t frame, bool once) : begin_frame_(frame), once_(once), parts_(1) {}

  // `in_copy`: the recording belongs to a counting copy; the command buffer itself has none.
  void set_recording(std::shared_ptr<Recording> recording, bool in_copy) {
    parts_.back().recording = std::move(recording);
    in_copy_ = in_copy;
  }
  // Later commands are in another part.
  void begin_part(const PartEnd& end, std::shared_ptr<Recording> next) {
    parts_.back().end = end;
    parts_.push_back({std::move(next), {}});
  }
  void end_last_part(const PartEnd& end, std::vector<bool> left_open) {
    parts_.back().end = end;
    left_open_ = std::move(left_open);
  }
  // The recordings are incomplete. The caller keeps them while the GPU may use them.
  std::vector<RecordedPart> drop_recordings() {
    std::vector<RecordedPart> dropped = parts_;
    for (RecordedPart& part : parts_) part.recording.reset();
    in_copy_ = false;
    return dropped;
  }
  void add_command() { ++commands_; }
  void add_secondary(std::shared_ptr<Contents> secondary) {
    secondaries_.push_back(std::move(secondary));
  }

  const std::vector<RecordedPart>& parts() const { return parts_; }
  // Labels that are open at the end: whether each one ends a frame.
  const std::vector<bool>& left_open() const { return left_open_; }
  // True if a submission executes the recordings, in frames that are captured or not.
  bool executes_recordings(bool captured) const { return captured || !in_copy_; }
  // True if commands may be missing from a captured frame.
  bool holds_unrecorded() const {
    return !parts_.front().recording && (commands_ != 0 || !secondaries_.empty());
  }
  bool used() const { return used_.load(std::memory_order_relaxed); }
  // Executed more than once, or executed in a captured frame without a recording.
  bool needs_recording() const { return needs_recording_.load(std::memory_order_relaxed); }

  void submit(ContentsUse& use) { submit(use, true, use.captured); }

 private:
  // `listed`: the capture lists what executes these contents. `counted`: that is instrumented.
  void submit(ContentsUse& use, bool listed, bool counted) {
    const bool again = used_.exchange(true, std::memory_order_relaxed);
    const bool recorded = parts_.front().recording != nullptr;
    listed = listed && recorded;
    if (again || (use.captured && !listed)) {
      needs_recording_.store(true, std::memory_order_relaxed);
    }
    if (once_ && !again) use.lag = std::max(use.lag, use.frame - begin_frame_);
    if (!listed) use.not_recorded += commands_;
    counted = recorded && (counted || !in_copy_);
    if (counted && !(use.captured && listed)) {
      for (const RecordedPart& part : parts_) part.recording->executed_uncaptured();
    }
    for (const auto& secondary : secondaries_) secondary->submit(use, listed, counted);
  }

  const int64_t begin_frame_;
  const bool once_;                  // expected to be submitted once
  std::vector<RecordedPart> parts_;  // in order; never empty
  std::vector<bool> left_open_;
  bool in_copy_ = false;
  uint64_t commands_ = 0;
  std::vector<std::shared_ptr<Contents>> secondaries_;
  std::atomic<bool> used_ = false;
  std::atomic<bool> needs_recording_ = false;
};

// The counting copy of a command buffer: a second Vulkan command buffer of the same pool and level.
// It takes the same commands, with instrumentation. Submissions of captured frames execute it in
// place of the application's command buffer, which has no instrumentation then.
//
// Externally synchronised, like the command buffer and its pool.

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

// The pipelines that are bound in a command buffer: those of the application, the sets of shader
// objects that stand for one, and execution sets. Externally synchronised, like the command buffer.

class RecordingContext;

class BoundPipelines {
 public:
  explicit BoundPipelines(RecordingContext& context) : context_(context) {}

  void reset();
  // Returns what is bound, or null.
  const Pipeline* bind(VkPipelineBindPoint bind_point, VkPipeline pipeline);
  // Binds something that the capture does not count.
  void bind_unknown(VkPipelineBindPoint bind_point);
  // A null pointer stands for null handles.
  void bind_shaders(uint32_t count, const VkShaderStageFlagBits* stages,
                    const VkShaderEXT* shaders);
  // Sets what the next generated commands run: the bound pipeline, or a set that is not null.
  void set_generated(VkPipelineBindPoint bind_point, VkIndirectExecutionSetEXT set);
  // A command sets how vertices become primitives.
  void set_assembly(const PrimitiveAssembly& set) { assembly_.update(set); }
  // Draws have this; a pipeline has set it, too.
  const PrimitiveAssembly& assembly() const { return assembly_; }

  // The pipeline that a command runs. Null: nothing is bound.
  const std::shared_ptr<Pipeline>& pipeline_for(store::Function function);

 private:
  void note_bound(const std::shared_ptr<Pipeline>& pipeline);
  const std::shared_ptr<Pipeline>& bound_at(VkPipelineBindPoint bind_point);
  void forget_shaders(VkPipelineBindPoint bind_point);

  RecordingContext& context_;
  std::array<std::shared_ptr<Pipeline>, vk::kBindPoints.size()> bound_;
  BoundShaders shaders_;  // of the bind points without a pipeline
  std::array<bool, vk::kBindPoints.size()> uses_shaders_{};
  // Shaders were bound, and bound_ does not have their set yet.
  std::array<bool, vk::kBindPoints.size()> new_shaders_{};
  std::shared_ptr<Pipeline> generated_;  // what the next generated commands run
  PrimitiveAssembly assembly_;
};

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
// twice: the application's own without instrumentation, and a counting copy.
//
// Externally synchronised, like the command buffer.

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
  std::optional<TimeIndex> before_action(store::Function function,
                                         std::initializer_list<int64_t> parameters);
  void after_action(store::Function function, std::optional<TimeIndex> time);
  // Call this before a command that may run shaders and that the capture cannot count.
  void before_unknown_action(const char* name);
  // Call this before any other command that the GPU executes: a copy, for example.
  void before_other_work() {
    if (recording_) recording_->timestamps.separate();
  }

  // Push constants, or push data, that compute shaders see.
  void push(uint32_t offset, std::span<const std::byte> values) {
    if (recording_) push_constants_.push(offset, values);
  }
  // Push constants that they may see or not.
  void push_unknown(uint32_t offset, uint32_t size) {
    if (recording_) push_constants_.push_unknown(offset, size);
  }
  // The descriptor sets that compute shaders see. Null while they do not matter.
  BoundSets* sets();

  // The commands in between run only if the device finds a value.
  void set_conditional(bool conditional) { conditional_ = conditional; }

  // Call this after a barrier between compute shaders.
  void after_compute_barrier() {
    if (recording_) recording_->timestamps.after_compute_barrier();
  }

  void before_begin_pass(const VkRenderPassBeginInfo& info, VkSubpassContents contents);
  void before_next_subpass(VkSubpassContents contents);
  void before_end_pass();
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
  void copy_times();
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
  Launch* find_launch(store::Function function, std::initializer_list<int64_t> parameters,
                      const Pipeline& pipeline) const;
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
  PushConstants push_constants_;
  BoundSets sets_;
  bool conditional_ = false;
  bool times_repetitions_ = false;  // all of them
  LabelStack labels_;

  // Where frames end at labels. They also do where nothing is recorded.
  FrameLabels frame_labels_;
  PartEnd part_end_;  // what has ended since the last part began
  bool in_pass_ = false;
  bool suspends_pass_ = false;
  bool between_passes_ = false;  // suspended ones
};

}  // namespace tally::capture
