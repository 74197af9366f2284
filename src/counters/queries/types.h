// Which query types the layer emulates on a device, and what their queries count.
#pragma once

#include <vulkan/vulkan_core.h>

#include <optional>

#include "counters/base/options.h"
#include "counters/base/physical_device.h"
#include "counters/queries/pool.h"

namespace tally::counters {

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
