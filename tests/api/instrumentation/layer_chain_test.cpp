// Third-party layers above ours.
#include <gtest/gtest.h>

#include <tally/vulkan_arm.h>

#include "support/context.h"

namespace tally::test {
namespace {

constexpr const char* kNaive = "VK_LAYER_TALLY_naive";

TEST(LayerChain, counters_answers_a_layer_that_asks_without_an_instance) {
  const Context context({.layers = {kNaive, "VK_LAYER_TALLY_counters"}});
  EXPECT_TRUE(context.has_extension(VK_ARM_SHADER_INSTRUMENTATION_EXTENSION_NAME));
}

TEST(LayerChain, capture_answers_a_layer_that_asks_without_an_instance) {
  const Context context({.layers = {kNaive, "VK_LAYER_TALLY_capture", "VK_LAYER_TALLY_counters"}});
  EXPECT_NE(context.device(), VK_NULL_HANDLE);
}

}  // namespace
}  // namespace tally::test
