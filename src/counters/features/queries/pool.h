// Which query types the layer emulates on a device, and what their queries count.
#pragma once

#include <vulkan/vulkan_core.h>

#include <memory>
#include <optional>
#include <vector>

#include "counters/base/options.h"
#include "counters/base/physical_device.h"
#include "counters/memory/chunk.h"
#include "counters/shaders/program.h"

namespace tally::counters {

class DriverPool;
struct IntelReport;

// A VkQueryPool whose queries the layer emulates. Its handle is a small pool of the driver,
// so that names and private data work. The slots of the queries (probe/query.h) are in memory that
// the GPU writes and the host reads.
//
// Any thread may read results. The application synchronizes resets.

// The counters of a pool's queries.
struct QueryKind {
  VkQueryType type = VK_QUERY_TYPE_OCCLUSION;
  std::vector<QueryRow> rows;
  std::vector<QueryResult> results;
  uint32_t passes = 1;      // submissions that a query needs
  uint32_t count_pass = 0;  // counts everything but the time
  uint32_t time_pass = 0;
  bool typed = false;                // results are VkPerformanceCounterResultKHR
  VkQueryPoolCreateFlags flags = 0;  // of the pools that the layer creates for it
  // VK_INTEL_performance_query: the catalogue number of each result. The first rows are the sources
  // Marker, StreamMarker and HasMarkers.
  std::vector<uint32_t> numbers = {};

  // True if a row counts in shaders.
  bool needs_shaders() const;
  // True if there is more to it than what shaders count.
  bool needs_commands() const;
  // How results are converted to 32 bits: timestamps wrap, so that differences stay correct, and
  // other numbers saturate.
  bool wraps() const { return type == VK_QUERY_TYPE_TIMESTAMP; }
  // The row of the time, or probe::QueryFinish::kNoRow.
  uint32_t time_row() const;
};

class QueryPool {
 public:
  // Null, with the reason in `result`, if there is no memory.
  static std::shared_ptr<QueryPool> create(const MemoryContext& context, QueryKind kind,
                                           uint32_t count, VkResult& result);
  ~QueryPool();
  QueryPool(const QueryPool&) = delete;
  QueryPool& operator=(const QueryPool&) = delete;

  const QueryKind& kind() const { return kind_; }
  uint32_t count() const { return count_; }
  uint32_t slot_bytes() const { return slot_bytes_; }
  VkDeviceAddress slot(uint32_t query) const;
  VkDeviceSize slot_offset(uint32_t query) const { return VkDeviceSize{slot_bytes_} * query; }
  VkBuffer buffer() const { return memory_->buffer(); }
  // True if queries count in shaders; whether the host has to count commands; and the rows that the
  // GPU counts from arguments of commands (queries/indirect_counts.h).
  bool needs_shaders() const { return needs_shaders_; }
  bool needs_commands() const { return needs_commands_; }
  const std::vector<uint64_t>& indirect_pairs() const { return indirect_pairs_; }
  // True if the time is taken in another pass than the counts.
  bool times_apart() const {
    return needs_shaders_ && !driver_ && begin_times_ != VK_NULL_HANDLE &&
           kind_.time_pass != kind_.count_pass;
  }
  uint32_t all_passes() const { return (1u << kind_.passes) - 1; }
  bool contains(uint32_t first, uint32_t queries) const {
    return first <= count_ && queries <= count_ - first;
  }

  // The driver's half of a pool with counters of the driver; else null.
  DriverPool* driver() const { return driver_.get(); }
  void set_driver(std::unique_ptr<DriverPool> driver);

  // Timestamps of the driver at begin and end, if the kind takes the time.
  VkQueryPool begin_times() const { return begin_times_; }
  VkQueryPool end_times() const { return end_times_; }

  void reset(uint32_t first, uint32_t queries) const;
  void record_reset(VkCommandBuffer commands, uint32_t first, uint32_t queries) const;

