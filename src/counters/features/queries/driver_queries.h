// Queries of one command buffer whose pools have counters of the driver and of the layer
// (performance/driver_counters.h): the driver's half of their commands, and the command buffers
// that the layer executes before and after the application's.
//
// The driver's queries are reset before the first pass in which the driver counts: this discards
// what it counted in the layer's pass.
//
// Used by one thread at a time, as the command buffer is.
#pragma once

#include <vulkan/vulkan_core.h>

#include <memory>
#include <optional>
#include <vector>

#include "counters/features/performance/counters.h"
#include "counters/features/queries/pool.h"

namespace tally::counters {

struct DeviceContext;
class QueryRecorder;

class DriverQueries {
 public:
  DriverQueries(const DeviceContext& device, VkCommandBuffer commands)
      : device_(device), commands_(commands) {}
  ~DriverQueries();
  DriverQueries(const DriverQueries&) = delete;
  DriverQueries& operator=(const DriverQueries&) = delete;

  void reset();
  void begin(const std::shared_ptr<QueryPool>& pool, uint32_t query);
  void end(const QueryPool& pool, uint32_t query);
  // The command buffer resets queries.
  void note_reset(const std::shared_ptr<QueryPool>& pool, uint32_t first, uint32_t queries);
  // A query whose counters are all the driver's.
  void note_driver_only() { driver_only_ = true; }
  void execute(const DriverQueries& secondary);

  // True if the driver requires that no command follows in this command buffer.
  bool sealed() const { return sealed_; }
  // At the end of a primary command buffer.
  VkResult record_others(QueryRecorder& queries);
  // True if the driver must receive the pass index of the application.
  bool has_driver_only() const { return driver_only_; }

  // The pass of the next submission; nothing where there is no such query.
  std::optional<MixedPass> take_pass();
  // The commands that are executed before that pass, as their own submission; or null.
  VkCommandBuffer ahead_of(const MixedPass& pass) const {
    return pass.ours == 1 ? dropped_ : VK_NULL_HANDLE;
  }
  // Appends the command buffer, with what is executed before and after it in every pass.
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

  const DeviceContext& device_;
  VkCommandBuffer commands_;
  std::vector<Event> events_;
  bool sealed_ = false;
  bool driver_only_ = false;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  VkCommandBuffer times_ = VK_NULL_HANDLE;    // before: resets the layer's timestamps
  VkCommandBuffer dropped_ = VK_NULL_HANDLE;  // before: resets the driver's queries
  VkCommandBuffer resolve_ = VK_NULL_HANDLE;  // after: resolves the layer's results
};

}  // namespace tally::counters
