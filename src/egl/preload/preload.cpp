#include "egl/preload/preload.h"

#include <EGL/egl.h>
#include <dlfcn.h>

#include <string_view>

#include "egl/driver/driver.h"
#include "egl/front/own_error.h"
#include "egl/front/thunks.h"
#include "egl/preload/libraries.h"
#include "egl/profile/profile.h"
#include "egl/session/entry_points.h"

namespace tally::egl {
namespace {

// The program's EGL implementation, whichever it is.
class PreloadedDriver final : public Driver {
 public:
  AnyFunction resolve(const char* name) const override { return find_real(name); }
  EGLenum current_api() const override {
    const auto query = reinterpret_cast<decltype(&::eglQueryAPI)>(find_real("eglQueryAPI"));
    return query != nullptr ? query() : EGL_OPENGL_ES_API;
  }

 private:
  AnyFunction find_late(EglFn function) const override { return find_real(name_of(function)); }
};

// Functions become known one by one; the first one found for a name is kept.
void set_gl(Fn function, AnyFunction real) {
  driver_of_slot(0).gl().set(function, real);
  g_default_table.set(function, real);
}

AnyFunction ours(std::string_view name) {
  if (name == "eglGetProcAddress") return reinterpret_cast<AnyFunction>(&::eglGetProcAddress);
  if (const AnyFunction entry = entry_point(name)) return entry;
  if (const auto function = find_egl_function(name)) return thunk_of(0, *function);
  if (const auto function = find_function(name)) return stub_of(*function);
  return nullptr;
}

struct Start {
  Start() {
    set_driver_of_slot(
        0, *new PreloadedDriver);  // never destroyed: threads may outlive static objects
    set_call_hooks(nullptr, set_own_error);
    for (size_t i = 0; i < kFnCount; i++) set_gl(static_cast<Fn>(i), lazy_gl(static_cast<Fn>(i)));
  }
};
// Runs before any other constructor of the program can use GL.
__attribute__((init_priority(101))) Start g_start;

__attribute__((destructor)) void at_exit() { Profile::end(); }

}  // namespace

bool is_ours(const char* name) noexcept {
  const std::string_view text = name;
  return (text.starts_with("gl") || text.starts_with("egl")) && ours(text) != nullptr;
}

void* look_up_ours(void* handle, const char* name) noexcept {
  // In the default search our own symbols come first, so the function exists only if a real one
  // follows them.
  void* const real = real_dlsym()(handle == RTLD_DEFAULT ? RTLD_NEXT : handle, name);
  const bool has_egl =
      real_dlsym()(handle == RTLD_DEFAULT ? RTLD_NEXT : handle, "eglInitialize") != nullptr;
  if (entry_point(name) != nullptr ? !has_egl : real == nullptr) return real;
  if (real != nullptr) {
    const auto address = reinterpret_cast<AnyFunction>(real);
    if (const auto function = find_egl_function(name))
      driver_of_slot(0).set_egl(*function, address);
    if (const auto function = find_function(name)) set_gl(*function, address);
  }
  return reinterpret_cast<void*>(ours(name));
}

}  // namespace tally::egl

extern "C" __attribute__((visibility("default")))
__eglMustCastToProperFunctionPointerType EGLAPIENTRY
eglGetProcAddress(const char* name) {
  using namespace tally::egl;
  take_own_error();
  const auto get = reinterpret_cast<decltype(&::eglGetProcAddress)>(find_real("eglGetProcAddress"));
  const AnyFunction real = get != nullptr && name != nullptr ? get(name) : nullptr;
  if (name == nullptr || !is_ours(name)) return real;
  if (entry_point(name) == nullptr && real == nullptr) return nullptr;
  if (const auto function = find_egl_function(name)) driver_of_slot(0).set_egl(*function, real);
  if (const auto function = find_function(name)) set_gl(*function, real);
  return ours(name);
}
