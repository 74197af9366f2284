// The displays that the application has initialised: where the profiler may make a context of its
// own to ask what the driver offers.
#pragma once

#include <EGL/egl.h>

#include <optional>

namespace tally::egl {

class Driver;

struct KnownDisplay {
  Driver* driver;
  EGLDisplay display;
};

void remember_display(Driver& driver, EGLDisplay display) noexcept;
void drop_display(Driver& driver, EGLDisplay display) noexcept;
// The one that was initialised last and is not terminated.
std::optional<KnownDisplay> latest_display();

}  // namespace tally::egl
