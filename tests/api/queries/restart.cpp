#include "api/queries/restart.h"

#include <cstring>
#include <random>

#include "patch.vert.h"
#include "plain.frag.h"

namespace tally::test {
namespace {

uint32_t bytes_of(VkIndexType type) {
  return type == VK_INDEX_TYPE_UINT32 ? 4 : type == VK_INDEX_TYPE_UINT16 ? 2 : 1;
}

}  // namespace

Assembled assemble(const Step& step, std::span<const uint32_t> indices) {
  Assembled result;
  uint32_t run = 0;
  for (const uint32_t index : indices) {
    if (index == kRestart) {
      run = 0;
      continue;
    }
    ++result.vertices;
    ++run;
    if (run >= step.first && (run - step.first) % step.further == 0) ++result.primitives;
  }
  return result;
}

Indices some_indices(size_t count) {
  std::mt19937 random(7);
  Indices indices;
  while (indices.size() < count) {
    for (uint32_t run = random() % 12; run > 0; --run) indices.push_back(random() % 200);
    indices.push_back(kRestart);
  }
  indices.resize(count);
  indices.back() = 5;
  return indices;
}

void store(std::span<std::byte> at, VkIndexType type, std::span<const uint32_t> indices) {
  const uint32_t bytes = bytes_of(type);
  for (size_t i = 0; i < indices.size(); ++i) {
    std::memcpy(at.data() + i * bytes, &indices[i], bytes);
  }
}

template <typename Feature>
void PrimitiveRestart::add(ContextOptions& options, const char* extension, Feature& feature) {
  feature = {feature.sType};
  if (!context().has_extension(extension)) return;
  VkPhysicalDeviceFeatures2 all{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &feature};
  vkGetPhysicalDeviceFeatures2(context().gpu(), &all);
  options.device_extensions.push_back(extension);
  feature.pNext = options.device_next;
  options.device_next = &feature;
}

bool PrimitiveRestart::start_source(bool emulated) {
  start(emulated);
  ContextOptions options;
  add(options, VK_EXT_INDEX_TYPE_UINT8_EXTENSION_NAME, bytes_);
  add(options, VK_EXT_PRIMITIVE_TOPOLOGY_LIST_RESTART_EXTENSION_NAME, lists_);
  add(options, VK_EXT_MULTI_DRAW_EXTENSION_NAME, multi_draw_);
  add(options, VK_KHR_MAINTENANCE_5_EXTENSION_NAME, maintenance_);
  start(emulated, options);
  const bool has_statistics = context().features().pipelineStatisticsQuery == VK_TRUE;
  EXPECT_TRUE(has_statistics || !emulated);
  return has_statistics;
}

Pipeline PrimitiveRestart::make_restarting(VkPrimitiveTopology topology) {
  GraphicsPipelineInfo info;
  info.topology = topology;
  info.primitive_restart = true;
  return make_graphics({{kVertex, patch_vert}, {kFragment, plain_frag}}, info);
}

Buffer PrimitiveRestart::make_indices(VkIndexType type, std::span<const uint32_t> indices) {
  Buffer buffer(context(), indices.size() * bytes_of(type), VK_BUFFER_USAGE_INDEX_BUFFER_BIT);
  store(buffer.as<std::byte>(), type, indices);
  return buffer;
}

void PrimitiveRestart::expect_assembled(const std::vector<uint64_t>& numbers, bool emulated,
                                        const Assembled& all) {
  if (emulated) {
    EXPECT_EQ(numbers[kAssembledVertices], all.vertices);
  } else {
    EXPECT_LE(numbers[kAssembledVertices], all.vertices);
  }
  EXPECT_EQ(numbers[kAssembledPrimitives], all.primitives);
  EXPECT_EQ(numbers[kClippingInvocations], all.primitives);
}

}  // namespace tally::test
