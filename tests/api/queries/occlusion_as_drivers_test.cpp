// Occlusion queries where the driver decides which samples are dropped: alpha to coverage, single
// samples of a pixel. The numbers are the same without the layer and with it.
#include "alpha.frag.h"
#include "api/queries/occlusion_scene.h"
#include "early_alpha.frag.h"
#include "early_stores.frag.h"
#include "sloped.vert.h"
#include "stores.frag.h"

namespace tally::test {
namespace {

class OcclusionAsTheDrivers : public OcclusionScene {
 protected:
  static GraphicsPipelineInfo by_alpha(GraphicsPipelineInfo info = {}) {
    info.alpha_to_coverage = true;
    return info;
  }
  template <typename Scene>
  void expect_equal(const Scene& scene, ContextOptions options = {}) {
    restart(false, options);
    const std::vector<uint64_t> drivers = scene();
    restart(true, options);
    EXPECT_EQ(scene(), drivers);
    numbers_ = drivers;
  }
  const std::vector<uint64_t>& numbers() const { return numbers_; }

 private:
  std::vector<uint64_t> numbers_;
};

TEST_F(OcclusionAsTheDrivers, alpha_to_coverage_drops_what_it_drops_without_the_layer) {
  for (const VkSampleCountFlagBits count : kSampleCounts) {
    const auto of = [&](Code fragment, GraphicsPipelineInfo info) {
      info.samples = count;
      return samples(fragment, by_alpha(std::move(info)));
    };
    expect_equal([&] {
      return std::vector{
          of(alpha_frag, {}),
          of(alpha_frag, with_depth(VK_COMPARE_OP_LESS_OR_EQUAL)),
          of(alpha_frag, with_depth(VK_COMPARE_OP_ALWAYS)),
          of(alpha_frag, with_depth(VK_COMPARE_OP_LESS)),
          of(early_alpha_frag, with_depth(VK_COMPARE_OP_LESS)),
          of(plain_frag, {}),
      };
    });
    if (count == VK_SAMPLE_COUNT_1_BIT) continue;
    EXPECT_GT(numbers()[0], 0u);
    EXPECT_LT(numbers()[0], kPixels * count) << "some samples are dropped";
    EXPECT_EQ(numbers()[3], 0u);
    EXPECT_EQ(numbers()[4], 0u);
    EXPECT_EQ(numbers()[5], kPixels * count);
  }
}

TEST_F(OcclusionAsTheDrivers, alpha_to_coverage_may_be_dynamic) {
  VkPhysicalDeviceExtendedDynamicState3FeaturesEXT dynamic{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTENDED_DYNAMIC_STATE_3_FEATURES_EXT};
  VkPhysicalDeviceFeatures2 features{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &dynamic};
  vkGetPhysicalDeviceFeatures2(context().gpu(), &features);
  if (!dynamic.extendedDynamicState3AlphaToCoverageEnable) GTEST_SKIP() << "the driver has none";
  dynamic = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTENDED_DYNAMIC_STATE_3_FEATURES_EXT};
  dynamic.extendedDynamicState3AlphaToCoverageEnable = VK_TRUE;
  const auto scene = [&] {
    const auto enable = context().function<PFN_vkCmdSetAlphaToCoverageEnableEXT>(
        "vkCmdSetAlphaToCoverageEnableEXT");
    std::vector<uint64_t> numbers;
    for (const bool depth : {false, true}) {
      GraphicsPipelineInfo info =
          depth ? with_depth(VK_COMPARE_OP_LESS_OR_EQUAL) : GraphicsPipelineInfo{};
      info.samples = VK_SAMPLE_COUNT_4_BIT;
      info.dynamic = {VK_DYNAMIC_STATE_ALPHA_TO_COVERAGE_ENABLE_EXT};
      for (const VkBool32 enabled : {VK_TRUE, VK_FALSE}) {
        numbers.push_back(samples({.fragment = alpha_frag, .info = info},
                                  [&](VkCommandBuffer commands) { enable(commands, enabled); }));
      }
    }
    return numbers;
  };
  expect_equal(scene, {.device_extensions = {VK_EXT_EXTENDED_DYNAMIC_STATE_3_EXTENSION_NAME},
                       .device_next = &dynamic});
  for (const size_t on : {0, 2}) {
    EXPECT_GT(numbers()[on], 0u);
    EXPECT_LT(numbers()[on], 4 * kPixels);
    EXPECT_EQ(numbers()[on + 1], 4 * kPixels);
  }
}

TEST_F(OcclusionAsTheDrivers, depth_drops_single_samples_of_a_pixel) {
  const auto scene = [&] {
    std::vector<uint64_t> numbers;
    for (const Code fragment : {Code(plain_frag), Code(stores_frag), Code(early_stores_frag)}) {
      for (const VkCompareOp compare : {VK_COMPARE_OP_LESS, VK_COMPARE_OP_GREATER_OR_EQUAL}) {
        GraphicsPipelineInfo info = with_depth(compare, false);
        info.samples = VK_SAMPLE_COUNT_4_BIT;
        numbers.push_back(samples({sloped_vert, fragment, info}));
      }
    }
    return numbers;
  };
  expect_equal(scene);
  for (const size_t i : {0, 2, 4}) {
    EXPECT_EQ(numbers()[i] + numbers()[i + 1], 4 * kPixels);
    EXPECT_NE(numbers()[i] % (4 * 64), 0u) << "the edge divides a row of pixels";
  }
}

TEST_F(OcclusionAsTheDrivers, early_tests_before_alpha_to_coverage_count_what_passes_them) {
  restart(true);
  GraphicsPipelineInfo info = by_alpha(with_depth(VK_COMPARE_OP_ALWAYS));
  info.samples = VK_SAMPLE_COUNT_4_BIT;
  EXPECT_EQ(samples(early_alpha_frag, info), 4 * kPixels);
}

}  // namespace
}  // namespace tally::test
