#include "egl/vendor/real_vendor.h"

#include <dlfcn.h>

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

}  // namespace tally::egl
