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

constinit std::array<std::atomic<Driver*>, kMaxPlaces> g_drivers{};

template <size_t kPlace, EglFn kFunction, typename Handler, typename Signature>
struct Thunk;

template <size_t kPlace, EglFn kFunction, typename Handler, typename Result, typename... Arguments>
struct Thunk<kPlace, kFunction, Handler, Result(Arguments...)> {
  static Result call(Arguments... arguments) noexcept {
    if constexpr (kFunction != EglFn::eglGetError) take_own_error();
    Driver& driver = driver_at(kPlace);
    const auto real = reinterpret_cast<Result (*)(Arguments...)>(driver.egl(kFunction));
    return Handler::run(driver, real, arguments...);
  }
};

using ThunkRow = AnyFunction[kEglFnCount];

#define EGL(function, handler)   \
  reinterpret_cast<AnyFunction>( \
      &Thunk<kPlace, EglFn::function, handler, decltype(::function)>::call),
template <size_t kPlace>
const ThunkRow kThunks = {
#include "egl/front/functions.def"
};

}  // namespace

// The first slot's thunks. exports.S refers to this table by name.
constexpr size_t kPlace = 0;
extern "C" const ThunkRow tally_egl_thunks;
const ThunkRow tally_egl_thunks = {
#include "egl/front/functions.def"
};
#undef EGL

Driver& driver_at(size_t place) { return *g_drivers[place].load(std::memory_order_acquire); }

void set_driver_at(size_t place, Driver& driver) {
  g_drivers[place].store(&driver, std::memory_order_release);
}

AnyFunction thunk_of(size_t place, EglFn function) {
  const auto row = [&]<size_t... kPlace>(std::index_sequence<kPlace...>) {
    const ThunkRow* const rows[] = {&kThunks<kPlace>...};
    return rows[place];
  }
  (std::make_index_sequence<kMaxPlaces>());
  return (*row)[static_cast<size_t>(function)];
}

}  // namespace tally::egl
