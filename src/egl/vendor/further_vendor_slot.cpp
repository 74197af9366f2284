// libEGL_tally_<n>.so.0: a further slot (vendor_slot.h). Built once per slot; TALLY_SLOT is the
// slot's number.
#include "egl/vendor/vendor_slot.h"

extern "C" __attribute__((visibility("default"))) EGLBoolean __egl_Main(
    uint32_t version, const __EGLapiExports* exports, __EGLvendorInfo* vendor,
    __EGLapiImports* imports) {
  return tally_egl_main(TALLY_SLOT, version, exports, vendor, imports);
}
