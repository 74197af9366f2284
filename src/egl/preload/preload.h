// libEGL_tally_preload.so: what the vendor library does, for programs whose EGL is not libglvnd's.
// Its exported symbols (exports.S) come before the real ones in the program's search order; what
// the program looks up itself it gets through our dlsym and eglGetProcAddress.
#pragma once

#include "egl/gl/functions.h"

namespace tally::egl {

// Whether we stand in front of a function of this name.
bool is_ours(const char* name) noexcept;

// dlsym for such a function: ours where the handle has it, or, for the extension's own functions,
// EGL at all.
void* look_up_ours(void* handle, const char* name) noexcept;

// What a stub calls until the real function is known: `lazy_gl` finds it at the first call.
AnyFunction lazy_gl(Fn function);

}  // namespace tally::egl
