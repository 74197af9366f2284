// The EGL and GL libraries of a preloaded program, however it came to them: linked, or opened at
// run time.
#pragma once

#include "egl/gl/functions.h"

namespace tally::egl {

// The function that the program would have got without us. Looks at what stands behind us in the
// program's search order, then at the usual libraries where the program has opened them, and last
// asks EGL. Null where there is none (yet).
AnyFunction find_real(const char* name);

// dlsym as the C library has it.
using DlSym = void* (*)(void* handle, const char* name) noexcept;
DlSym real_dlsym() noexcept;

}  // namespace tally::egl
