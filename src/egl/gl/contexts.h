// The application's contexts that have been current through us, by driver and handle, and which one
// is current in each thread. Totals of destroyed contexts stay in the sums.
#pragma once

#include <EGL/egl.h>

#include <memory>

#include "egl/gl/context.h"

namespace tally::egl {

// Call after the driver has made this context current in the calling thread (EGL_NO_CONTEXT: none).
// Never fails: if no memory is left, the context is not observed.
void set_current_context(Driver& driver, EGLDisplay display, EGLContext handle) noexcept;

// Waits for the pending results of the calling thread's context. Call before the context may stop
// being current.
void resolve_current_context() noexcept;

// Waits until the GPU has completed all work submitted to the current context.
void finish_current_context() noexcept;

// Call when the application destroys the context or terminates the display. A context that is still
// current lives until it is no longer current.
void forget_context(Driver& driver, EGLDisplay display, EGLContext handle) noexcept;
void forget_display(Driver& driver, EGLDisplay display) noexcept;

// Sums over all contexts, including destroyed ones.
uint64_t sum_of_queries(QueryKind kind);
// Levels are not summed: the value of the latest context that measured one is returned.
uint64_t sum_of_driver_counter(const Driver& driver, const DriverCounter& counter);

}  // namespace tally::egl
