#include "egl/vendor/vendor_slot.h"

#include <dlfcn.h>

#include <algorithm>
#include <string_view>

#include "egl/driver/lifetime.h"
#include "egl/session/session.h"
#include "egl/vendor/manifests.h"

namespace tally::egl {

std::unique_ptr<RealVendor> RealVendor::open(const std::string& library, uint32_t version,
                                             const __EGLapiExports* exports,
                                             __EGLvendorInfo* vendor) {
  std::unique_ptr<RealVendor> real(new RealVendor(library, exports));
  if (real->library_ == nullptr || !real->introduce(version, vendor)) return nullptr;
  real->load_egl();
  return real;
}

RealVendor::RealVendor(const std::string& library, const __EGLapiExports* exports)
    : library_(dlopen(library.c_str(), RTLD_LAZY)), exports_(exports) {}

RealVendor::~RealVendor() {
  if (library_ != nullptr) dlclose(library_);
}

bool RealVendor::introduce(uint32_t version, __EGLvendorInfo* vendor) {
  const auto main = reinterpret_cast<__PFNEGLMAINPROC>(dlsym(library_, __EGL_MAIN_PROTO_NAME));
  if (main == nullptr || main == &__egl_Main) return false;
  return main(version, exports_, vendor, &imports_) && imports_.getPlatformDisplay != nullptr &&
         imports_.getSupportsAPI != nullptr && imports_.getProcAddress != nullptr &&
         imports_.getDispatchAddress != nullptr && imports_.setDispatchIndex != nullptr;
}

AnyFunction RealVendor::resolve(const char* name) const {
  return reinterpret_cast<AnyFunction>(imports_.getProcAddress(name));
}

namespace {

// The real vendors in libEGL's order. Each is taken once.
class RemainingVendors {
 public:
  static RemainingVendors& instance() {
    static RemainingVendors& one = kept(std::make_unique<RemainingVendors>());
    return one;
  }
  // Returns an empty string if none remains.
  std::string take() {
    const std::lock_guard lock(mutex_);
    return next_ < libraries_.size() ? libraries_[next_++] : std::string();
  }

 private:
  std::mutex mutex_;
  const std::vector<std::string> libraries_ = real_vendor_libraries();
  size_t next_ = 0;
};

// Adds the words of `text` that `list` lacks: libEGL aborts the process if a vendor's list has a
// word twice.
void add_words(std::string& list, std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    const std::string_view word = text.substr(at, end - at);
    if (!word.empty() && !has_word(list, word)) {
      if (!list.empty()) list += ' ';
      list += word;
    }
    at = end + 1;
  }
}

// The slot that libEGL loaded last.
std::atomic<const VendorSlot*> g_last_slot{nullptr};

}  // namespace

bool VendorSlot::open(uint32_t version, const __EGLapiExports* exports, __EGLvendorInfo* handle) {
  version_ = version;
  exports_ = exports;
  handle_ = handle;
  g_last_slot = this;
  RealVendor* const first = candidate(0);
  if (first == nullptr) return false;
  set_driver_of_slot(number_, *first);
  set_call_hooks(exports->threadInit, exports->setEGLError);
  return true;
}

