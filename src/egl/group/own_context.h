// A small private context on a display of the application, used to query what the driver offers. It
// bypasses libEGL and our stubs; the application cannot see it.
#pragma once

#include <EGL/egl.h>

#include <functional>

namespace tally::egl {

class Driver;
class GlContext;

// Calls `body` on a new thread with the context current, and waits for it. Returns false if no
// context could be created.
bool with_own_context(Driver& driver, EGLDisplay display, EGLenum api,
                      const std::function<void(GlContext&)>& body);

}  // namespace tally::egl
