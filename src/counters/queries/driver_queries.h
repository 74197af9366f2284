// Queries of pools with counters of the driver and of the layer (performance/driver_counters.h) in
// one command buffer: which there are, the driver's half of their commands, and the command buffers
// of the layer's that a submission executes ahead of the application's and behind it.
//
// Ahead of the first pass in which the driver counts, its queries are reset: what it has counted in
// the layer's pass is dropped.
//
// Used by one thread at a time, as the command buffer is.
#pragma once

#include <vulkan/vulkan_core.h>

#include <memory>
#include <optional>
#include <vector>

#include "counters/queries/pool.h"

namespace tally::counters {

class Device;
class QueryRecorder;

class DriverQueries {
 public:
  DriverQueries(Device& device, VkCommandBuffer commands) : device_(device), commands_(commands) {}
  ~DriverQueries();
  DriverQueries(const DriverQueries&) = delete;
  DriverQueries& operator=(const DriverQueries&) = delete;

  void reset();
  void begin(const std::shared_ptr<QueryPool>& pool, uint32_t query);
  void end(const QueryPool& pool, uint32_t query);
  // Of queries that the command buffer resets.
  void note_reset(const std::shared_ptr<QueryPool>& pool, uint32_t first, uint32_t queries);
  // A query of the driver's alone.
  void note_drivers_own() { drivers_own_ = true; }
  void execute(const DriverQueries& secondary);

  // The driver wants the end of a query to be the last command.
  bool sealed() const { return sealed_; }
  // At the end of a primary command buffer.
  VkResult record_others(QueryRecorder& queries);
  // Whether the driver is to be told the application's pass.
  bool drivers_own() const { return drivers_own_; }

  // A submission: the pass that it makes; nothing where there is no such query.
  std::optional<MixedPass> take_pass();
  // What a submission of its own executes before that pass, or null.
  VkCommandBuffer ahead_of(const MixedPass& pass) const {
    return pass.ours == 1 ? dropped_ : VK_NULL_HANDLE;
  }
  // The command buffer with what is executed around it in every pass.
  void append(std::vector<VkCommandBuffer>& all) const;

 private:
  struct Event {
    std::shared_ptr<QueryPool> pool;
    uint32_t first = 0;
    uint32_t resets = 0;  // 0: the query runs
  };
  template <typename Record>
  VkResult record(VkCommandBuffer& commands, Record&& record);
  template <typename Visit>
  bool for_each_pool(Visit&& visit) const;

  Device& device_;
  VkCommandBuffer commands_;
  std::vector<Event> events_;
  bool sealed_ = false;
  bool drivers_own_ = false;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  VkCommandBuffer times_ = VK_NULL_HANDLE;    // ahead: resets the layer's timestamps
  VkCommandBuffer dropped_ = VK_NULL_HANDLE;  // ahead: resets the driver's queries
  VkCommandBuffer flush_ = VK_NULL_HANDLE;    // behind: works out the layer's results
};

}  // namespace tally::counters
