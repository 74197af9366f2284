// The render passes of a command buffer during recording: which one is open, and where commands
// belong. It keeps the passes' description in a Recording, asks for their values by region, and
// times what is outside of suspended passes.
//
// Externally synchronised, like the command buffer.
#pragma once

#include <vulkan/vulkan_core.h>

#include <optional>

#include "capture/base/capture_settings.h"
#include "capture/record/timestamps.h"

namespace tally::capture {

struct CommandRun;
struct Label;
struct RecordedPass;
struct RecordedRegions;
class Recording;
class RecordingContext;

// Receives the description of a pass, and the commands that belong to it.
struct PassTarget {
  Recording& recording;
  VkCommandBuffer commands = VK_NULL_HANDLE;  // with the instrumentation
  const Label* label = nullptr;               // the innermost one
};

class PassRecorder {
 public:
  enum class Scope { Outside, Inline, Secondaries };

  PassRecorder(RecordingContext& context, Times times, bool can_count_regions)
      : context_(context), times_(times), can_count_regions_(can_count_regions) {}

  // `inherits`: the command buffer is a secondary inside of this pass. `once`: it is
  // probably executed at most once.
  void reset(const VkCommandBufferInheritanceInfo* inherits, bool once);

  void begin(const PassTarget& to, const VkRenderPassBeginInfo& info, VkSubpassContents contents);
  void next_subpass(VkSubpassContents contents);
  // Before and after the command that ends the pass.
  void before_end(const PassTarget& to);
  void end(const PassTarget& to);
  void begin_rendering(const PassTarget& to, const VkRenderingInfo& info);
  void end_rendering(const PassTarget& to);
  // True if only secondaries have the commands of the pass that begins.
  static bool has_secondaries(const VkRenderingInfo& info);

  Scope scope() const { return scope_; }
  bool continues_parent() const { return continues_parent_; }
  bool can_count_regions() const { return can_count_regions_; }
  // The open pass will be suspended.
  bool suspending() const { return suspending_; }
  // Here nothing may be recorded but a pass that resumes.
  bool between_suspended() const { return between_suspended_; }
  // The open pass: its index in Recording::passes.
  std::optional<uint32_t> pass() const { return pass_; }
  uint32_t subpass() const { return subpass_; }
  // The values by region to request for the open pass. Null if there are none.
  const RecordedRegions* regions(const Recording& recording) const;
  void refuse_regions(Recording& recording) const;

  // Writes where the next command belongs.
  void place(CommandRun& command) const;
  // True if a part of the dispatches or passes that are alike may be timed for all. The live
  // counters add up all times, and a run that counts nothing wants them all.
  bool samples_times() const;
  // The time of a draw in the open pass, or of a command outside of passes; null if it is not
  // `timed`.
  std::optional<TimeIndex> begin_command_time(const PassTarget& to, bool timed);
  void end_command_time(const PassTarget& to, TimeIndex time, bool dispatches) const;

 private:
  std::optional<TimeIndex> begin_time(const PassTarget& to);
  PassSample* sample_of(const RecordedPass& pass) const;
  TimestampPlace timestamp_place() const;
  void begin_pass(const PassTarget& to, RecordedPass pass);
  void prepare_regions(const PassTarget& to, RecordedPass& pass, const void* chain,
                       uint32_t subpasses, bool whole);
  void take_picture(const PassTarget& to, RecordedPass& pass);

  RecordingContext& context_;
  const Times times_;
  const bool can_count_regions_;
  Scope scope_ = Scope::Outside;
  bool continues_parent_ = false;
  bool once_ = false;
  bool suspending_ = false;
  bool between_suspended_ = false;
  std::optional<uint32_t> pass_;
  std::optional<uint32_t> suspended_pass_;  // the pass that a resuming one continues
  uint32_t subpass_ = 0;
  uint32_t view_mask_ = 0;  // of the open or inherited pass, all subpasses
};

}  // namespace tally::capture
