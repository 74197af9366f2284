#include "egl/preload/libraries.h"

#include <EGL/egl.h>
#include <dlfcn.h>

#include <atomic>
#include <string_view>

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

}  // namespace tally::egl
