// One vendor library as libEGL sees it, with one or more real vendors behind it.
//
// libEGL loads a library only once, so each slot is a library of its own (libEGL_tally.so.0,
// libEGL_tally_1.so.0, ...); all share the state of the first. Each slot that libEGL loads takes
// the next real vendor. The last slot also takes the remaining vendors: until one of them has
// returned a display, it tries them in order, and the first that returns a display serves the slot.
// One slot is therefore enough for a program that uses displays of one vendor; with as many slots
// as vendors, libEGL can mix them as it could without us.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "egl/driver/driver.h"
#include "egl/front/thunks.h"

// libglvnd's interface for vendor libraries includes GL's headers without declarations, so ours
// must come first.
// clang-format off
#include "egl/gl/raw.h"
#include <glvnd/libeglabi.h>
// clang-format on

namespace tally::egl {

// A real vendor library, opened and initialised as libEGL itself would do it.

class RealVendor final : public Driver {
 public:
  // Returns null if the library cannot be opened or declines to serve. The vendor gets libEGL's
  // exports and our handle: its dispatch functions find libEGL, and libEGL's lookups find us. As
  // libEGL does, closes the library when it is unloaded itself.
  static std::unique_ptr<RealVendor> open(const std::string& library, uint32_t version,
                                          const __EGLapiExports* exports, __EGLvendorInfo* vendor);

  ~RealVendor() override;

  AnyFunction resolve(const char* name) const override;
  EGLenum current_api() const override { return exports_->getCurrentApi(); }
  const __EGLapiImports& imports() const { return imports_; }

 private:
  RealVendor(const std::string& library, const __EGLapiExports* exports);
  bool introduce(uint32_t version, __EGLvendorInfo* vendor);

  void* const library_;
  const __EGLapiExports* const exports_;
  __EGLapiImports imports_{};
};

class VendorSlot {
 public:
  explicit VendorSlot(size_t number) : number_(number) {}

  // Implements __egl_Main for this slot, except for the function table. Returns false if no real
  // vendor remains for it.
  bool open(uint32_t version, const __EGLapiExports* exports, __EGLvendorInfo* handle);

  EGLDisplay get_platform_display(EGLenum platform, void* native, const EGLAttrib* attributes);
  EGLBoolean query_devices(EGLint max_devices, EGLDeviceEXT* devices, EGLint* count);
  bool supports_api(EGLenum api);
  const char* vendor_string(int name);
  AnyFunction proc_address(const char* name);
  AnyFunction dispatch_address(const char* name);
  void set_dispatch_index(const char* name, int index);
  EGLenum find_native_display_platform(void* native);

 private:
  // The vendor that serves the slot; before that is decided, the first candidate.
  RealVendor& vendor();
  // The vendors that may serve the slot: a single one once that is decided.
  std::vector<RealVendor*> candidates();
  // The candidate with this index, or null if there are no more. Opens remaining vendors.
  RealVendor* candidate(size_t number);
  // True if libEGL queries this string for the first time.
  bool is_first_query(int name);
  // The vendor that listed this device, or null.
  RealVendor* owner_of(EGLDeviceEXT device);
  // Opens the next remaining vendor if this slot may have it. Requires mutex_.
  RealVendor* open_next();
  EGLDisplay try_vendor(RealVendor& vendor, EGLenum platform, void* native,
                        const EGLAttrib* attributes);

  const size_t number_;
  uint32_t version_ = 0;
  const __EGLapiExports* exports_ = nullptr;
  __EGLvendorInfo* handle_ = nullptr;

  // Held while vendors are tried until one returns a display, so that all threads agree on the
  // vendor that serves. Locked before mutex_.
  std::mutex choice_mutex_;
  // Guards the containers below. While it is held, vendors are called only to set a dispatch index.
  std::mutex mutex_;
  std::vector<std::unique_ptr<RealVendor>> vendors_;
  std::set<int> queried_strings_;
  std::map<EGLDeviceEXT, RealVendor*> device_owners_;
  std::vector<std::pair<std::string, int>> dispatch_indices_;  // replayed for vendors opened later
  std::atomic<RealVendor*> serving_{nullptr};
  // libEGL has loaded all its vendors, so no other slot will take the remaining ones.
  std::atomic<bool> loaded_{false};
};

}  // namespace tally::egl

extern "C" {
// __egl_Main of a slot. In the library of the first slot, which holds all state.
__attribute__((visibility("default"))) EGLBoolean tally_egl_main(size_t slot, uint32_t version,
                                                                 const __EGLapiExports* exports,
                                                                 __EGLvendorInfo* vendor,
                                                                 __EGLapiImports* imports);
}
