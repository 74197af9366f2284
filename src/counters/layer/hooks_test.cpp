#include <gtest/gtest.h>

#include "counters/layer/entry_points.h"

namespace tally::counters {
namespace {

TEST(Hooks, are_named_once) {
  EXPECT_TRUE(instance_hooks().has_each_name_once());
  EXPECT_TRUE(physical_device_hooks().has_each_name_once());
  EXPECT_TRUE(device_hooks().has_each_name_once());
}

TEST(Hooks, without_an_enabled_extension_only_the_way_into_the_layer_is_intercepted) {
  std::vector<std::string_view> always;
  for (const Hook& hook : device_hooks()) {
    if (hook.condition == HookCondition::Always) always.push_back(hook.name);
  }
  EXPECT_EQ(always, (std::vector<std::string_view>{"vkDestroyDevice", "vkGetDeviceProcAddr"}));
}

}  // namespace
}  // namespace tally::counters
