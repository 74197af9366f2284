// The extension's functions by name, for whoever answers eglGetProcAddress, and what they need of
// the front.
#pragma once

#include <EGL/egl.h>

#include <string_view>

#include "egl/gl/functions.h"

namespace tally::egl {

// Null for any other name.
AnyFunction entry_point(std::string_view name);

// Called when one of the functions begins, and with its error (EGL_SUCCESS too) when it ends.
// Without hooks the functions work, but eglGetError does not know of them.
void set_call_hooks(void (*begin_call)(), void (*report)(EGLint));

}  // namespace tally::egl
