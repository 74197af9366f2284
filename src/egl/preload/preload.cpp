#include "egl/preload/preload.h"

#include <EGL/egl.h>
#include <dlfcn.h>

#include <array>
#include <atomic>
#include <string_view>

#include "egl/driver/driver.h"
#include "egl/front/thunks.h"
#include "egl/gl/raw.h"
#include "egl/profile/profile.h"
#include "egl/session/session.h"

namespace tally::egl {
namespace {

// Both names of each library: the one that distributions install, and the one that programs bundle.
constexpr const char* kLibraries[] = {"libEGL.so.1",       "libEGL.so",      "libGLESv2.so.2",
                                      "libGLESv2.so",      "libOpenGL.so.0", "libGL.so.1",
                                      "libGLESv1_CM.so.1", "libGLESv1_CM.so"};

void* find_in_open_libraries(const char* name) {
  for (const char* library : kLibraries) {
    void* const handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
    if (handle == nullptr) continue;
    void* const found = real_dlsym()(handle, name);
    dlclose(handle);  // the program's own reference keeps it open
    if (found != nullptr) return found;
  }
  return nullptr;
}

AnyFunction query_egl(const char* name) {
  if (std::string_view(name) == "eglGetProcAddress") return nullptr;
  const auto get = reinterpret_cast<decltype(&::eglGetProcAddress)>(find_real("eglGetProcAddress"));
  return get != nullptr ? get(name) : nullptr;
}

}  // namespace

DlSym real_dlsym() noexcept {
  static constinit std::atomic<DlSym> known{nullptr};
  if (const DlSym found = known.load(std::memory_order_relaxed)) return found;
  // glibc 2.34 moved dlsym into libc; before that, its symbol version is the architecture's oldest.
  void* found = nullptr;
  for (const char* version : {"GLIBC_2.34", "GLIBC_2.17", "GLIBC_2.2.5"}) {
    if (found == nullptr) found = dlvsym(RTLD_NEXT, "dlsym", version);
  }
  known.store(reinterpret_cast<DlSym>(found), std::memory_order_relaxed);
  return reinterpret_cast<DlSym>(found);
}

AnyFunction find_real(const char* name) {
  void* found = real_dlsym()(RTLD_NEXT, name);
  if (found == nullptr) found = find_in_open_libraries(name);
  return found != nullptr ? reinterpret_cast<AnyFunction>(found) : query_egl(name);
}

// The function behind each stub until the real one is known: looks it up, enters it into the table,
// and calls it.

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

namespace {

// True for code of NVIDIA's driver. Its Vulkan driver opens libEGL, and unloads it with the
// program's last instance. These calls are not the program's, and addresses in that library do not
// last.
bool is_driver(const void* code) noexcept {
  Dl_info found{};
  if (dladdr(code, &found) == 0 || found.dli_fname == nullptr) return false;
  const std::string_view path = found.dli_fname;
  return path.substr(path.find_last_of('/') + 1).find("nvidia") != std::string_view::npos;
}

}  // namespace

void* look_up_ours(void* handle, const char* name, const void* caller) noexcept {
  if (is_driver(caller)) return real_dlsym()(handle == RTLD_DEFAULT ? RTLD_NEXT : handle, name);
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
