// One vkQueueSubmit call, or the part of it that is in one frame, from the submission until its
// values are read: what it executed, and which fence and semaphores signal its completion.
#pragma once

#include <vulkan/vulkan_core.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "capture/base/frames.h"
#include "capture/base/sender.h"

namespace tally::capture {

class Recording;

// One execution of a recording within a vkQueueSubmit call. A recording that is executed several
// times is read once: its first execution carries the values of all `runs`, also where the call has
// parts in several frames.
struct Execution {
  std::shared_ptr<Recording> recording;
  uint32_t runs = 1;
  std::optional<uint32_t> parent;  // index in Submission::executions
  uint32_t parent_command = 0;
  const Label* parent_label = nullptr;
  std::optional<uint32_t> parent_pass;
  uint32_t parent_subpass = 0;
};

struct Submission {
  Id queue = 0;
  uint32_t timestamp_bits = 0;
  Frames::Frame frame;
  bool captured = true;  // else it is only waited for, and its values are not read
  // Commands of command buffers that were not recorded, because no frame to capture was near.
  uint64_t not_recorded = 0;
  int64_t number = 0;
  int64_t time_ns = 0;
  LabelRef label;
  std::vector<Execution> executions;
  Submission* previous =
      nullptr;  // the part of the same call before this one; until it is submitted

  // Adds the recording of a command buffer and everything that it executes.
  void add(const std::shared_ptr<Recording>& recording);

  // Returns the number of executed commands, including those beyond the limit of a recording.
  uint64_t commands() const;

  template <typename Visit>
  void for_each_recording(Visit visit) const {
    for (const Execution& execution : executions) visit(*execution.recording, execution.runs);
  }

 private:
  Execution* find(const Recording& recording);
  void add_secondaries(const Recording& recording, uint32_t parent);
};

// The end of a frame, in order with the submissions of a queue.
struct FrameEnd {
  Frames::Frame frame;
  int64_t end_ns = 0;
  store::FrameEnd ended_by{};
};

// The work of a vkQueueSubmit call, with a part for each frame.
struct SubmittedParts {
  struct Part {
    Frames::Frame frame;
    std::unique_ptr<Submission> submission;   // null: nothing of it is captured
    std::optional<store::FrameEnd> ended_by;  // null: the frame goes on
    int64_t end_ns = 0;                       // of all but the last part
  };
  std::vector<Part> parts;
  bool executes_copies = false;  // some command buffers are counting copies

  bool captures() const {
    return std::ranges::any_of(parts, [](const Part& part) { return !!part.submission; });
  }
};

// An entry of a queue's list: a submission, or the end of a frame.
struct PendingSubmission {
  std::unique_ptr<Submission> submission;
  uint64_t commands = 0;  // of the submission
  std::optional<FrameEnd> frame_end;
  // The reader's timeline has it when the submission has completed; 0: no submission.
  uint64_t value = 0;
  std::vector<std::unique_ptr<Submission>>
      untracked;  // earlier ones; they have completed with this
  // With these the application can learn that the submission has completed.
  VkFence application_fence = VK_NULL_HANDLE;
  std::vector<std::pair<VkSemaphore, uint64_t>> timeline_signals;
};

}  // namespace tally::capture
