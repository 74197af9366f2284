// The function behind each stub until the real one is known: looks it up, enters it into the table,
// and calls it.

#include <array>

#include "egl/driver/driver.h"
#include "egl/front/thunks.h"
#include "egl/gl/headers.h"
#include "egl/preload/libraries.h"
#include "egl/preload/preload.h"

namespace tally::egl {
namespace {

template <Fn kFunction, typename Signature>
struct Lazy;

template <Fn kFunction, typename Result, typename... Arguments>
struct Lazy<kFunction, Result(Arguments...)> {
  static Result call(Arguments... arguments) {
    AnyFunction real = find_real(name_of(kFunction));
    if (real == nullptr) real = &tally_egl_do_nothing;
    driver_of_slot(0).gl().set(kFunction, real);
    g_default_table.set(kFunction, real);
    return reinterpret_cast<Result (*)(Arguments...)>(real)(arguments...);
  }
};

const std::array<AnyFunction, kFnCount> kLazy = {
#define GL(function, handler) \
  reinterpret_cast<AnyFunction>(&Lazy<Fn::function, decltype(::function)>::call),
#include "egl/gl/functions.def"
#undef GL
};

}  // namespace

AnyFunction lazy_gl(Fn function) { return kLazy[static_cast<size_t>(function)]; }

}  // namespace tally::egl
