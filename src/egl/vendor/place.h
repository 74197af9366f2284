// One vendor library as libEGL sees it, played by us: what stands at this place behind us.
//
// libEGL loads a library once, so each place is a library of its own (libEGL_tally.so.0,
// libEGL_tally_1.so.0 ...), all with the state of the first. Each place that libEGL loads takes the
// next real vendor. The last one has those that are left over, too: as long as it has given no
// display it tries one after the other, and serves with the first that gives one. So one place is
// enough for a program that uses one vendor's displays, and with as many places as vendors libEGL
// can mix them as if we were not there.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "egl/front/thunks.h"
#include "egl/vendor/glvnd.h"
#include "egl/vendor/real_vendor.h"

namespace tally::egl {

class Place {
 public:
  explicit Place(size_t number) : number_(number) {}

  // __egl_Main of this place, less the table of functions. False: nothing is left for it to stand
  // in front of.
  bool open(uint32_t version, const __EGLapiExports* exports, __EGLvendorInfo* handle);

  EGLDisplay get_platform_display(EGLenum platform, void* native, const EGLAttrib* attributes);
  EGLBoolean query_devices(EGLint most, EGLDeviceEXT* devices, EGLint* count);
  bool supports_api(EGLenum api);
  const char* vendor_string(int name);
  AnyFunction proc_address(const char* name);
  AnyFunction dispatch_address(const char* name);
  void set_dispatch_index(const char* name, int index);
  EGLenum find_native_display_platform(void* native);

 private:
  // The vendor that serves; before there is one, the first that may.
  RealVendor& vendor();
  // Those that may serve: one where that is decided.
  std::vector<RealVendor*> candidates();
  // The candidate with this number; null behind the last one. Opens vendors that are left over.
  RealVendor* candidate(size_t number);
  // Whether libEGL asks for this string for the first time.
  bool is_first_question(int name);
  // Whom this device is of; null where no vendor has listed it.
  RealVendor* owner_of(EGLDeviceEXT device);
  // The next vendor that is left over, where this place may have it. Under mutex_.
  RealVendor* open_next();
  EGLDisplay try_vendor(RealVendor& vendor, EGLenum platform, void* native,
                        const EGLAttrib* attributes);

  const size_t number_;
  uint32_t version_ = 0;
  const __EGLapiExports* exports_ = nullptr;
  __EGLvendorInfo* handle_ = nullptr;

  // Held while vendors are asked for a display until one gives it, so that threads agree on who
  // serves. Taken before mutex_.
  std::mutex choice_mutex_;
  // Guards the containers below. No vendor is asked for anything but to take an index under it.
  std::mutex mutex_;
  std::vector<std::unique_ptr<RealVendor>> vendors_;
  std::set<int> asked_strings_;
  std::map<EGLDeviceEXT, RealVendor*> device_owners_;
  std::vector<std::pair<std::string, int>> dispatch_indices_;  // for vendors that are opened later
  std::atomic<RealVendor*> serving_{nullptr};
  // libEGL has loaded all its vendors: nobody else will take those left over.
  std::atomic<bool> loaded_{false};
};

}  // namespace tally::egl
