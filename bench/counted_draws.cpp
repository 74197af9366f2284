#include "counted_draws.h"

#include <fmt/format.h>

#include <span>
#include <stdexcept>

#include "tiny_draws_counted.frag.h"
#include "tiny_draws_counted.vert.h"
#include "tiny_draws_numbered.vert.h"

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

CountedDraws::CountedDraws(test::Context& context, const CountedDrawsInfo& info)
    : info_(info),
      layout_(test::make_pipeline_layout(context, {}, kPushBytes)),
      records_(context, VkDeviceSize{info.records} * kWords * 4, Residence::Visible) {
  const VkBool32 counts = info.vertices ? VK_TRUE : VK_FALSE;
  const VkSpecializationMapEntry entry{0, 0, sizeof counts};
  const VkSpecializationInfo specialization{1, &entry, sizeof counts, &counts};
  const std::span<const uint32_t> numbered = tiny_draws_numbered_vert;
  pipeline_ = test::make_graphics_pipeline(
      context, {.stages = {{.stage = VK_SHADER_STAGE_VERTEX_BIT,
                            .code = info.by_instance ? numbered : tiny_draws_counted_vert,
                            .specialization = &specialization},
                           {VK_SHADER_STAGE_FRAGMENT_BIT, tiny_draws_counted_frag}},
                .layout = layout_});
}

void CountedDraws::clear(VkCommandBuffer commands) const {
  vkCmdFillBuffer(commands, records_, 0, VK_WHOLE_SIZE, 0);
  test::full_barrier(commands);
}

void CountedDraws::bind(VkCommandBuffer commands) const {
  const bool each = info_.records == TinyDraws::kMaxDraws;
  const Push push{records_.address(), each ? ~0u : info_.records - 1};
  vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, pipeline_);
  vkCmdPushConstants(commands, layout_, VK_SHADER_STAGE_ALL, 0, kPushBytes, &push);
}

void CountedDraws::require_counts() const {
  const auto* words = reinterpret_cast<const uint32_t*>(records_.words().data());
  const uint32_t draws = TinyDraws::kMaxDraws / info_.records;
  for (uint32_t i = 0; i < info_.records; ++i) {
    const uint32_t vertices = words[i * kWords], fragments = words[i * kWords + 1];
    const uint32_t wanted = info_.vertices ? draws * kVertices : 0;
    if (vertices == wanted && fragments == words[1] && fragments >= draws) continue;
    throw std::runtime_error(fmt::format("record {} of {}: {} vertices, {} fragments, not {}", i,
                                         info_.records, vertices, fragments, words[1]));
  }
}

}  // namespace tally::bench
