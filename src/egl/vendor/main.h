// What the libraries of the further slots (place.h) share with the first, which holds all state.
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
