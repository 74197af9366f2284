#include "egl/gl/api_counts.h"

#include <mutex>
#include <new>
#include <vector>

#include "egl/gl/hot.h"

namespace tally::egl {
namespace {

// Counts outlive their thread, because their sum must not decrease. The next new thread continues
// with them.
class CountRegistry {
 public:
  static CountRegistry& instance() {
    static auto* const registry =
        new CountRegistry;  // never destroyed: threads may outlive static objects
    return *registry;
  }

  ApiCounts* take() try {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) {
      free_.reserve(all_.size() + 1);  // so that give_back() cannot fail
      return all_.emplace_back(new ApiCounts);
    }
    ApiCounts* const counts = free_.back();
    free_.pop_back();
    return counts;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
  void give_back(ApiCounts* counts) {
    const std::lock_guard lock(mutex_);
    free_.push_back(counts);
  }
  ApiTotals totals() {
    const std::lock_guard lock(mutex_);
    ApiTotals sum{};
    for (const ApiCounts* counts : all_) counts->add_to(sum);
    return sum;
  }

 private:
  std::mutex mutex_;
  std::vector<ApiCounts*> all_;
  std::vector<ApiCounts*> free_;
};

// Returns a thread's counts when it ends. If GL is called later (from other destructors of the
// thread), the thread takes new counts, which are never returned; this costs only their memory.
struct Lease {
  ApiCounts* counts = nullptr;
  ~Lease() {
    if (counts == nullptr) return;
    t_hot.counts = nullptr;
    CountRegistry::instance().give_back(counts);
  }
};
thread_local Lease t_lease;
ApiCounts g_shared;

}  // namespace

ApiCounts& counts_for_this_thread() {
  if (t_hot.counts == nullptr) {
    ApiCounts* const counts = CountRegistry::instance().take();
    t_lease.counts = counts;
    t_hot.counts = counts != nullptr ? counts : &g_shared;
  }
  return *t_hot.counts;
}

ApiTotals api_totals() { return CountRegistry::instance().totals(); }

}  // namespace tally::egl
