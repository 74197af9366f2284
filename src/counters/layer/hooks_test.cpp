#include <gtest/gtest.h>

#include <algorithm>

#include "counters/layer/entry_points.h"

namespace tally::counters {
namespace {

// find() sees only one of two rows of a name.
TEST(Hooks, are_named_once) {
  for (const auto table : {&instance_hooks, &physical_device_hooks, &device_hooks}) {
    EXPECT_EQ(std::ranges::adjacent_find(table(), {}, &Hook::name), table().end());
  }
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
