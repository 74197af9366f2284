// A real vendor library, opened and introduced to libEGL as libEGL itself would have done it.
#pragma once

#include <memory>
#include <string>

#include "egl/driver/driver.h"
#include "egl/vendor/glvnd.h"

namespace tally::egl {

class RealVendor final : public Driver {
 public:
  // Null where it cannot be opened or does not want to serve. The vendor gets libEGL's own exports
  // and our handle, so its dispatch functions find libEGL, and libEGL, asked for our functions,
  // finds us. Never closed.
  static std::unique_ptr<RealVendor> open(const std::string& library, uint32_t version,
                                          const __EGLapiExports* exports, __EGLvendorInfo* vendor);

  AnyFunction resolve(const char* name) const override;
  EGLenum current_api() const override { return exports_->getCurrentApi(); }
  const __EGLapiImports& imports() const { return imports_; }

 private:
  explicit RealVendor(const __EGLapiExports* exports) : exports_(exports) {}
  bool introduce(void* library, uint32_t version, __EGLvendorInfo* vendor);

  const __EGLapiExports* const exports_;
  __EGLapiImports imports_{};
};

}  // namespace tally::egl
