#include "egl/gl/hot.h"

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

#include "egl/driver/lifetime.h"

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

constexpr std::array<std::string_view, kFnCount> kGlNames = {
#define GL(function, handler) #function,
#include "egl/gl/functions.def"
#undef GL
};

// Indices of kGlNames sorted by name, because filling a driver's table takes a few thousand
// lookups.
constexpr std::array<uint16_t, kFnCount> kByName = [] {
  std::array<uint16_t, kFnCount> order{};
  for (size_t i = 0; i < kFnCount; i++) order[i] = static_cast<uint16_t>(i);
  std::sort(order.begin(), order.end(),
            [](uint16_t a, uint16_t b) { return kGlNames[a] < kGlNames[b]; });
  return order;
}();

}  // namespace

constinit GlTable g_default_table;
constinit thread_local HotThread t_hot;
constinit std::atomic<const GlTable*> g_only_table{nullptr};
constinit std::atomic<uint32_t> g_collecting{0};
constinit std::atomic<void (*)() noexcept> g_before_first_call{nullptr};

void use_table(const GlTable& table) {
  static constinit std::mutex mutex;
  static constinit const GlTable* first = nullptr;
  t_hot.gl = &table;
  const std::lock_guard lock(mutex);
  if (first == nullptr) {
    first = &table;
    g_only_table.store(&table, std::memory_order_release);
  } else if (first != &table) {
    g_only_table.store(nullptr, std::memory_order_release);
  }
}

void set_collecting(uint32_t bits) {
  uint32_t old = g_collecting.load(std::memory_order_relaxed);
  while (!g_collecting.compare_exchange_weak(old, bits | (old & kAwaitCall),
                                             std::memory_order_relaxed)) {
  }
}

const char* name_of(Fn function) { return kGlNames[static_cast<size_t>(function)].data(); }

std::optional<Fn> find_function(std::string_view name) {
  const auto found =
      std::lower_bound(kByName.begin(), kByName.end(), name,
                       [](uint16_t i, std::string_view n) { return kGlNames[i] < n; });
  if (found == kByName.end() || kGlNames[*found] != name) return std::nullopt;
  return static_cast<Fn>(*found);
}

ApiCounts& counts_for_this_thread() {
  if (t_hot.counts == nullptr) {
    ApiCounts* const counts = lease_counts();
    t_hot.counts = counts != nullptr ? counts : &g_shared;
  }
  return *t_hot.counts;
}

ApiTotals api_totals() { return CountRegistry::instance().totals(); }

}  // namespace tally::egl
