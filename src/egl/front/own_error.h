// How the latest of the extension's functions in a thread ended, where nobody in front of us keeps
// that (preload): the next eglGetError returns it, success too, in place of what the driver says;
// any other EGL call in between drops it.
#pragma once

#include <EGL/egl.h>

#include <optional>

namespace tally::egl {

void set_own_error(EGLint error);
// Nothing where an EGL call of the driver's came later.
std::optional<EGLint> take_own_error();

}  // namespace tally::egl
