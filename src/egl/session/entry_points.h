// The extension's functions by name, for implementations of eglGetProcAddress, and the hooks that
// they call.
#pragma once

#include <EGL/egl.h>

#include <string_view>

#include "egl/gl/functions.h"

namespace tally::egl {

// Returns null for any other name.
AnyFunction entry_point(std::string_view name);

// Sets the hooks that are called when one of the functions begins, and with its error (EGL_SUCCESS
// included) when it ends. Without hooks the functions work, but eglGetError does not report their
// errors.
void set_call_hooks(void (*begin_call)(), void (*report)(EGLint));

}  // namespace tally::egl
