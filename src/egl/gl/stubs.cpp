// The stub of each function in functions.def. When nothing is collected, it reads two words and
// jumps to the driver.

#include "egl/gl/functions.h"
#include "egl/gl/headers.h"
#include "egl/gl/hot.h"
#include "egl/gl/observe.h"

namespace tally::egl {
namespace {

template <typename Handler>
concept Always = requires {
  requires Handler::kAlways;
};
template <typename Handler>
concept MakesWork = requires {
  requires Handler::kWork;
};
template <typename Handler>
concept Timed = requires {
  Handler::kTime;
};

template <typename Handler, typename Result, typename... Arguments>
[[gnu::noinline]] Result observed(HotThread& thread, Result (*real)(Arguments...),
                                  Arguments... arguments) {
  note_call();
  Call call(thread);
  Handler::count(call, arguments...);
  if constexpr (MakesWork<Handler>) {
    if ((collecting() & kCollectGpu) && thread.context != nullptr) thread.context->before_work();
  }
  if constexpr (Timed<Handler>) {
    const TimedCall timed(call, Handler::kTime);
    return real(arguments...);
  } else {
    return real(arguments...);
  }
}

template <Fn kFunction, typename Handler, typename Signature>
struct Stub;

template <Fn kFunction, typename Handler, typename Result, typename... Arguments>
struct Stub<kFunction, Handler, Result(Arguments...)> {
  static Result call(Arguments... arguments) noexcept {
    if constexpr (!Always<Handler>) {
      const GlTable* const only = g_only_table.load(std::memory_order_acquire);
      if (collecting() == 0 && only != nullptr) [[likely]]
        return reinterpret_cast<Result (*)(Arguments...)>((*only)[kFunction])(arguments...);
    }
    HotThread& thread = t_hot;
    const auto real = reinterpret_cast<Result (*)(Arguments...)>((*thread.gl)[kFunction]);
    if constexpr (Always<Handler>) {
      note_call();
      return Handler::run(thread, real, arguments...);
    } else {
      if (collecting() == 0) [[likely]]
        return real(arguments...);
      return observed<Handler>(thread, real, arguments...);
    }
  }
};

using namespace observe;

}  // namespace

// For exports.S, which refers to it by name.
extern "C" const AnyFunction tally_egl_gl_stubs[kFnCount];
const AnyFunction tally_egl_gl_stubs[kFnCount] = {
#define GL(function, handler) \
  reinterpret_cast<AnyFunction>(&Stub<Fn::function, handler, decltype(::function)>::call),
#include "egl/gl/functions.def"
#undef GL
};

AnyFunction stub_of(Fn function) { return tally_egl_gl_stubs[static_cast<size_t>(function)]; }

}  // namespace tally::egl
