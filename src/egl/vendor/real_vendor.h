// A real vendor library, opened and initialised as libEGL itself would do it.
#pragma once

#include <memory>
#include <string>

#include "egl/driver/driver.h"
#include "egl/vendor/glvnd.h"

namespace tally::egl {

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

}  // namespace tally::egl