  // vkGetQueryPoolResults. VK_NOT_READY if a query is unavailable and the flags do not wait;
  // VK_ERROR_DEVICE_LOST if they wait and the device is lost.
  struct Request {
    uint32_t first = 0, count = 0;
    size_t size = 0;
    void* data = nullptr;
    VkDeviceSize stride = 0;
    VkQueryResultFlags flags = 0;
  };
  VkResult results(const Request& request) const;

  // The size of a query's result, availability or status included, without the driver's half.
  uint32_t result_bytes(VkQueryResultFlags flags) const;

 private:
  QueryPool(const MemoryContext& context, QueryKind kind, uint32_t count);
  VkResult initialize();
  VkResult make_times(VkQueryPool& pool) const;
  // VK_SUCCESS, or VK_NOT_READY; if it waits, VK_SUCCESS or an error of the wait.
  VkResult available(uint32_t query, bool wait) const;
  uint64_t row(uint32_t query, uint32_t row) const;
  uint32_t errors(uint32_t query) const;
  VkPerformanceCounterResultKHR typed(uint32_t query, const QueryResult& result) const;
  IntelReport report(uint32_t query) const;
  VkResult intel_results(const Request& request) const;
  VkResult mixed_results(const Request& request) const;
  void write(uint32_t query, bool available, VkQueryResultFlags flags, std::byte* target) const;

  const MemoryContext& context_;
  QueryKind kind_;
  bool needs_shaders_;
  bool needs_commands_;
  std::vector<uint64_t> indirect_pairs_;
  uint32_t count_;
  uint32_t slot_bytes_;
  std::unique_ptr<Chunk> memory_;
  std::unique_ptr<DriverPool> driver_;
  VkQueryPool begin_times_ = VK_NULL_HANDLE;
  VkQueryPool end_times_ = VK_NULL_HANDLE;
};

// VK_QUERY_TYPE_VIDEO_ENCODE_FEEDBACK_KHR, which older headers lack.
inline constexpr auto kVideoEncodeFeedback = static_cast<VkQueryType>(1000299000);

// The query types that the application enabled on a device and the layer emulates.
struct EmulatedQueries {
  bool statistics = false;
  bool mesh_statistics = false;  // task and mesh shader statistics, and the mesh query
  bool occlusion = false;
  bool primitives_generated = false;
  bool result_status = false;
  bool timestamps = false;
  bool transform_feedback = false;
  bool elapsed_time = false;       // VK_QCOM_elapsed_timer_query
  bool performance = false;        // VK_KHR_performance_query
  bool performance_intel = false;  // VK_INTEL_performance_query

  bool any() const {
    return statistics || mesh_statistics || occlusion || primitives_generated || result_status ||
           timestamps || transform_feedback || elapsed_time || performance || performance_intel;
  }
  // True if some types count in shaders.
  bool counts_shaders() const {
    return statistics || mesh_statistics || occlusion || primitives_generated ||
           transform_feedback || performance || performance_intel;
  }
  // True if commands that are not action commands are counted too.
  bool counts_commands() const { return performance || performance_intel; }
  // The emulated ones of the statistics.
  VkQueryPipelineStatisticFlags statistics_of(VkQueryPipelineStatisticFlags bits) const;
  // True if the layer emulates pools of this type.
  bool emulates(const VkQueryPoolCreateInfo& info) const;
};

// True if statistics of the driver would count dispatches of the layer.
inline bool counts_dispatches(VkQueryPipelineStatisticFlags statistics) {
  return (statistics & VK_QUERY_PIPELINE_STATISTIC_COMPUTE_SHADER_INVOCATIONS_BIT) != 0;
}

// The counters of a pool's queries. Empty if a counter of a performance query does not exist.
std::optional<QueryKind> query_kind(const VkQueryPoolCreateInfo& info, const PhysicalDevice& gpu,
                                    const Options& options);

}  // namespace tally::counters
