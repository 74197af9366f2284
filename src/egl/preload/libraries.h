// The EGL and GL libraries of a preloaded program, whether linked or opened at run time.
#pragma once

#include "egl/gl/functions.h"

namespace tally::egl {

// Returns the function that the program would have got without us. Searches the libraries after us
// in the program's search order, then the usual libraries if the program has opened them, and
// finally queries EGL. Returns null if there is none (yet).
AnyFunction find_real(const char* name);

// The C library's dlsym.
using DlSym = void* (*)(void* handle, const char* name) noexcept;
DlSym real_dlsym() noexcept;

}  // namespace tally::egl
