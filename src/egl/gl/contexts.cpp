#include "egl/gl/contexts.h"

#include <array>
#include <exception>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "egl/driver/driver.h"
#include "egl/driver/lifetime.h"

namespace tally::egl {
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
