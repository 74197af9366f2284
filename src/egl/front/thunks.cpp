#define EGL_EGLEXT_PROTOTYPES 1
#include "egl/front/thunks.h"

#include <EGL/egl.h>
#include <EGL/eglext.h>

#include <atomic>
#include <utility>

#include "egl/front/intercepts.h"

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
