// The error of the extension's own functions, where nobody in front of us keeps it (preload): the next eglGetError of the
// thread returns it, any other EGL call in between drops it, as EGL has it.
#pragma once

#include <EGL/egl.h>

namespace tally::egl {

void set_own_error(EGLint error);
// EGL_SUCCESS where there is none.
EGLint take_own_error();

}  // namespace tally::egl
