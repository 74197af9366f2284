#include "egl/gl/context.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <exception>
#include <string_view>

#include "egl/driver/driver.h"
#include "egl/driver/lifetime.h"
#include "egl/gl/hot.h"

namespace tally::egl {
namespace {

struct SharedPlan {
  std::mutex mutex;
  std::shared_ptr<const CollectPlan> plan = std::make_shared<CollectPlan>();
};
SharedPlan& shared_plan() {
  static SharedPlan& one = kept(std::make_unique<SharedPlan>());
  return one;
}

struct Version {
  bool es = false;
  int number = 0;  // major * 10 + minor
};

// "OpenGL ES-CM 1.1", "OpenGL ES 3.2 Mesa ...", "4.5 (Core Profile) ..."
Version parse_version(const GLubyte* text) {
  if (text == nullptr) return {};
  std::string_view version = reinterpret_cast<const char*>(text);
  const bool es = version.starts_with("OpenGL ES");
  version.remove_prefix(std::min(version.find_first_of("0123456789"), version.size()));
  const char* const end = version.data() + version.size();
  int major = 0, minor = 0;
  const char* const point = std::from_chars(version.data(), end, major).ptr;
  if (point != end) std::from_chars(point + 1, end, minor);
  return {es, major * 10 + minor};
}

// "zink (llvmpipe ...)", "ANGLE (Mesa, Vulkan 1.3.230 (llvmpipe ...), ...)"
bool names_vulkan(const GLubyte* renderer) {
  if (renderer == nullptr) return false;
  const std::string_view name = reinterpret_cast<const char*>(renderer);
  return name.starts_with("zink") || name.find("Vulkan") != name.npos;
}

template <typename Action>
void ignore_exceptions(Action action) noexcept {
  try {
    action();
  } catch (const std::exception&) {
  }
}

// Preserves the application's error flag, and counts an error of the application that it finds.
class CountingErrorGuard {
 public:
  CountingErrorGuard(const RawGl& gl, GLenum& stash) : guard_(gl, stash) {
    if (guard_.raised() && (collecting() & kCollectApi)) {
      counts_for_this_thread().add(ApiCounter::Errors, 1);
    }
  }

