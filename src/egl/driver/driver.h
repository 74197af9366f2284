// The real EGL implementation behind our entry points: its EGL and GL functions, and the counters
// it lists. Lives as long as the library (lifetime.h), because stubs and threads hold pointers to
// it.
#pragma once

#include <EGL/egl.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>

#include "egl/gl/driver_counters.h"
#include "egl/gl/hot.h"
#include "egl/gl/raw.h"

namespace tally::egl {

// The EGL functions that Tally intercepts (functions.def): indices and names.

enum class EglFn : uint8_t {
#define EGL(function, handler) function,
#include "egl/front/functions.def"
#undef EGL
};

inline constexpr size_t kEglFnCount = 0
#define EGL(function, handler) +1
#include "egl/front/functions.def"
#undef EGL
    ;

const char* name_of(EglFn function);
std::optional<EglFn> find_egl_function(std::string_view name);

class Driver {
 public:
  virtual ~Driver() = default;

  // Returns the driver's function of this name, or null. Performs a lookup on each call.
  virtual AnyFunction resolve(const char* name) const = 0;

  // The API that eglBindAPI last bound in the calling thread.
  virtual EGLenum current_api() const = 0;

  // The driver's versions of the EGL functions that we intercept; null for those it lacks.
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

  // For our own calls in this driver's contexts.
  const RawGl& raw() {
    std::call_once(raw_once_,
                   [this] { raw_ = RawGl::load([this](const char* n) { return resolve(n); }); });
    return raw_;
  }

  // The counters that the driver lists in a context; empty until set_counters(), which may be
  // called once.
  std::shared_ptr<const DriverCounters> counters() const {
    const std::lock_guard lock(counters_mutex_);
    return counters_;
  }
  void set_counters(DriverCounters counters) {
    const std::lock_guard lock(counters_mutex_);
    counters_ = std::make_shared<const DriverCounters>(std::move(counters));
  }

 private:
  // Looks up a function that is not in the table yet, because the program may open its EGL later.
  virtual AnyFunction find_late(EglFn) const { return nullptr; }

  std::array<std::atomic<AnyFunction>, kEglFnCount> egl_{};
  GlTable gl_;
  std::once_flag raw_once_;
  RawGl raw_;
  mutable std::mutex counters_mutex_;
  std::shared_ptr<const DriverCounters> counters_ = std::make_shared<const DriverCounters>();
};

}  // namespace tally::egl
