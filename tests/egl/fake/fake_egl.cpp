// The EGL part of the fake vendor. Contexts are not checked; handles are numbers.
#include "fake_egl.h"

#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <glvnd/libeglabi.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include "fake_gl.h"

namespace tally::egl_test {
namespace {

thread_local EGLint t_error = EGL_SUCCESS;

#ifdef TALLY_SECOND_FAKE
constexpr EGLenum kPlatform = kSecondFakePlatform;
#else
constexpr EGLenum kPlatform = kFakePlatform;
#endif

void* handle(uintptr_t number) {
  return reinterpret_cast<void*>((uintptr_t{kPlatform} << 16) + number);
}

bool has_own_counters() { return std::getenv("TALLY_FAKE_BRCM") != nullptr; }

EGLint group_count(EGLenum) { return kFakeGroups; }

EGLBoolean yes() { return EGL_TRUE; }
EGLint get_error() {
  const EGLint error = t_error;
  t_error = EGL_SUCCESS;
  return error;
}
EGLBoolean initialize(EGLDisplay, EGLint* major, EGLint* minor) {
  if (major != nullptr) *major = 1;
  if (minor != nullptr) *minor = 5;
  return EGL_TRUE;
}
const char* query_string(EGLDisplay, EGLint name) {
  if (name == EGL_VENDOR) return "Fake";
  if (name == EGL_EXTENSIONS) return has_own_counters() ? "EGL_BRCM_performance_counters" : "";
  return "1.5";
}
EGLBoolean choose_config(EGLDisplay, const EGLint*, EGLConfig* configs, EGLint most,
                         EGLint* count) {
  if (configs != nullptr && most > 0) configs[0] = handle(1);
  *count = 1;
  return EGL_TRUE;
}
EGLContext create_context() {
  static uintptr_t next = 100;
  return handle(next++);
}
EGLSurface create_surface() { return handle(2); }
EGLBoolean query_devices(EGLint most, EGLDeviceEXT* devices, EGLint* count) {
  if (devices != nullptr && most > 0) devices[0] = handle(3);
  *count = 1;
  return EGL_TRUE;
}

EGLDisplay get_platform_display(EGLenum platform, void* native, const EGLAttrib*) {
  if (platform == kPlatform || (platform == EGL_PLATFORM_DEVICE_EXT && native == handle(3))) {
    return handle(0);
  }
  t_error = EGL_BAD_PARAMETER;
  return EGL_NO_DISPLAY;
}

struct Row {
  const char* name;
  void* function;
};
const Row kRows[] = {
    {"eglInitialize", reinterpret_cast<void*>(initialize)},
    {"eglGetError", reinterpret_cast<void*>(get_error)},
    {"eglQueryString", reinterpret_cast<void*>(query_string)},
    {"eglChooseConfig", reinterpret_cast<void*>(choose_config)},
    {"eglCreateContext", reinterpret_cast<void*>(create_context)},
    {"eglCreatePbufferSurface", reinterpret_cast<void*>(create_surface)},
    {"eglQueryDevicesEXT", reinterpret_cast<void*>(query_devices)},
};

void* get_proc_address(const char* name) {
  for (const Row& row : kRows) {
    if (std::strcmp(row.name, name) == 0) return row.function;
  }
  if (std::strncmp(name, "gl", 2) == 0) return fake_gl(name);
  // The fake lacks all functions that a vendor may lack.
  const size_t length = std::strlen(name);
  if (length > 3 &&
      (std::strcmp(name + length - 3, "EXT") == 0 || std::strcmp(name + length - 3, "KHR") == 0)) {
    return nullptr;
  }
  return reinterpret_cast<void*>(yes);
}

}  // namespace
}  // namespace tally::egl_test

extern "C" __attribute__((visibility("default"))) EGLBoolean __egl_Main(uint32_t,
                                                                        const __EGLapiExports*,
                                                                        __EGLvendorInfo*,
                                                                        __EGLapiImports* imports) {
  using namespace tally::egl_test;
  imports->getPlatformDisplay = get_platform_display;
  imports->getSupportsAPI = [](EGLenum) -> EGLBoolean { return EGL_TRUE; };
  imports->getVendorString = [](int) -> const char* {
    return "EGL_EXT_platform_device EGL_EXT_device_base";
  };
  imports->getProcAddress = get_proc_address;
  imports->getDispatchAddress = [](const char* name) -> void* {
    const bool own = has_own_counters() && std::strcmp(name, "eglGetPerfCounterConstantBRCM") == 0;
    return own ? reinterpret_cast<void*>(group_count) : nullptr;
  };
  imports->setDispatchIndex = [](const char*, int) {};
  return EGL_TRUE;
}
