// The real EGL that stands behind one of our entry points: its functions, EGL's and GL's, and what
// it lists of its own. Lives as long as the process, since stubs and threads hold pointers into it.
#pragma once

#include <EGL/egl.h>

#include <array>
#include <atomic>
#include <memory>
#include <mutex>

#include "egl/front/functions.h"
#include "egl/gl/driver_counters.h"
#include "egl/gl/hot.h"
#include "egl/gl/raw.h"

namespace tally::egl {

class Driver {
 public:
  virtual ~Driver() = default;

  // The driver's own function of this name, null if it has none. Looks it up each time.
  virtual AnyFunction resolve(const char* name) const = 0;

  // What eglBindAPI last bound in the calling thread.
  virtual EGLenum current_api() const = 0;

  // Its EGL functions that we stand in front of; null entries where it has none.
  AnyFunction egl(EglFn function) const {
    const AnyFunction known = egl_[static_cast<size_t>(function)].load(std::memory_order_acquire);
    return known != nullptr ? known : find_late(function);
  }
  void load_egl() {
    for (size_t i = 0; i < kEglFnCount; i++) {
      egl_[i].store(resolve(name_of(static_cast<EglFn>(i))), std::memory_order_release);
    }
  }
  void set_egl(EglFn function, AnyFunction real) {
    egl_[static_cast<size_t>(function)].store(real, std::memory_order_release);
  }

  GlTable& gl() { return gl_; }

  // For our own calls in a context of this driver.
  const RawGl& raw() {
    std::call_once(raw_once_,
                   [this] { raw_ = RawGl::load([this](const char* n) { return resolve(n); }); });
    return raw_;
  }

  // The counters that it lists in a context; empty until set_counters(). Set once.
  std::shared_ptr<const DriverCounters> counters() const {
    const std::lock_guard lock(counters_mutex_);
    return counters_;
  }
  void set_counters(DriverCounters counters) {
    const std::lock_guard lock(counters_mutex_);
    counters_ = std::make_shared<const DriverCounters>(std::move(counters));
  }

 private:
  // A function that is not entered yet, for an EGL that the program may open later.
  virtual AnyFunction find_late(EglFn) const { return nullptr; }

  std::array<std::atomic<AnyFunction>, kEglFnCount> egl_{};
  GlTable gl_;
  std::once_flag raw_once_;
  RawGl raw_;
  mutable std::mutex counters_mutex_;
  std::shared_ptr<const DriverCounters> counters_ = std::make_shared<const DriverCounters>();
};

}  // namespace tally::egl
