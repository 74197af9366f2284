#include "egl/gl/api_counts.h"

#include <memory>
#include <mutex>
#include <new>
#include <vector>

#include "egl/driver/lifetime.h"
#include "egl/gl/hot.h"

namespace tally::egl {
namespace {

// Counts outlive their thread, because their sum must not decrease. The next new thread continues
// with them.
class CountRegistry {
 public:
  static CountRegistry& instance() {
    static CountRegistry& registry = kept(std::make_unique<CountRegistry>());
    return registry;
  }

  ApiCounts* take() try {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) {
      free_.reserve(all_.size() + 1);  // so that give_back() cannot fail
      return all_.emplace_back(std::make_unique<ApiCounts>()).get();
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
    for (const auto& counts : all_) counts->add_to(sum);
    return sum;
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<ApiCounts>> all_;
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
ApiCounts g_shared;

ApiCounts* lease_counts() try {
  ApiCounts* const counts = CountRegistry::instance().take();  // the registry outlives the leases
  PerThread<Lease>::of_this_thread().counts = counts;
  return counts;
} catch (const std::bad_alloc&) {
  return nullptr;
}

}  // namespace

ApiCounts& counts_for_this_thread() {
  if (t_hot.counts == nullptr) {
    ApiCounts* const counts = lease_counts();
    t_hot.counts = counts != nullptr ? counts : &g_shared;
  }
  return *t_hot.counts;
}

ApiTotals api_totals() { return CountRegistry::instance().totals(); }

}  // namespace tally::egl
