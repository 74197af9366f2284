// What `tally run` makes of an EGL program: all its counters, frame by frame, sent to the receiver
// that TALLY_CAPTURE_SOCKET names. Without a receiver each of these is one test of a constant.
//
// A frame is from one swap in the process to the next, whichever thread and surface swaps; the
// first begins when a context first becomes current, the last, open one ends with the process. At
// each swap the profile waits for the GPU, so that a frame has the results of its own work.
//
// An application that acquires the counters itself has them to itself: the profile pauses until
// they are released, and the capture says so.
#pragma once

namespace tally::egl {

class Profile {
 public:
  // Somebody wants a profile of this process.
  static bool wanted() { return wanted_; }

  // A context has just become current in the calling thread.
  static void context_is_current() noexcept;
  // The calling thread has swapped.
  static void swapped() noexcept;

 private:
  static const bool wanted_;
};

}  // namespace tally::egl
