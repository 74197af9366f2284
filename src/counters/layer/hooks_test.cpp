#include <gtest/gtest.h>

#include "counters/layer/entry_points.h"

namespace tally::counters {
namespace {

TEST(Hooks, are_sorted_and_named_once) {
  EXPECT_TRUE(vk::hooks_are_sorted(instance_hooks()));
  EXPECT_TRUE(vk::hooks_are_sorted(physical_device_hooks()));
  EXPECT_TRUE(vk::hooks_are_sorted(device_hooks()));
}

TEST(Hooks, without_an_enabled_extension_only_the_way_into_the_layer_is_intercepted) {
  std::vector<std::string_view> always;
  for (const vk::Hook& hook : device_hooks()) {
    if (hook.condition == kAlways) always.push_back(hook.name);
  }
  EXPECT_EQ(always, (std::vector<std::string_view>{"vkDestroyDevice", "vkGetDeviceProcAddr"}));
}

}  // namespace
}  // namespace tally::counters
