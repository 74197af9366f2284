// Transform feedback as emulated queries see it: what is bound, and the span of commands that is
// counted now. Where a query begins or ends while transform feedback is active, a span ends and
// another begins. The GPU goes through the spans in order (glsl/query_feedback.comp): what a stream
// needs it has counted into the span's rows, and what fits follows from the buffers' sizes and from
// where transform feedback began in them.
#pragma once

#include <vulkan/vulkan_core.h>

#include <array>

#include "counters/objects/draw_facts.h"
#include "counters/queries/pool.h"
#include "counters/shader/program.h"
#include "probe/query.h"

namespace tally::counters {

inline constexpr uint32_t kFeedbackBuffers = spirv::FeedbackLayout::kBuffers;

// The rows that a span counts into: primitives of each stream.
const QueryKind& feedback_kind();
// The rows of its commands whose arguments stand in buffers.
const std::vector<uint64_t>& feedback_pairs();

// Where counters of the driver are kept when transform feedback begins at them.
struct FeedbackStart {
  VkBuffer buffer = VK_NULL_HANDLE;
  VkDeviceSize offset = 0;  // of the counter of buffer 0; the others follow, 4 bytes each
};

// The captured buffers of a pipeline, bound buffers' sizes in `sizes`.
probe::QueryFeedback describe_feedback(const Program& program, const DrawFacts& facts,
                                       const std::array<VkDeviceSize, kFeedbackBuffers>& sizes);

}  // namespace tally::counters
