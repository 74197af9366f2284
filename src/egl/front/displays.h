// The displays that the application has initialised. The profiler may create a context on one of
// them to query what the driver offers.
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
// The display that was initialised last and is not terminated.
std::optional<KnownDisplay> latest_display();

}  // namespace tally::egl
