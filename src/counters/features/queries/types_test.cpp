#include "counters/features/queries/pool.h"

#include <gtest/gtest.h>

namespace tally::counters {
namespace {

TEST(QueryTypes, that_only_a_driver_can_answer_are_never_emulated) {
  EmulatedQueries all;
  all.statistics = all.mesh_statistics = all.occlusion = all.primitives_generated = true;
  all.result_status = all.performance = all.performance_intel = true;
  for (const VkQueryType type :
       {VK_QUERY_TYPE_ACCELERATION_STRUCTURE_COMPACTED_SIZE_KHR,
        VK_QUERY_TYPE_ACCELERATION_STRUCTURE_SERIALIZATION_SIZE_KHR,
        VK_QUERY_TYPE_ACCELERATION_STRUCTURE_COMPACTED_SIZE_NV,
        VK_QUERY_TYPE_ACCELERATION_STRUCTURE_SERIALIZATION_BOTTOM_LEVEL_POINTERS_KHR,
        VK_QUERY_TYPE_ACCELERATION_STRUCTURE_SIZE_KHR,
        VK_QUERY_TYPE_MICROMAP_SERIALIZATION_SIZE_EXT, VK_QUERY_TYPE_MICROMAP_COMPACTED_SIZE_EXT,
        kVideoEncodeFeedback}) {
    const VkQueryPoolCreateInfo info{
        VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO, nullptr, 0, type, 1, 0};
    EXPECT_FALSE(all.emulates(info)) << type;
  }
}

}  // namespace
}  // namespace tally::counters
