#include "counted_draws.h"

#include <fmt/format.h>

#include <stdexcept>

#include "tiny_draws_counted.frag.h"
#include "tiny_draws_counted.vert.h"

namespace tally::bench {
namespace {

constexpr uint32_t kWords = 8;     // of a record of 32 bytes, as the layer's
constexpr uint32_t kVertices = 3;  // of a draw

struct Push {
  VkDeviceAddress records;
  uint32_t mask;
};
constexpr uint32_t kPushBytes = sizeof(VkDeviceAddress) + sizeof(uint32_t);

}  // namespace

CountedDraws::CountedDraws(test::Context& context, uint32_t records, bool vertices)
    : record_count_(records),
      vertices_(vertices ? VK_TRUE : VK_FALSE),
      layout_(test::make_pipeline_layout(context, {}, kPushBytes)),
      records_(context, VkDeviceSize{records} * kWords * 4, Residence::Visible) {
  const VkSpecializationMapEntry entry{0, 0, sizeof vertices_};
  const VkSpecializationInfo specialization{1, &entry, sizeof vertices_, &vertices_};
  pipeline_ = test::make_graphics_pipeline(
      context, {.stages = {{.stage = VK_SHADER_STAGE_VERTEX_BIT,
                            .code = tiny_draws_counted_vert,
                            .specialization = &specialization},
                           {VK_SHADER_STAGE_FRAGMENT_BIT, tiny_draws_counted_frag}},
                .layout = layout_});
}

void CountedDraws::clear(VkCommandBuffer commands) const {
  vkCmdFillBuffer(commands, records_, 0, VK_WHOLE_SIZE, 0);
  test::full_barrier(commands);
}

void CountedDraws::bind(VkCommandBuffer commands) const {
  const bool each = record_count_ == TinyDraws::kMaxDraws;
  const Push push{records_.address(), each ? ~0u : record_count_ - 1};
  vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, pipeline_);
  vkCmdPushConstants(commands, layout_, VK_SHADER_STAGE_ALL, 0, kPushBytes, &push);
}

void CountedDraws::require_counts() const {
  const auto* words = reinterpret_cast<const uint32_t*>(records_.words().data());
  const uint32_t draws = TinyDraws::kMaxDraws / record_count_;
  for (uint32_t i = 0; i < record_count_; ++i) {
    const uint32_t vertices = words[i * kWords], fragments = words[i * kWords + 1];
    const uint32_t wanted = vertices_ == VK_TRUE ? draws * kVertices : 0;
    if (vertices == wanted && fragments == words[1] && fragments >= draws) continue;
    throw std::runtime_error(fmt::format("record {} of {}: {} vertices, {} fragments, not {}", i,
                                         record_count_, vertices, fragments, words[1]));
  }
}

}  // namespace tally::bench