 private:
  ErrorGuard guard_;
};

}  // namespace

void set_collect_plan(std::shared_ptr<const CollectPlan> plan) {
  const std::lock_guard lock(shared_plan().mutex);
  shared_plan().plan.swap(plan);
}

std::shared_ptr<const CollectPlan> collect_plan() {
  const std::lock_guard lock(shared_plan().mutex);
  return shared_plan().plan;
}

GlContext::GlContext(Driver& driver, EGLDisplay display, EGLContext handle)
    : driver_(driver), display_(display), handle_(handle), gl_(driver.raw()), queries_(gl_) {
  const Version version = parse_version(gl_.glGetString(GL_VERSION));
  is_es_ = version.es;
  runs_on_vulkan_ = names_vulkan(gl_.glGetString(GL_RENDERER));
  has_pixel_buffers_ = version.number >= (version.es ? 30 : 21);
}

void GlContext::begin_segment() noexcept {
  segment_open_ = true;
  ignore_exceptions([this] { start_collectors(*collect_plan()); });
}

void GlContext::start_collectors(const CollectPlan& plan) {
  const auto choice = plan.driver_choices.find(&driver_);
  const bool of_driver = choice != plan.driver_choices.end();
  if (plan.queries == 0 && !of_driver) return;
  const CountingErrorGuard guard(gl_, stashed_error_);
  queries_.open(plan.queries);
  if (!of_driver) return;
  if (!driver_segments_) {
    driver_segments_ = std::make_unique<DriverSegments>(gl_, driver_.counters());
    measured_.store(driver_segments_.get(), std::memory_order_release);
  }
  driver_segments_->open(choice->second);
}

void GlContext::end_segment() {
  queries_.close();
  if (driver_segments_) driver_segments_->close();
  segment_open_ = false;
}

void GlContext::collect_results(bool wait) {
  queries_.collect_results(wait);
  if (driver_segments_) driver_segments_->collect_results(wait);
}

void GlContext::end_frame() noexcept {
  const bool errors = (collecting() & kCollectApi) && collect_plan()->errors;
  if (!segment_open_ && !errors) return;
  const CountingErrorGuard guard(gl_, stashed_error_);
  ignore_exceptions([this] {
    // Results of earlier frames only: asking for one of this frame would make the driver flush.
    collect_results(false);
    end_segment();
  });
}

void GlContext::resolve_pending() noexcept {
  end_frame();
  if (!queries_.is_busy() && !(driver_segments_ && driver_segments_->is_busy())) return;
  const CountingErrorGuard guard(gl_, stashed_error_);
  ignore_exceptions([this] { collect_results(true); });
}

void GlContext::finish() noexcept {
  const CountingErrorGuard guard(gl_, stashed_error_);
  gl_.glFinish();
}

QueryKinds GlContext::probe_query_kinds() {
  const CountingErrorGuard guard(gl_, stashed_error_);
  return queries_.probe_kinds();
}

DriverCounters GlContext::list_driver_counters() {
  const CountingErrorGuard guard(gl_, stashed_error_);
  return DriverCounters::list(gl_);
}

void GlContext::before_query(GLenum target, GLuint index) noexcept {
  if (!queries_.is_open()) return;
  const CountingErrorGuard guard(gl_, stashed_error_);
  ignore_exceptions([&] { queries_.before_application(target, index); });
}

void GlContext::after_query(GLenum target, GLuint index) noexcept {
  if (!queries_.is_open()) return;
  const CountingErrorGuard guard(gl_, stashed_error_);
  ignore_exceptions([&] { queries_.after_application(target, index); });
}

void GlContext::before_monitor_begins() noexcept {
  if (!driver_segments_) return;
  const CountingErrorGuard guard(gl_, stashed_error_);
  ignore_exceptions([&] { driver_segments_->before_application_begins(); });
}

void GlContext::after_monitor_ends() noexcept {
  if (!driver_segments_) return;
  const CountingErrorGuard guard(gl_, stashed_error_);
  ignore_exceptions([&] { driver_segments_->after_application_ends(); });
}

uint64_t GlContext::patch_vertices() const {
  GLint vertices = 0;
  gl_.glGetIntegerv(GL_PATCH_VERTICES, &vertices);
  return vertices > 0 ? static_cast<uint64_t>(vertices) : 0;
}

uint64_t GlContext::work_group_size() const {
  GLint program = 0;
  gl_.glGetIntegerv(GL_CURRENT_PROGRAM, &program);
  if (program == 0 && gl_.glGetProgramPipelineiv != nullptr) {
    GLint pipeline = 0;
    gl_.glGetIntegerv(GL_PROGRAM_PIPELINE_BINDING, &pipeline);
    if (pipeline != 0) {
      gl_.glGetProgramPipelineiv(static_cast<GLuint>(pipeline), GL_COMPUTE_SHADER, &program);
    }
  }
  if (program == 0) return 0;
  GLint size[3] = {0, 0, 0};
  gl_.glGetProgramiv(static_cast<GLuint>(program), GL_COMPUTE_WORK_GROUP_SIZE, size);
  return static_cast<uint64_t>(size[0]) * static_cast<uint64_t>(size[1]) *
         static_cast<uint64_t>(size[2]);
}

bool GlContext::is_bound(GLenum binding) const {
  GLint name = 0;
  gl_.glGetIntegerv(binding, &name);
  return name != 0;
}

uint64_t GlContext::driver_total(size_t index) const {
  const DriverSegments* const segments = measured_.load(std::memory_order_acquire);
  return segments != nullptr ? segments->total(index) : 0;
}

namespace {

using Key = std::pair<const Driver*, EGLContext>;

class ContextRegistry {
 public:
  static ContextRegistry& instance() {
    static ContextRegistry& registry = kept(std::make_unique<ContextRegistry>());
    return registry;
  }

  std::shared_ptr<GlContext> find_or_add(Driver& driver, EGLDisplay display, EGLContext handle) {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<GlContext>& entry = contexts_[{&driver, handle}];
    if (!entry) {
      auto fresh = std::make_shared<GlContext>(driver, display, handle);
      all_.push_back(fresh);
      entry = std::move(fresh);
    }
    return entry;
  }

