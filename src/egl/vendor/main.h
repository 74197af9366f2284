// Shared by the library of the first slot (place.h), which holds all state, and the further ones.
#pragma once

#include <cstddef>
#include <cstdint>

#include "egl/vendor/glvnd.h"

extern "C" {
// __egl_Main of a slot.
__attribute__((visibility("default"))) EGLBoolean tally_egl_main(size_t slot, uint32_t version,
                                                                 const __EGLapiExports* exports,
                                                                 __EGLvendorInfo* vendor,
                                                                 __EGLapiImports* imports);
}
