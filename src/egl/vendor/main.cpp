// libEGL_tally.so.0: the entry point that libEGL calls.
#include <dlfcn.h>

#include <array>
#include <atomic>
#include <exception>
#include <memory>
#include <string_view>
#include <utility>

#include "egl/driver/lifetime.h"
#include "egl/profile/profile.h"
#include "egl/vendor/vendor_slot.h"

namespace tally::egl {
namespace {

template <typename Numbers>
struct Slots;
template <size_t... kNumber>
struct Slots<std::index_sequence<kNumber...>> {
  std::array<VendorSlot, sizeof...(kNumber)> all{VendorSlot(kNumber)...};
};

VendorSlot& slot(size_t number) {
  using All = Slots<std::make_index_sequence<kMaxVendorSlots>>;
  static All& slots = kept(std::make_unique<All>());
  return slots.all[number];
}

// A function of the libEGL that loaded us.
std::atomic<void*> g_function_of_libegl{nullptr};

// True if libEGL has functions of ours: it closes a vendor that it could not open.
std::atomic<bool> g_open = false;

// At exit libEGL closes its vendors as well, but nothing is unloaded. Otherwise we are unloaded
// after libEGL.
bool is_unloaded() {
  Dl_info info;
  void* const function = g_function_of_libegl;
  return function != nullptr && dladdr(function, &info) == 0;
}

__attribute__((destructor)) void at_end() {
  Profile::end();
  if (!g_open || is_unloaded()) destroy_kept();
}

// libEGL's tables hold plain functions, so each slot needs its own. An exception (out of memory)
// returns "no such object".
template <typename Result, typename Body>
Result guarded(Result otherwise, Body body) noexcept {
  try {
    return body();
  } catch (const std::exception&) {
    return otherwise;
  }
}

template <size_t kNumber>
EGLBoolean EGLAPIENTRY query_devices(EGLint max_devices, EGLDeviceEXT* devices, EGLint* count) {
  return guarded<EGLBoolean>(
      EGL_FALSE, [&] { return slot(kNumber).query_devices(max_devices, devices, count); });
}

template <size_t kNumber>
void fill(__EGLapiImports& imports) {
  imports.getPlatformDisplay = [](EGLenum platform, void* native, const EGLAttrib* attributes) {
    return guarded<EGLDisplay>(EGL_NO_DISPLAY, [&] {
      return slot(kNumber).get_platform_display(platform, native, attributes);
    });
  };
  imports.getSupportsAPI = [](EGLenum api) {
    return guarded<EGLBoolean>(EGL_FALSE, [&] { return slot(kNumber).supports_api(api); });
  };
  imports.getVendorString = [](int name) {
    return guarded<const char*>(nullptr, [&] { return slot(kNumber).vendor_string(name); });
  };
  imports.getProcAddress = [](const char* name) {
    return guarded<void*>(nullptr, [&] {
      const AnyFunction found = slot(kNumber).proc_address(name);
      const bool devices = found != nullptr && std::string_view(name) == "eglQueryDevicesEXT";
      return devices ? reinterpret_cast<void*>(&query_devices<kNumber>)
                     : reinterpret_cast<void*>(found);
    });
  };
  imports.getDispatchAddress = [](const char* name) {
    return guarded<void*>(
        nullptr, [&] { return reinterpret_cast<void*>(slot(kNumber).dispatch_address(name)); });
  };
  imports.setDispatchIndex = [](const char* name, int index) {
    slot(kNumber).set_dispatch_index(name, index);
  };
  imports.findNativeDisplayPlatform = [](void* native) {
    return guarded<EGLenum>(EGL_NONE,
                            [&] { return slot(kNumber).find_native_display_platform(native); });
  };
  // Never patch libglvnd's entry points: a driver that wrote its own jumps into them would bypass
  // us.
}

constexpr auto kFill = []<size_t... kNumber>(std::index_sequence<kNumber...>) {
  return std::array{&fill<kNumber>...};
}
(std::make_index_sequence<kMaxVendorSlots>());

}  // namespace
}  // namespace tally::egl

extern "C" EGLBoolean tally_egl_main(size_t number, uint32_t version,
                                     const __EGLapiExports* exports, __EGLvendorInfo* vendor,
                                     __EGLapiImports* imports) {
  using namespace tally::egl;
  if (EGL_VENDOR_ABI_GET_MAJOR_VERSION(version) != EGL_VENDOR_ABI_MAJOR_VERSION) return EGL_FALSE;
  if (number >= kMaxVendorSlots) return EGL_FALSE;
  g_function_of_libegl = reinterpret_cast<void*>(exports->getCurrentApi);
  const bool open = guarded(false, [&] { return slot(number).open(version, exports, vendor); });
  if (!open) return EGL_FALSE;
  g_open = true;
  kFill[number](*imports);
  return EGL_TRUE;
}

extern "C" __attribute__((visibility("default"))) EGLBoolean __egl_Main(
    uint32_t version, const __EGLapiExports* exports, __EGLvendorInfo* vendor,
    __EGLapiImports* imports) {
  return tally_egl_main(0, version, exports, vendor, imports);
}
