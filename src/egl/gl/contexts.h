// The contexts of the application that were ever current through us, by driver and handle, and
// which is current in which thread. Totals of contexts that are gone stay in the sums.
#pragma once

#include <EGL/egl.h>

#include <memory>

#include "egl/gl/context.h"

namespace tally::egl {

// The driver has just made this context current in the calling thread (EGL_NO_CONTEXT: none). Never
// fails; a context for which there is no memory is passed through unobserved.
void set_current_context(Driver& driver, EGLDisplay display, EGLContext handle) noexcept;

// The calling thread is about to lose its current context, or may: takes its results.
void settle_current_context() noexcept;

// Waits for the GPU to have done all that the current context was asked for.
void finish_current_context() noexcept;

// The application destroys the context, or terminates the display. One that is current somewhere
// lives until it is left.
void forget_context(Driver& driver, EGLDisplay display, EGLContext handle) noexcept;
void forget_display(Driver& driver, EGLDisplay display) noexcept;

// Sums over all contexts, those that are gone included.
uint64_t sum_of_queries(QueryKind kind);
// Levels are not summed: the latest context that measured any wins.
uint64_t sum_of_driver_counter(const Driver& driver, const DriverCounter& counter);

}  // namespace tally::egl
