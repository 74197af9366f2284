// One GL context of the application, from the first time it is made current through us until it is
// destroyed.
//
// All members except the totals belong to the thread in which the context is current. The profiler
// sets a plan (CollectPlan) of what to collect; a context reads the plan when it begins a segment.
// If no memory is left, values are lost but never a call of the application: only the constructor
// and the two listing functions may throw.
#pragma once

#include <EGL/egl.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "egl/gl/driver_counters.h"
#include "egl/gl/gpu_queries.h"
#include "egl/gl/hot.h"
#include "egl/gl/raw.h"

namespace tally::egl {

class Driver;

// The data that the contexts collect. A new plan replaces the previous one completely.
struct CollectPlan {
  QueryKinds queries = 0;
  std::map<const Driver*, DriverChoice> driver_choices;
  bool errors = false;  // check for GL errors at the end of each frame
};
void set_collect_plan(std::shared_ptr<const CollectPlan> plan);
std::shared_ptr<const CollectPlan> collect_plan();

class GlContext {
 public:
  GlContext(Driver& driver, EGLDisplay display, EGLContext handle);

  Driver& driver() const { return driver_; }
  EGLDisplay display() const { return display_; }
  EGLContext handle() const { return handle_; }
  bool is_es() const { return is_es_; }
  // True if this GL runs on Vulkan: zink, ANGLE.
  bool runs_on_vulkan() const { return runs_on_vulkan_; }

  // Call before GPU work is submitted. Begins a segment unless one is open.
  void before_work() noexcept {
    if (!segment_open_ && list_mode_ == 0) begin_segment();
  }
  // Ends the segment of a completed frame and reads the available results of earlier frames.
  void end_frame() noexcept;
  // Ends the segment and waits for all results. Called before the context stops being current or is
  // destroyed, and when a value is read.
  void resolve_pending() noexcept;
  // glFinish.
  void finish() noexcept;

  // Finds what this context can measure. Changes no state that the application can see.
  QueryKinds probe_query_kinds();
  DriverCounters list_driver_counters();

  // Implements the application's glGetError; `error` is the driver's answer. An error that we found
  // earlier is returned first: GL keeps the first error until it is queried and drops later ones.
  GLenum application_gets_error(GLenum error) {
    if (stashed_error_ == GL_NO_ERROR) [[likely]]
      return error;
    return std::exchange(stashed_error_, static_cast<GLenum>(GL_NO_ERROR));
  }

  // Bracket the application's own queries (gpu_queries.h) and monitors.
  void before_query(GLenum target, GLuint index) noexcept;
  void after_query(GLenum target, GLuint index) noexcept;
  bool hides_query(GLenum target, GLuint index) const { return queries_.hides(target, index); }
  bool owns_query(GLuint name) const { return queries_.owns(name); }
  void before_monitor_begins() noexcept;
  void after_monitor_ends() noexcept;

  // The mode of glNewList, or 0 when the list ends. Our queries must stay out of it: they would be
  // compiled into the list.
  void set_list_mode(GLenum list_mode) { list_mode_ = list_mode; }

  // State between glBegin and glEnd.
  struct Immediate {
    GLenum mode = 0;
    uint64_t vertices = 0;
  };
  Immediate& immediate() { return immediate_; }

  uint64_t patch_vertices() const;
  // Invocations per work group of the current compute program, or 0 without one.
  uint64_t work_group_size() const;
  bool is_bound(GLenum binding) const;
  // True if glGetIntegerv accepts the pixel-buffer bindings.
  bool has_pixel_buffers() const { return has_pixel_buffers_; }

  uint64_t query_total(QueryKind kind) const {
    return queries_.totals()[static_cast<size_t>(kind)].load(std::memory_order_relaxed);
  }
  // 0 if no driver counters have been measured in this context.
  uint64_t driver_total(size_t index) const;

 private:
  void begin_segment() noexcept;
  void start_collectors(const CollectPlan& plan);
  void end_segment();
  void collect_results(bool wait);

  Driver& driver_;
  const EGLDisplay display_;
  const EGLContext handle_;
  const RawGl& gl_;
  bool is_es_ = false;
  bool runs_on_vulkan_ = false;
  bool has_pixel_buffers_ = false;
  bool segment_open_ = false;
  GLenum list_mode_ = 0;
  GLenum stashed_error_ = GL_NO_ERROR;
  Immediate immediate_;
  GpuQueries queries_;
  std::unique_ptr<DriverSegments> driver_segments_;  // created on first use
  std::atomic<const DriverSegments*> measured_{nullptr};
};

// The application's contexts that have been current through us, by driver and handle, and which one
// is current in each thread. Totals of destroyed contexts stay in the sums.

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
