// The EGL error of the latest extension function in each thread, for the preload library, where no
// libEGL keeps it. The next eglGetError returns it, EGL_SUCCESS included, in place of the driver's
// error. Any other EGL call in between discards it.
#pragma once

#include <EGL/egl.h>

#include <optional>

namespace tally::egl {

void set_own_error(EGLint error);
// Returns nothing if a driver's EGL call came later.
std::optional<EGLint> take_own_error();

}  // namespace tally::egl
