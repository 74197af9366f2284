// Which query types the layer emulates on a device, and which it offers to.
#pragma once

#include <vulkan/vulkan_core.h>

#include <optional>

#include "counters/layer/options.h"
#include "counters/layer/physical_device.h"
#include "counters/queries/pool.h"

namespace tally::counters {

// VK_QUERY_TYPE_VIDEO_ENCODE_FEEDBACK_KHR, which older headers do not name.
inline constexpr auto kVideoEncodeFeedback = static_cast<VkQueryType>(1000299000);

// Of one device: enabled by the application, and emulated.
struct EmulatedQueries {
  bool statistics = false;
  bool mesh_statistics = false;  // the bits of task and mesh shaders, and the mesh query
  bool occlusion = false;
  bool primitives_generated = false;
  bool result_status = false;
  bool timestamps = false;
  bool transform_feedback = false;
  bool performance = false;        // VK_KHR_performance_query
  bool performance_intel = false;  // VK_INTEL_performance_query

  bool any() const {
    return statistics || mesh_statistics || occlusion || primitives_generated || result_status ||
           timestamps || transform_feedback || performance || performance_intel;
  }
  // Whether shaders may have to count.
  bool counts_shaders() const {
    return statistics || mesh_statistics || occlusion || primitives_generated ||
           transform_feedback || performance || performance_intel;
  }
  // Whether commands that do no work are counted too.
  bool counts_commands() const { return performance || performance_intel; }
  // Those of the statistics whose pools are the layer's own.
  VkQueryPipelineStatisticFlags statistics_of(VkQueryPipelineStatisticFlags bits) const;
  // Whether pools of this type are the layer's own.
  bool emulates(const VkQueryPoolCreateInfo& info) const;
};

// Whether the statistics of a pool of the driver's count what the layer dispatches.
inline bool counts_dispatches(VkQueryPipelineStatisticFlags statistics) {
  return (statistics & VK_QUERY_PIPELINE_STATISTIC_COMPUTE_SHADER_INVOCATIONS_BIT) != 0;
}

// What the queries of a pool count. Nothing where a performance query names no counter of the
// device.
std::optional<QueryKind> query_kind(const VkQueryPoolCreateInfo& info, const PhysicalDevice& gpu,
                                    const Options& options);

}  // namespace tally::counters
