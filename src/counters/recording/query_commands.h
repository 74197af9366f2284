// The commands of the application on emulated queries: tells the query recorders, keeps the flags
// of the command buffer, and restores what dispatches of the layer change.
#pragma once

#include <vulkan/vulkan_core.h>

#include "counters/recording/command_state.h"

namespace tally::counters {

// Call only where the command buffer has a QueryRecorder, but for resolve_ready().
class QueryCommands {
 public:
  explicit QueryCommands(CommandState& state) : state_(state) {}

  void begin(const QueryKey& key);
  void end(const QueryKey& key);
  void reset(const std::shared_ptr<QueryPool>& pool, uint32_t first, uint32_t count);
  void write_timestamp(const std::shared_ptr<QueryPool>& pool, uint32_t query);
  void copy_results(const QueryPool& pool, const QueryPool::Request& request,
                    const NamedMemory& target);
  void inherit(const VkCommandBufferBeginInfo& info);
  void end_pass();
  // A query of the driver that counts compute invocations has ended.
  void end_driver_statistics();
  // Resolves pending work where that is allowed.
  void resolve_ready();
  // The set of active queries has changed.
  void update_flags();

  // --- overrides of VK_INTEL_performance_query
  void drop_actions(bool drop) { state_.status.assign(RecordingStatus::kDropActions, drop); }
  // Waits for all commands, then flushes and invalidates all caches.
  void flush_caches();

 private:
  void resolve_for(const QueryPool& pool);
  void resolve();

  CommandState& state_;
};

}  // namespace tally::counters
