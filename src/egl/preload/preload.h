// libEGL_tally_preload.so: does what the vendor library does, for programs that do not use
// libglvnd's EGL. Its exported symbols (exports.S) come before the real ones in the program's
// search order; our dlsym and eglGetProcAddress answer the program's own lookups.
#pragma once

#include "egl/gl/functions.h"

namespace tally::egl {

// True if we intercept a function of this name.
bool is_ours(const char* name) noexcept;

// dlsym for an intercepted function: returns ours if the handle provides that function, or, for the
// extension's functions, if it provides EGL at all.
void* look_up_ours(void* handle, const char* name) noexcept;

// The function that a stub calls until the real one is known. `lazy_gl` looks it up at the first
// call.
AnyFunction lazy_gl(Fn function);

}  // namespace tally::egl