  template <typename Condition>
  void forget(Condition condition) {
    const std::lock_guard lock(mutex_);
    std::erase_if(contexts_, [&](const auto& entry) { return condition(*entry.second); });
  }

  // Removes contexts that are no longer used; only their sums remain.
  void drop_finished() {
    const std::lock_guard lock(mutex_);
    std::erase_if(all_, [this](const std::shared_ptr<GlContext>& context) {
      if (context.use_count() > 1) return false;
      retire(*context);
      return true;
    });
  }

  uint64_t sum_of_queries(QueryKind kind) {
    const std::lock_guard lock(mutex_);
    uint64_t sum = retired_queries_[static_cast<size_t>(kind)];
    for (const auto& context : all_) sum += context->query_total(kind);
    return sum;
  }

  uint64_t sum_of_driver_counter(const Driver& driver, const DriverCounter& counter) {
    const std::lock_guard lock(mutex_);
    const auto retired = retired_driver_.find({&driver, counter.total});
    uint64_t sum = retired != retired_driver_.end() ? retired->second : 0;
    for (const auto& context : all_) {
      if (&context->driver() != &driver) continue;
      const uint64_t value = context->driver_total(counter.total);
      if (!counter.is_level) sum += value;
      if (counter.is_level && value != 0) sum = value;
    }
    return sum;
  }

 private:
  void retire(const GlContext& context) {
    for (size_t i = 0; i < kQueryKindCount; i++) {
      retired_queries_[i] += context.query_total(static_cast<QueryKind>(i));
    }
    for (const auto& group : context.driver().counters()->groups) {
      for (const DriverCounter& counter : group.counters) {
        uint64_t& kept = retired_driver_[{&context.driver(), counter.total}];
        const uint64_t value = context.driver_total(counter.total);
        kept = counter.is_level ? value : kept + value;
      }
    }
  }

  std::mutex mutex_;
  std::map<Key, std::shared_ptr<GlContext>> contexts_;  // contexts whose handle is still valid
  std::vector<std::shared_ptr<GlContext>> all_;  // these, and those still current in some thread
  std::array<uint64_t, kQueryKindCount> retired_queries_{};
  std::map<std::pair<const Driver*, size_t>, uint64_t> retired_driver_;
};

// Keeps the current context's object alive while the thread uses it.
struct Current {
  std::shared_ptr<GlContext> context;
  ~Current() { t_hot.context = nullptr; }
};

}  // namespace

void set_current_context(Driver& driver, EGLDisplay display, EGLContext handle) noexcept try {
  std::shared_ptr<GlContext> next;
  if (handle != EGL_NO_CONTEXT)
    next = ContextRegistry::instance().find_or_add(driver, display, handle);
  Current& current = PerThread<Current>::of_this_thread();
  use_table(driver.gl());
  t_hot.context = next.get();
  const bool left_one = current.context != nullptr;
  current.context = std::move(next);
  if (left_one) ContextRegistry::instance().drop_finished();
} catch (const std::exception&) {
  t_hot.context = nullptr;  // the object of the context before, if any, stays until the next call
}

void resolve_current_context() noexcept try {
  if (t_hot.context != nullptr) t_hot.context->resolve_pending();
} catch (const std::exception&) {
}

void finish_current_context() noexcept {
  if (t_hot.context != nullptr) t_hot.context->finish();
}

void forget_context(Driver& driver, EGLDisplay display, EGLContext handle) noexcept {
  ContextRegistry::instance().forget([&](const GlContext& context) {
    return &context.driver() == &driver && context.display() == display &&
           context.handle() == handle;
  });
  ContextRegistry::instance().drop_finished();
}

void forget_display(Driver& driver, EGLDisplay display) noexcept {
  ContextRegistry::instance().forget([&](const GlContext& context) {
    return &context.driver() == &driver && context.display() == display;
  });
  ContextRegistry::instance().drop_finished();
}

uint64_t sum_of_queries(QueryKind kind) { return ContextRegistry::instance().sum_of_queries(kind); }

uint64_t sum_of_driver_counter(const Driver& driver, const DriverCounter& counter) {
  return ContextRegistry::instance().sum_of_driver_counter(driver, counter);
}

}  // namespace tally::egl
