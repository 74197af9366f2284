// EGL functions as the application (or libEGL) calls them. Each forwards to the driver of its slot
// through its handler. A slot is one EGL implementation behind us: a vendor library of libEGL, or
// the preloaded program's only EGL.
#pragma once

#include <EGL/egl.h>

#include <array>
#include <optional>
#include <string_view>

#include "egl/driver/driver.h"

namespace tally::egl {

// The EGL error of the latest extension function in each thread, for the preload library, where no
// libEGL keeps it. The next eglGetError returns it, EGL_SUCCESS included, in place of the driver's
// error. Any other EGL call in between discards it.

void set_own_error(EGLint error);
// Returns nothing if a driver's EGL call came later.
std::optional<EGLint> take_own_error();

class Driver;

inline constexpr size_t kMaxVendorSlots = 4;

// The driver that currently serves a slot. Must be set before any thunk of the slot is called.
Driver& driver_of_slot(size_t slot);
void set_driver_of_slot(size_t slot, Driver& driver);

inline constexpr std::string_view kExtensionName = "EGL_BRCM_performance_counters";

// One of EGL's extension strings with our extension's name appended, valid until the library is
// unloaded, or the list itself if it contains the name already. Returns null for null.
const char* with_extension(const char* list);

AnyFunction thunk_of(size_t slot, EglFn function);

}  // namespace tally::egl
