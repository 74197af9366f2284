#include "egl/vendor/place.h"

#include <algorithm>

#include "egl/front/extension_string.h"
#include "egl/session/entry_points.h"
#include "egl/vendor/manifests.h"

namespace tally::egl {
namespace {

// The real vendors in libEGL's order, each taken once.
class LeftOver {
 public:
  static LeftOver& instance() {
    static auto* const one = new LeftOver;
    return *one;
  }
  // Empty when there are none.
  std::string take() {
    const std::lock_guard lock(mutex_);
    return next_ < libraries_.size() ? libraries_[next_++] : std::string();
  }

 private:
  std::mutex mutex_;
  const std::vector<std::string> libraries_ = real_vendor_libraries();
  size_t next_ = 0;
};

// The place that libEGL loaded last.
std::atomic<const Place*> g_last_place{nullptr};

}  // namespace

bool Place::open(uint32_t version, const __EGLapiExports* exports, __EGLvendorInfo* handle) {
  version_ = version;
  exports_ = exports;
  handle_ = handle;
  g_last_place = this;
  RealVendor* const first = candidate(0);
  if (first == nullptr) return false;
  set_driver_at(number_, *first);
  set_call_hooks(exports->threadInit, exports->setEGLError);
  return true;
}

RealVendor* Place::open_next() {
  if (g_last_place != this) return nullptr;
  for (std::string library = LeftOver::instance().take(); !library.empty();
       library = LeftOver::instance().take()) {
    auto vendor = RealVendor::open(library, version_, exports_, handle_);
    if (!vendor) continue;
    for (const auto& [name, index] : dispatch_indices_) {
      vendor->imports().setDispatchIndex(name.c_str(), index);
    }
    vendors_.push_back(std::move(vendor));
    return vendors_.back().get();
  }
  return nullptr;
}

RealVendor& Place::vendor() {
  if (RealVendor* const serving = serving_.load(std::memory_order_acquire)) return *serving;
  const std::lock_guard lock(mutex_);
  return *vendors_.front();
}

std::vector<RealVendor*> Place::candidates() {
  if (RealVendor* const serving = serving_.load(std::memory_order_acquire)) return {serving};
  const std::lock_guard lock(mutex_);
  while (loaded_ && open_next() != nullptr) {
  }
  std::vector<RealVendor*> all;
  for (const auto& vendor : vendors_) all.push_back(vendor.get());
  return all;
}

RealVendor* Place::candidate(size_t number) {
  if (RealVendor* const serving = serving_.load(std::memory_order_acquire)) {
    return number == 0 ? serving : nullptr;
  }
  const std::lock_guard lock(mutex_);
  return number < vendors_.size() ? vendors_[number].get() : open_next();
}

bool Place::is_first_question(int name) {
  const std::lock_guard lock(mutex_);
  return asked_strings_.insert(name).second;
}

RealVendor* Place::owner_of(EGLDeviceEXT device) {
  const std::lock_guard lock(mutex_);
  const auto owner = device_owners_.find(device);
  return owner == device_owners_.end() ? nullptr : owner->second;
}

EGLDisplay Place::try_vendor(RealVendor& vendor, EGLenum platform, void* native,
                             const EGLAttrib* attributes) {
  set_driver_at(number_, vendor);  // whom libEGL asks for the error where there is no display
  const EGLDisplay display = vendor.imports().getPlatformDisplay(platform, native, attributes);
  if (display != EGL_NO_DISPLAY) serving_.store(&vendor, std::memory_order_release);
  return display;
}

EGLDisplay Place::get_platform_display(EGLenum platform, void* native,
                                       const EGLAttrib* attributes) {
  if (RealVendor* const serving = serving_.load(std::memory_order_acquire)) {
    return serving->imports().getPlatformDisplay(platform, native, attributes);
  }
  const std::lock_guard choice(choice_mutex_);
  loaded_ = true;
  const bool undecided = serving_.load() == nullptr;
  if (undecided && platform == EGL_PLATFORM_DEVICE_EXT) {
    RealVendor* const owner = owner_of(native);
    if (owner != nullptr) return try_vendor(*owner, platform, native, attributes);
  }
  for (size_t i = 0; RealVendor* const vendor = candidate(i); i++) {
    const EGLDisplay display = try_vendor(*vendor, platform, native, attributes);
    if (display != EGL_NO_DISPLAY) return display;
  }
  return EGL_NO_DISPLAY;
}

EGLBoolean Place::query_devices(EGLint most, EGLDeviceEXT* devices, EGLint* count) {
  const auto query = [](const RealVendor& vendor, EGLint m, EGLDeviceEXT* d, EGLint* n) {
    const auto real =
        reinterpret_cast<PFNEGLQUERYDEVICESEXTPROC>(vendor.egl(EglFn::eglQueryDevicesEXT));
    return real != nullptr ? real(m, d, n) : EGLBoolean{EGL_FALSE};
  };
  loaded_ = true;
  const auto all = candidates();
  if (all.size() == 1 || count == nullptr) return query(*all.front(), most, devices, count);

  std::vector<EGLDeviceEXT> found;
  for (RealVendor* const vendor : all) {
    EGLint its = 0;
    if (!query(*vendor, 0, nullptr, &its) || its <= 0) continue;
    std::vector<EGLDeviceEXT> more(static_cast<size_t>(its));
    if (!query(*vendor, its, more.data(), &its)) continue;
    more.resize(static_cast<size_t>(std::max(its, 0)));
    const std::lock_guard lock(mutex_);
    for (const EGLDeviceEXT device : more) device_owners_.emplace(device, vendor);
    found.insert(found.end(), more.begin(), more.end());
  }
  *count = static_cast<EGLint>(found.size());
  if (devices == nullptr) return EGL_TRUE;
  *count = std::min(*count, std::max(most, 0));
  std::copy_n(found.begin(), *count, devices);
  return EGL_TRUE;
}

bool Place::supports_api(EGLenum api) {
  const auto all = candidates();
  return std::any_of(all.begin(), all.end(), [api](const RealVendor* vendor) {
    return vendor->imports().getSupportsAPI(api) != EGL_FALSE;
  });
}

// libEGL asks once while it loads its vendors, and again for the list of client extensions that
// applications see: where they look before they have a display.
const char* Place::vendor_string(int name) {
  if (!is_first_question(name)) loaded_ = true;
  std::string joined;
  for (const RealVendor* const vendor : candidates()) {
    const auto get = vendor->imports().getVendorString;
    const char* const text = get != nullptr ? get(name) : nullptr;
    if (text == nullptr) continue;
    if (!joined.empty()) joined += ' ';
    joined += text;
  }
  if (name == __EGL_VENDOR_STRING_PLATFORM_EXTENSIONS) return with_extension(joined.c_str());
  const auto get = vendor().imports().getVendorString;
  return get != nullptr ? get(name) : nullptr;
}

// libEGL asks for the functions of GL when the first context becomes current, so when one vendor
// serves.
AnyFunction Place::proc_address(const char* name) {
  RealVendor& real = vendor();
  if (const auto function = find_egl_function(name)) {
    return real.egl(*function) != nullptr ? thunk_of(number_, *function) : nullptr;
  }
  const AnyFunction address = real.resolve(name);
  const auto function = address != nullptr ? find_function(name) : std::nullopt;
  if (!function) return address;
  real.gl().set(*function, address);
  return stub_of(*function);
}

AnyFunction Place::dispatch_address(const char* name) {
  for (const RealVendor* const vendor : candidates()) {
    void* const stub = vendor->imports().getDispatchAddress(name);
    if (stub != nullptr) return reinterpret_cast<AnyFunction>(stub);
  }
  // A driver that has the extension itself keeps it. The functions take no display, so they need no
  // dispatch.
  return entry_point(name);
}

void Place::set_dispatch_index(const char* name, int index) {
  const std::lock_guard lock(mutex_);
  dispatch_indices_.emplace_back(name, index);
  for (const auto& vendor : vendors_) vendor->imports().setDispatchIndex(name, index);
}

EGLenum Place::find_native_display_platform(void* native) {
  for (const RealVendor* const vendor : candidates()) {
    const auto find = vendor->imports().findNativeDisplayPlatform;
    const EGLenum platform = find != nullptr ? find(native) : EGL_NONE;
    if (platform != EGL_NONE) return platform;
  }
  return EGL_NONE;
}

}  // namespace tally::egl
