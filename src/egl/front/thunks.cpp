#define EGL_EGLEXT_PROTOTYPES 1

#include "egl/front/thunks.h"

#include <EGL/eglext.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <new>
#include <set>
#include <string>
#include <type_traits>
#include <utility>

#include "egl/driver/driver.h"
#include "egl/driver/lifetime.h"
#include "egl/gl/calls.h"
#include "egl/gl/context.h"
#include "egl/group/frames.h"
#include "egl/profile/profile.h"

namespace tally::egl {
namespace {

constinit thread_local std::optional<EGLint> t_error;

// The application keeps pointers to the strings.
struct LongerStrings {
  std::mutex mutex;
  std::set<std::string, std::less<>> strings;
};

}  // namespace

void set_own_error(EGLint error) { t_error = error; }
std::optional<EGLint> take_own_error() { return std::exchange(t_error, std::nullopt); }

const char* with_extension(const char* list) try {
  if (list == nullptr || has_word(list, kExtensionName)) return list;
  std::string longer = list;
  if (!longer.empty() && longer.back() != ' ') longer += ' ';
  longer += kExtensionName;
  static LongerStrings& all = kept(std::make_unique<LongerStrings>());
  const std::lock_guard lock(all.mutex);
  return all.strings.insert(std::move(longer)).first->c_str();
} catch (const std::bad_alloc&) {
  return list;
}

}  // namespace tally::egl

namespace tally::egl::intercept {

// The handlers of the EGL functions in functions.def: run(driver, real, arguments...). `real` may
// be null if the driver lacks the function; the handler then returns 0 (EGL_FALSE, no handle).

template <typename Result, typename... Arguments>
Result forward(Result (*real)(Arguments...), std::type_identity_t<Arguments>... arguments) {
  if (real == nullptr) return Result{};
  return real(arguments...);
}

struct Pass {
  static auto run(Driver&, auto real, auto... arguments) { return forward(real, arguments...); }
};

struct Initialize {
  static EGLBoolean run(Driver& driver, auto real, EGLDisplay display, EGLint* major,
                        EGLint* minor) {
    const EGLBoolean done = forward(real, display, major, minor);
    if (done) remember_display(driver, display);
    return done;
  }
};

struct Terminate {
  static EGLBoolean run(Driver& driver, auto real, EGLDisplay display) {
    if (t_hot.context != nullptr && t_hot.context->display() == display) resolve_current_context();
    forget_display(driver, display);
    drop_display(driver, display);
    return forward(real, display);
  }
};

struct MakeCurrent {
  static EGLBoolean run(Driver& driver, auto real, EGLDisplay display, EGLSurface draw,
                        EGLSurface read, EGLContext context) {
    const bool stays = t_hot.context != nullptr && &t_hot.context->driver() == &driver &&
                       t_hot.context->handle() == context;
    if (!stays) resolve_current_context();
    const EGLBoolean done = forward(real, display, draw, read, context);
    if (!done || stays) return done;
    set_current_context(driver, display, context);
    if (Profile::wanted() && t_hot.context != nullptr) Profile::context_is_current();
    return done;
  }
};

struct ReleaseThread {
  static EGLBoolean run(Driver& driver, auto real) {
    const bool ours = t_hot.context != nullptr && &t_hot.context->driver() == &driver;
    if (ours) resolve_current_context();
    const EGLBoolean done = forward(real);
    if (done && ours) set_current_context(driver, EGL_NO_DISPLAY, EGL_NO_CONTEXT);
    return done;
  }
};

struct DestroyContext {
  static EGLBoolean run(Driver& driver, auto real, EGLDisplay display, EGLContext context) {
    if (t_hot.context != nullptr && t_hot.context->handle() == context) resolve_current_context();
    // Before the driver frees the handle, because another thread may get it again at once.
    forget_context(driver, display, context);
    return forward(real, display, context);
  }
};

struct DestroySurface {
  static EGLBoolean run(Driver&, auto real, EGLDisplay display, EGLSurface surface) {
    frames().forget(surface);
    return forward(real, display, surface);
  }
};

struct Swap {
  static EGLBoolean run(Driver&, auto real, EGLDisplay display, EGLSurface surface, auto... rest) {
    if (t_hot.context != nullptr) t_hot.context->end_frame();
    if (!frames().active() && !Profile::wanted()) return forward(real, display, surface, rest...);
    const uint64_t begin = now_ns();
    const EGLBoolean done = forward(real, display, surface, rest...);
    if (!done) return done;
    frames().swapped(surface, begin, now_ns());
    if (Profile::wanted()) Profile::swapped();
    return done;
  }
};

// Waits for the GPU.
struct Wait {
  static auto run(Driver&, auto real, auto... arguments) {
    if (!(collecting() & kCollectApi)) return forward(real, arguments...);
    Call call(t_hot);
    call.add(ApiCounter::SyncCalls);
    const TimedCall timed(call, ApiCounter::SyncTime);
    return forward(real, arguments...);
  }
};
using ClientWait = Wait;

struct QueryString {
  static const char* run(Driver&, auto real, EGLDisplay display, EGLint name) {
    const char* const text = forward(real, display, name);
    return name == EGL_EXTENSIONS ? with_extension(text) : text;
  }
};

struct GetError {
  static EGLint run(Driver&, auto real) {
    const auto own = take_own_error();
    const EGLint drivers =
        forward(real);  // always queried: this older error is cleared in any case
    return own.value_or(drivers);
  }
};

}  // namespace tally::egl::intercept

namespace tally::egl {
namespace {

using namespace intercept;

constinit std::array<std::atomic<Driver*>, kMaxVendorSlots> g_drivers{};

template <size_t kSlot, EglFn kFunction, typename Handler, typename Signature>
struct Thunk;

template <size_t kSlot, EglFn kFunction, typename Handler, typename Result, typename... Arguments>
struct Thunk<kSlot, kFunction, Handler, Result(Arguments...)> {
  static Result call(Arguments... arguments) noexcept {
    if constexpr (kFunction != EglFn::eglGetError) take_own_error();
    Driver& driver = driver_of_slot(kSlot);
    const auto real = reinterpret_cast<Result (*)(Arguments...)>(driver.egl(kFunction));
    return Handler::run(driver, real, arguments...);
  }
};

using ThunkRow = AnyFunction[kEglFnCount];

#define EGL(function, handler)   \
  reinterpret_cast<AnyFunction>( \
      &Thunk<kSlot, EglFn::function, handler, decltype(::function)>::call),
template <size_t kSlot>
const ThunkRow kThunks = {
#include "egl/front/functions.def"
};

}  // namespace

// The first slot's thunks. exports.S refers to this table by name.
constexpr size_t kSlot = 0;
extern "C" const ThunkRow tally_egl_thunks;
const ThunkRow tally_egl_thunks = {
#include "egl/front/functions.def"
};
#undef EGL

Driver& driver_of_slot(size_t slot) { return *g_drivers[slot].load(std::memory_order_acquire); }

void set_driver_of_slot(size_t slot, Driver& driver) {
  g_drivers[slot].store(&driver, std::memory_order_release);
}

AnyFunction thunk_of(size_t slot, EglFn function) {
  const auto row = [&]<size_t... kSlot>(std::index_sequence<kSlot...>) {
    const ThunkRow* const rows[] = {&kThunks<kSlot>...};
    return rows[slot];
  }
  (std::make_index_sequence<kMaxVendorSlots>());
  return (*row)[static_cast<size_t>(function)];
}

}  // namespace tally::egl