RealVendor* VendorSlot::open_next() {
  if (g_last_slot != this) return nullptr;
  for (std::string library = RemainingVendors::instance().take(); !library.empty();
       library = RemainingVendors::instance().take()) {
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

RealVendor& VendorSlot::vendor() {
  if (RealVendor* const serving = serving_.load(std::memory_order_acquire)) return *serving;
  const std::lock_guard lock(mutex_);
  return *vendors_.front();
}

std::vector<RealVendor*> VendorSlot::candidates() {
  if (RealVendor* const serving = serving_.load(std::memory_order_acquire)) return {serving};
  const std::lock_guard lock(mutex_);
  while (loaded_ && open_next() != nullptr) {
  }
  std::vector<RealVendor*> all;
  for (const auto& vendor : vendors_) all.push_back(vendor.get());
  return all;
}

RealVendor* VendorSlot::candidate(size_t number) {
  if (RealVendor* const serving = serving_.load(std::memory_order_acquire)) {
    return number == 0 ? serving : nullptr;
  }
  const std::lock_guard lock(mutex_);
  return number < vendors_.size() ? vendors_[number].get() : open_next();
}

bool VendorSlot::is_first_query(int name) {
  const std::lock_guard lock(mutex_);
  return queried_strings_.insert(name).second;
}

RealVendor* VendorSlot::owner_of(EGLDeviceEXT device) {
  const std::lock_guard lock(mutex_);
  const auto owner = device_owners_.find(device);
  return owner == device_owners_.end() ? nullptr : owner->second;
}

EGLDisplay VendorSlot::try_vendor(RealVendor& vendor, EGLenum platform, void* native,
                                  const EGLAttrib* attributes) {
  set_driver_of_slot(number_,
                     vendor);  // libEGL queries this driver's error if no display is returned
  const EGLDisplay display = vendor.imports().getPlatformDisplay(platform, native, attributes);
  if (display != EGL_NO_DISPLAY) serving_.store(&vendor, std::memory_order_release);
  return display;
}

EGLDisplay VendorSlot::get_platform_display(EGLenum platform, void* native,
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

EGLBoolean VendorSlot::query_devices(EGLint max_devices, EGLDeviceEXT* devices, EGLint* count) {
  const auto query = [](const RealVendor& vendor, EGLint m, EGLDeviceEXT* d, EGLint* n) {
    const auto real =
        reinterpret_cast<PFNEGLQUERYDEVICESEXTPROC>(vendor.egl(EglFn::eglQueryDevicesEXT));
    return real != nullptr ? real(m, d, n) : EGLBoolean{EGL_FALSE};
  };
  loaded_ = true;
  const auto all = candidates();
  if (all.size() == 1 || count == nullptr) return query(*all.front(), max_devices, devices, count);

  std::vector<EGLDeviceEXT> found;
  for (RealVendor* const vendor : all) {
    EGLint device_count = 0;
    if (!query(*vendor, 0, nullptr, &device_count) || device_count <= 0) continue;
    std::vector<EGLDeviceEXT> more(static_cast<size_t>(device_count));
    if (!query(*vendor, device_count, more.data(), &device_count)) continue;
    more.resize(static_cast<size_t>(std::max(device_count, 0)));
    const std::lock_guard lock(mutex_);
    for (const EGLDeviceEXT device : more) device_owners_.emplace(device, vendor);
    found.insert(found.end(), more.begin(), more.end());
  }
  *count = static_cast<EGLint>(found.size());
  if (devices == nullptr) return EGL_TRUE;
  *count = std::min(*count, std::max(max_devices, 0));
  std::copy_n(found.begin(), *count, devices);
  return EGL_TRUE;
}

bool VendorSlot::supports_api(EGLenum api) {
  const auto all = candidates();
  return std::any_of(all.begin(), all.end(), [api](const RealVendor* vendor) {
    return vendor->imports().getSupportsAPI(api) != EGL_FALSE;
  });
}

// libEGL calls this once while it loads its vendors, and again for the client extensions that
// applications query without a display.
const char* VendorSlot::vendor_string(int name) {
  if (!is_first_query(name)) loaded_ = true;
  std::string joined;
  for (const RealVendor* const vendor : candidates()) {
    const auto get = vendor->imports().getVendorString;
    const char* const text = get != nullptr ? get(name) : nullptr;
    if (text != nullptr) add_words(joined, text);
  }
  if (name == __EGL_VENDOR_STRING_PLATFORM_EXTENSIONS) return with_extension(joined.c_str());
  const auto get = vendor().imports().getVendorString;
  return get != nullptr ? get(name) : nullptr;
}

// libEGL looks up GL functions when the first context becomes current, so a vendor serves the slot
// by then.
AnyFunction VendorSlot::proc_address(const char* name) {
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

AnyFunction VendorSlot::dispatch_address(const char* name) {
  for (const RealVendor* const vendor : candidates()) {
    void* const stub = vendor->imports().getDispatchAddress(name);
    if (stub != nullptr) return reinterpret_cast<AnyFunction>(stub);
  }
  // A driver that implements the extension itself keeps it. The functions take no display, so they
  // need no dispatch.
  return entry_point(name);
}

void VendorSlot::set_dispatch_index(const char* name, int index) {
  const std::lock_guard lock(mutex_);
  dispatch_indices_.emplace_back(name, index);
  for (const auto& vendor : vendors_) vendor->imports().setDispatchIndex(name, index);
}

EGLenum VendorSlot::find_native_display_platform(void* native) {
  for (const RealVendor* const vendor : candidates()) {
    const auto find = vendor->imports().findNativeDisplayPlatform;
    const EGLenum platform = find != nullptr ? find(native) : EGL_NONE;
    if (platform != EGL_NONE) return platform;
  }
  return EGL_NONE;
}

}  // namespace tally::egl
