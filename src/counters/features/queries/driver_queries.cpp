#include "counters/features/queries/driver_queries.h"

#include <algorithm>
#include <array>

#include "counters/base/physical_device.h"
#include "counters/features/queries/recorder.h"
#include "vk/own_call.h"

namespace tally::counters {

DriverQueries::~DriverQueries() { reset(); }

void DriverQueries::reset() {
  events_.clear();
  sealed_ = driver_only_ = false;
  times_ = dropped_ = resolve_ = VK_NULL_HANDLE;
  if (pool_ == VK_NULL_HANDLE) return;
  device_.next.DestroyCommandPool(device_.handle, pool_, nullptr);
  pool_ = VK_NULL_HANDLE;
}

void DriverQueries::begin(const std::shared_ptr<QueryPool>& pool, uint32_t query) {
  events_.push_back({pool, query});
  device_.next.CmdBeginQuery(commands_, pool->driver()->handle(), query, 0);
}

void DriverQueries::end(const QueryPool& pool, uint32_t query) {
  device_.next.CmdEndQuery(commands_, pool.driver()->handle(), query);
  if (pool.driver()->needs().whole_buffer) sealed_ = true;
}

void DriverQueries::note_reset(const std::shared_ptr<QueryPool>& pool, uint32_t first,
                               uint32_t queries) {
  events_.push_back({pool, first, queries});
}

void DriverQueries::execute(const DriverQueries& secondary) {
  events_.insert(events_.end(), secondary.events_.begin(), secondary.events_.end());
  driver_only_ = driver_only_ || secondary.driver_only_;
}

// Visits the pool and index of each query that runs, until a visit returns true.
template <typename Visit>
bool DriverQueries::for_each_pool(Visit&& visit) const {
  return std::ranges::any_of(events_, [&](const Event& event) {
    return event.resets == 0 && visit(*event.pool, event.first);
  });
}

// The application may submit its command buffer again while it is pending, and with it this one.
template <typename Record>
VkResult DriverQueries::record(VkCommandBuffer& commands, Record&& record) {
  const DeviceTable& next = device_.next;
  if (pool_ == VK_NULL_HANDLE) {
    const VkCommandPoolCreateInfo info{.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                       .queueFamilyIndex = events_[0].pool->driver()->family()};
    TALLY_TRY(vk::own("vkCreateCommandPool",
                      next.CreateCommandPool(device_.handle, &info, nullptr, &pool_), pool_));
  }
  const VkCommandBufferAllocateInfo info{.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                         .commandPool = pool_,
                                         .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                         .commandBufferCount = 1};
  TALLY_TRY(vk::own("vkAllocateCommandBuffers",
                    next.AllocateCommandBuffers(device_.handle, &info, &commands)));
  if (const auto set_loader_data = device_.set_loader_data) {
    set_loader_data(device_.handle, commands);
  }
  const VkCommandBufferBeginInfo begin{.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                       .flags = VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT};
  TALLY_TRY(vk::own("vkBeginCommandBuffer", next.BeginCommandBuffer(commands, &begin)));
  TALLY_TRY(record());
  return vk::own("vkEndCommandBuffer", next.EndCommandBuffer(commands));
}

VkResult DriverQueries::record_others(QueryRecorder& queries) {
  VkResult result = VK_SUCCESS;
  if (sealed_ && queries.ready()) {
    result = record(resolve_, [&] { return queries.resolve_into(resolve_); });
  }
  const auto timed = [](const QueryPool& pool, uint32_t) {
    return pool.begin_times() != VK_NULL_HANDLE;
  };
  const auto apart = [](const QueryPool& pool, uint32_t) {
    return pool.driver()->needs().counts_apart;
  };
  const auto reset_all = [&](VkCommandBuffer commands, auto&& pools_of) {
    for_each_pool([&](const QueryPool& pool, uint32_t query) {
      for (const VkQueryPool one : pools_of(pool)) {
        if (one != VK_NULL_HANDLE) device_.next.CmdResetQueryPool(commands, one, query, 1);
      }
      return false;
    });
    return VK_SUCCESS;
  };
  if (result == VK_SUCCESS && for_each_pool(timed)) {
    result = record(times_, [&] {
      return reset_all(times_, [](const QueryPool& pool) {
        return std::array{pool.begin_times(), pool.end_times()};
      });
    });
  }
  if (result == VK_SUCCESS && for_each_pool(apart)) {
    result = record(dropped_, [&] {
      return reset_all(dropped_, [](const QueryPool& pool) {
        const bool drops = pool.driver()->needs().counts_apart;
        return std::array{drops ? pool.driver()->handle() : VK_NULL_HANDLE};
      });
    });
  }
  return result;
}

std::optional<MixedPass> DriverQueries::take_pass() {
  std::optional<MixedPass> pass;
  for (const Event& event : events_) {
    DriverPool& driver = *event.pool->driver();
    if (event.resets != 0) {
      driver.restart(event.first, event.resets);
      continue;
    }
    const MixedPass next = driver.next_pass(event.first);
    if (!pass) pass = next;
  }
  return pass;
}

void DriverQueries::append(std::vector<VkCommandBuffer>& all) const {
  const auto add = [&](VkCommandBuffer one) {
    if (one != VK_NULL_HANDLE) all.push_back(one);
  };
  add(times_);
  add(commands_);
  add(resolve_);
}

}  // namespace tally::counters
