// A small context of ours on a display of the application's, to ask the driver what it offers. It
// goes past libEGL and our own stubs; the application cannot see it.
#pragma once

#include <EGL/egl.h>

#include <functional>

namespace tally::egl {

class Driver;
class GlContext;

// Calls `body` with the context current, on a thread of its own, and waits for it. False where no
// context could be made.
bool with_own_context(Driver& driver, EGLDisplay display, EGLenum api,
                      const std::function<void(GlContext&)>& body);

}  // namespace tally::egl
