#include "counters/queries/feedback.h"

#include "counters/queries/indirect_counts.h"

namespace tally::counters {
namespace {

using Streams = QuerySource::Streams;

QueryKind make_feedback_kind() {
  QueryKind kind;
  kind.type = VK_QUERY_TYPE_TRANSFORM_FEEDBACK_STREAM_EXT;
  for (uint32_t stream = 0; stream < probe::QueryFeedback::kStreams; ++stream) {
    QueryRow& row = kind.rows.emplace_back();
    row.push_back({.kind = QuerySource::Kind::Primitives,
                   .stages = kPrimitiveMakers,
                   .streams = Streams::One,
                   .stream = static_cast<uint8_t>(stream)});
    if (stream == 0) row.push_back({.command = CommandMetric::LastPrimitives});
  }
  return kind;
}

// The layout of the last stage before rasterization.
spirv::FeedbackLayout layout_of(const Program& program) {
  spirv::FeedbackLayout layout;
  for (const StageProgram& stage : program.stages) {
    if (stage.stage != VK_SHADER_STAGE_FRAGMENT_BIT) layout = stage.info->feedback;
  }
  return layout;
}

}  // namespace

const QueryKind& feedback_kind() {
  static const QueryKind kind = make_feedback_kind();
  return kind;
}

const std::vector<uint64_t>& feedback_pairs() {
  static const std::vector<uint64_t> pairs = indirect_pairs(feedback_kind().rows);
  return pairs;
}

probe::QueryFeedback describe_feedback(const Program& program, const DrawFacts& facts,
                                       const std::array<VkDeviceSize, kFeedbackBuffers>& sizes) {
  const spirv::FeedbackLayout layout = layout_of(program);
  probe::QueryFeedback result;
  result.primitive_vertices =
      layout.primitive_vertices != 0 ? layout.primitive_vertices : primitive_vertices(facts);
  for (uint32_t i = 0; i < kFeedbackBuffers; ++i) {
    const spirv::FeedbackLayout::Buffer& buffer = layout.buffers[i];
    result.buffers[i] = {sizes[i], buffer.stride, buffer.stream};
  }
  return result;
}

}  // namespace tally::counters
