// Draws with primitive-restart indices: a device with all relevant features of the driver, and
// primitives assembled one by one, which give the expected counts.
#pragma once

#include <span>

#include "api/queries/scenes.h"
#include "tally/vulkan_newer.h"

namespace tally::test {

inline constexpr uint32_t kRestart = ~0u;
using Indices = std::vector<uint32_t>;

struct Assembled {
  uint64_t vertices = 0;
  uint64_t primitives = 0;

  Assembled operator+(const Assembled& other) const {
    return {vertices + other.vertices, primitives + other.primitives};
  }
  Assembled operator*(uint64_t instances) const {
    return {vertices * instances, primitives * instances};
  }
};

// The number of vertices of the first primitive of a run, and of each further primitive.
struct Step {
  VkPrimitiveTopology topology;
  uint32_t first, further;
};
inline constexpr Step kStrip{VK_PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP, 3, 1};

Assembled assemble(const Step& step, std::span<const uint32_t> indices);

// Runs of all lengths, including empty ones; the last run extends to the end.
Indices some_indices(size_t count);

void store(std::span<std::byte> at, VkIndexType type, std::span<const uint32_t> indices);

class PrimitiveRestart : public QueryTypes {
 protected:
  // Creates a device with the features below that it supports. Returns whether it has statistics.
  bool start_source(bool emulated);
  bool has_bytes() const { return bytes_.indexTypeUint8 == VK_TRUE; }
  bool restarts_lists() const { return lists_.primitiveTopologyListRestart == VK_TRUE; }
  bool restarts_patches() const { return lists_.primitiveTopologyPatchListRestart == VK_TRUE; }
  bool has_multi_draw() const { return multi_draw_.multiDraw == VK_TRUE; }
  bool binds_sizes() const { return maintenance_.maintenance5 == VK_TRUE; }

  Pipeline make_restarting(VkPrimitiveTopology topology);
  // An index buffer that begins with the indices.
  Buffer make_indices(VkIndexType type, std::span<const uint32_t> indices);

  // The expected counts of assembled primitives, which no stage changes. A driver need not count
  // the vertices of incomplete primitives.
  static void expect_assembled(const std::vector<uint64_t>& numbers, bool emulated,
                               const Assembled& all);

 private:
  template <typename Feature>
  void add(ContextOptions& options, const char* extension, Feature& feature);

  VkPhysicalDeviceIndexTypeUint8FeaturesEXT bytes_{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_INDEX_TYPE_UINT8_FEATURES_EXT};
  VkPhysicalDevicePrimitiveTopologyListRestartFeaturesEXT lists_{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PRIMITIVE_TOPOLOGY_LIST_RESTART_FEATURES_EXT};
  VkPhysicalDeviceMultiDrawFeaturesEXT multi_draw_{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MULTI_DRAW_FEATURES_EXT};
  VkPhysicalDeviceMaintenance5FeaturesKHR maintenance_{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_5_FEATURES_KHR};
};

}  // namespace tally::test
