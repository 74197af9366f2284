// Names, tags and private data of our objects. If one of our handles reached the driver, it would
// crash and the validation layer below would report an error.
#include "api/kit.h"

namespace tally::test {
namespace {

class Names : public CountersTest {
 protected:
  static constexpr VkObjectType kType = VK_OBJECT_TYPE_SHADER_INSTRUMENTATION_ARM;
  static uint64_t bits(const Instrumentation& instrumentation) {
    return reinterpret_cast<uint64_t>(instrumentation.handle());
  }
};

TEST_F(Names, a_name_and_a_tag_stay_with_the_layer) {
  const Instrumentation instrumentation(context());
  const VkDebugUtilsObjectNameInfoEXT name{VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT,
                                           nullptr, kType, bits(instrumentation),
                                           "counts of the frame"};
  EXPECT_EQ(function<PFN_vkSetDebugUtilsObjectNameEXT>("vkSetDebugUtilsObjectNameEXT")(
                context().device(), &name),
            VK_SUCCESS);
  const VkDebugUtilsObjectNameInfoEXT nameless{VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT,
                                               nullptr, kType, bits(instrumentation), nullptr};
  EXPECT_EQ(function<PFN_vkSetDebugUtilsObjectNameEXT>("vkSetDebugUtilsObjectNameEXT")(
                context().device(), &nameless),
            VK_SUCCESS);
  const VkDebugUtilsObjectTagInfoEXT tag{VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_TAG_INFO_EXT,
                                         nullptr,
                                         kType,
                                         bits(instrumentation),
                                         1,
                                         4,
                                         "tag"};
  EXPECT_EQ(function<PFN_vkSetDebugUtilsObjectTagEXT>("vkSetDebugUtilsObjectTagEXT")(
                context().device(), &tag),
            VK_SUCCESS);
}

TEST_F(Names, other_objects_are_still_named) {
  const VkDebugUtilsObjectNameInfoEXT name{VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT,
                                           nullptr, VK_OBJECT_TYPE_COMMAND_POOL,
                                           (uint64_t)context().command_pool(), "pool"};
  EXPECT_EQ(function<PFN_vkSetDebugUtilsObjectNameEXT>("vkSetDebugUtilsObjectNameEXT")(
                context().device(), &name),
            VK_SUCCESS);
}

TEST_F(Names, private_data_is_kept_for_each_object_and_slot) {
  VkPhysicalDeviceVulkan13Features core{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES};
  VkPhysicalDeviceFeatures2 features{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &core};
  vkGetPhysicalDeviceFeatures2(context().gpu(), &features);
  ASSERT_TRUE(core.privateData);
  const VkPrivateDataSlotCreateInfo info{VK_STRUCTURE_TYPE_PRIVATE_DATA_SLOT_CREATE_INFO};
  VkPrivateDataSlot slots[2] = {};
  for (VkPrivateDataSlot& slot : slots)
    check(vkCreatePrivateDataSlot(context().device(), &info, nullptr, &slot));
  const Instrumentation first(context()), second(context());
  const VkDevice device = context().device();
  check(vkSetPrivateData(device, kType, bits(first), slots[0], 1));
  check(vkSetPrivateData(device, kType, bits(first), slots[1], 2));
  check(vkSetPrivateData(device, kType, bits(second), slots[0], 3));
  check(vkSetPrivateData(device, kType, bits(second), slots[0], 4));
  const auto get = [&](const Instrumentation& object, VkPrivateDataSlot slot) {
    uint64_t data = 99;
    vkGetPrivateData(device, kType, bits(object), slot, &data);
    return data;
  };
  EXPECT_EQ(get(first, slots[0]), 1u);
  EXPECT_EQ(get(first, slots[1]), 2u);
  EXPECT_EQ(get(second, slots[0]), 4u);
  EXPECT_EQ(get(second, slots[1]), 0u);
  for (VkPrivateDataSlot slot : slots) vkDestroyPrivateDataSlot(device, slot, nullptr);
}

}  // namespace
}  // namespace tally::test
