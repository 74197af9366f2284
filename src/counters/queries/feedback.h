// Transform feedback for emulated queries. Commands with the same active queries form a span: where
// a query begins or ends while transform feedback is active, a span ends and another begins. The
// GPU processes the spans in order (glsl/query_feedback.comp). The rows of a span have the number
// of primitives that each stream needs. How many fit follows from the sizes of the buffers and from
// the offsets at which transform feedback began.
#pragma once

#include <vulkan/vulkan_core.h>

#include <array>

#include "counters/objects/draw_facts.h"
#include "counters/queries/pool.h"
#include "counters/shader/program.h"
#include "probe/query.h"

namespace tally::counters {

inline constexpr uint32_t kFeedbackBuffers = spirv::FeedbackLayout::kBuffers;

// The rows of a span: primitives of each stream.
const QueryKind& feedback_kind();
// The rows that the GPU counts from arguments in buffers.
const std::vector<uint64_t>& feedback_pairs();

// Where the driver stores its counters when transform feedback begins.
struct FeedbackStart {
  VkBuffer buffer = VK_NULL_HANDLE;
  VkDeviceSize offset = 0;      // of the counter of buffer 0; the others follow at 4 bytes each
  VkDeviceAddress address = 0;  // the same place
};

// Describes the captured buffers of a pipeline. `sizes`: of the bound buffers.
probe::QueryFeedback describe_feedback(const Program& program, const DrawFacts& facts,
                                       const std::array<VkDeviceSize, kFeedbackBuffers>& sizes);

}  // namespace tally::counters
