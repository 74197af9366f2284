// libEGL_tally_preload.so: does what the vendor library does, for programs that do not use
// libglvnd's EGL. Its exported symbols (exports.S) come before the real ones in the program's
// search order; our dlsym and eglGetProcAddress answer the program's own lookups.
#pragma once

#include "egl/gl/hot.h"

namespace tally::egl {

// The EGL and GL libraries of a preloaded program, whether linked or opened at run time.

// Returns the function that the program would have got without us. Searches the libraries after us
// in the program's search order, then the usual libraries if the program has opened them, and
// finally queries EGL. Returns null if there is none (yet).
AnyFunction find_real(const char* name);

// The C library's dlsym.
using DlSym = void* (*)(void* handle, const char* name) noexcept;
DlSym real_dlsym() noexcept;

// True if we intercept a function of this name.
bool is_ours(const char* name) noexcept;

// dlsym for an intercepted function: returns ours if the handle provides that function, or, for the
// extension's functions, if it provides EGL at all. `caller` is an address in the code that
// looks it up: NVIDIA's driver gets what it would get without us.
void* look_up_ours(void* handle, const char* name, const void* caller) noexcept;

// The function that a stub calls until the real one is known. `lazy_gl` looks it up at the first
// call.
AnyFunction lazy_gl(Fn function);

}  // namespace tally::egl
