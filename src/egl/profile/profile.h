// The profile that `tally run` takes of an EGL program: all counters, frame by frame, sent to the
// receiver that TALLY_CAPTURE_SOCKET names. Without a receiver each function only tests a constant.
//
// A frame extends from one swap in the process to the next, whichever thread and surface swaps. The
// first frame begins with the first GL call or swap; the last, incomplete frame ends with the
// process. A process that neither swaps nor calls GL is not profiled: NVIDIA's Vulkan driver makes
// a context current in every Vulkan program, and finding out what can be counted takes longer than
// some frames. At each swap the profile
// waits for the GPU, so each frame contains the results of its own work.
//
// An application that acquires the counters has exclusive use of them: the profile pauses until
// they are released, and the capture says so.
#pragma once

namespace tally::egl {

class Profile {
 public:
  // True if a profile of this process was requested.
  static bool wanted() { return wanted_; }

  // Call after a context has become current in the calling thread.
  static void context_is_current() noexcept;
  // Call before the first GL call after that.
  static void gl_is_called() noexcept;
  // Call after the calling thread has swapped.
  static void swapped() noexcept;
  // Call when the process ends or the library is unloaded.
  static void end() noexcept;

 private:
  static const bool wanted_;
};

}  // namespace tally::egl
