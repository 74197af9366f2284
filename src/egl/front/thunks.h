// EGL functions as the application (or libEGL) calls them: each forwards to the driver of its place
// through its handler. A place is one EGL behind us: a vendor library of libEGL's, or the preloaded
// program's only EGL.
#pragma once

#include <array>

#include "egl/front/functions.h"

namespace tally::egl {

class Driver;

inline constexpr size_t kMaxPlaces = 4;

// Who serves a place now; set before any thunk of the place can be called.
Driver& driver_at(size_t place);
void set_driver_at(size_t place, Driver& driver);

AnyFunction thunk_of(size_t place, EglFn function);

}  // namespace tally::egl
