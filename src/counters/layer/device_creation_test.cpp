#include <gtest/gtest.h>

#include <cstring>

#include "counters/layer/device_creation.h"
#include "tally/vulkan_arm.h"
#include "tally/vulkan_newest.h"

namespace tally::counters {
namespace {

class DeviceCreationTest : public testing::Test {
 protected:
  DeviceCreationTest() {
    gpu_.api_version = VK_API_VERSION_1_3;
    gpu_.buffer_device_address = gpu_.vertex_stores = gpu_.fragment_stores = gpu_.int64 =
        gpu_.int64_atomics = true;
    gpu_.queue_families = {{VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT, 4, 0, {}}};
    gpu_.memory.memoryTypeCount = 1;
    gpu_.memory.memoryTypes[0].propertyFlags =
        VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT;
    queue_.queueCount = 1;
    queue_.pQueuePriorities = &priority_;
    info_.pNext = &ours_;
    info_.queueCreateInfoCount = 1;
    info_.pQueueCreateInfos = &queue_;
    info_.enabledExtensionCount = 1;
    info_.ppEnabledExtensionNames = &extension_;
  }

  template <typename T>
  static const T* chained(const DeviceCreation& creation, VkStructureType type) {
    return vk::find_in_chain<T>(creation.info().pNext, type);
  }

  PhysicalDevice gpu_;
  Options options_;
  float priority_ = 1;
  const char* extension_ = VK_ARM_SHADER_INSTRUMENTATION_EXTENSION_NAME;
  VkPhysicalDeviceShaderInstrumentationFeaturesARM ours_{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INSTRUMENTATION_FEATURES_ARM, nullptr, VK_TRUE};
  VkDeviceQueueCreateInfo queue_{VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO};
  VkDeviceCreateInfo info_{VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO};
};

TEST_F(DeviceCreationTest, our_extension_and_struct_do_not_reach_the_driver) {
  const DeviceCreation creation(info_, gpu_, options_);
  EXPECT_TRUE(creation.extension_enabled());
  EXPECT_TRUE(creation.instrumentation_enabled());
  EXPECT_EQ(creation.info().enabledExtensionCount, 0u);
  EXPECT_EQ(chained<VkBaseInStructure>(creation, ours_.sType), nullptr);
  EXPECT_EQ(info_.pNext, &ours_);
  EXPECT_EQ(creation.refusal(), VK_SUCCESS);
}

TEST_F(DeviceCreationTest, extensions_that_counters_miss_are_enabled_and_known) {
  const char* extensions[] = {extension_, VK_NV_RAY_TRACING_EXTENSION_NAME,
                              VK_NV_DEVICE_GENERATED_COMMANDS_EXTENSION_NAME};
  info_.enabledExtensionCount = 3;
  info_.ppEnabledExtensionNames = extensions;
  const DeviceCreation counted(info_, gpu_, options_);
  EXPECT_EQ(counted.refusal(), VK_SUCCESS);
  ASSERT_EQ(counted.uncounted_extensions().size(), 2u);
  EXPECT_EQ(counted.uncounted_extensions()[0]->name, VK_NV_RAY_TRACING_EXTENSION_NAME);
  EXPECT_TRUE(counted.has_extension(VK_NV_RAY_TRACING_EXTENSION_NAME));

  ours_.shaderInstrumentation = VK_FALSE;
  const DeviceCreation uncounted(info_, gpu_, options_);
  EXPECT_EQ(uncounted.refusal(), VK_SUCCESS);
  EXPECT_TRUE(uncounted.uncounted_extensions().empty()) << "nothing is counted";
}

TEST_F(DeviceCreationTest, extensions_that_emulated_queries_miss_are_known) {
  const char* extension = VK_NV_RAY_TRACING_EXTENSION_NAME;
  info_.ppEnabledExtensionNames = &extension;
  info_.pNext = nullptr;
  const VkPhysicalDeviceFeatures core{.pipelineStatisticsQuery = VK_TRUE};
  info_.pEnabledFeatures = &core;
  const DeviceCreation creation(info_, gpu_, options_);
  ASSERT_TRUE(creation.emulated_queries().statistics);
  EXPECT_EQ(creation.refusal(), VK_SUCCESS);
  EXPECT_EQ(creation.uncounted_extensions().size(), 1u) << "a message names it";
}

TEST_F(DeviceCreationTest, the_multiprocessor_is_read_where_queries_alone_count) {
  using Feature = VkPhysicalDeviceShaderSMBuiltinsFeaturesNV;
  constexpr auto kType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SM_BUILTINS_FEATURES_NV;
  const VkPhysicalDeviceFeatures core{.pipelineStatisticsQuery = VK_TRUE};
  info_.pEnabledFeatures = &core;
  gpu_.sm_builtins = true;
  const DeviceCreation instruments(info_, gpu_, options_);
  EXPECT_FALSE(instruments.sm_builtins());
  EXPECT_FALSE(instruments.has_extension(VK_NV_SHADER_SM_BUILTINS_EXTENSION_NAME));
  EXPECT_EQ(chained<Feature>(instruments, kType), nullptr);
  info_.enabledExtensionCount = 0;
  info_.pNext = nullptr;
  const DeviceCreation queries(info_, gpu_, options_);
  EXPECT_TRUE(queries.sm_builtins());
  EXPECT_TRUE(queries.has_extension(VK_NV_SHADER_SM_BUILTINS_EXTENSION_NAME));
  ASSERT_NE(chained<Feature>(queries, kType), nullptr);
  EXPECT_TRUE(chained<Feature>(queries, kType)->shaderSMBuiltins);
  gpu_.sm_builtins = false;
  EXPECT_FALSE(DeviceCreation(info_, gpu_, options_).sm_builtins());
}

TEST_F(DeviceCreationTest, sums_of_64_bits_are_enabled_for_drivers_that_prefer_small_code) {
  using Feature = VkPhysicalDeviceShaderSubgroupExtendedTypesFeatures;
  constexpr auto kType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SUBGROUP_EXTENDED_TYPES_FEATURES;
  gpu_.wide_subgroups = true;
  gpu_.subgroup_size = 8;
  EXPECT_EQ(chained<Feature>(DeviceCreation(info_, gpu_, options_), kType), nullptr);
  gpu_.driver_id = VK_DRIVER_ID_MESA_LLVMPIPE;
  const DeviceCreation creation(info_, gpu_, options_);
  EXPECT_TRUE(creation.wide_subgroups());
  ASSERT_NE(chained<Feature>(creation, kType), nullptr);
  EXPECT_TRUE(chained<Feature>(creation, kType)->shaderSubgroupExtendedTypes);
  gpu_.wide_subgroups = false;
  EXPECT_FALSE(DeviceCreation(info_, gpu_, options_).wide_subgroups());
}

TEST_F(DeviceCreationTest, features_are_switched_on_in_structs_of_their_own_where_there_are_none) {
  const DeviceCreation creation(info_, gpu_, options_);
  ASSERT_NE(creation.info().pEnabledFeatures, nullptr);
  EXPECT_TRUE(creation.info().pEnabledFeatures->fragmentStoresAndAtomics);
  EXPECT_TRUE(creation.info().pEnabledFeatures->vertexPipelineStoresAndAtomics);
  EXPECT_TRUE(creation.info().pEnabledFeatures->shaderInt64);
  const auto* address = chained<VkPhysicalDeviceBufferDeviceAddressFeatures>(
      creation, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES);
  ASSERT_NE(address, nullptr);
  EXPECT_TRUE(address->bufferDeviceAddress);
}

TEST_F(DeviceCreationTest, features_are_switched_on_in_the_structs_that_the_application_chains) {
  VkPhysicalDeviceVulkan12Features core{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
                                        &ours_};
  VkPhysicalDeviceFeatures2 base{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &core};
  info_.pNext = &base;
  const DeviceCreation creation(info_, gpu_, options_);
  EXPECT_EQ(creation.info().pEnabledFeatures, nullptr);
  EXPECT_TRUE(
      chained<VkPhysicalDeviceFeatures2>(creation, base.sType)->features.fragmentStoresAndAtomics);
  const auto* edited = chained<VkPhysicalDeviceVulkan12Features>(creation, core.sType);
  EXPECT_TRUE(edited->bufferDeviceAddress);
  EXPECT_TRUE(edited->shaderBufferInt64Atomics);
  EXPECT_EQ(chained<VkBaseInStructure>(
                creation, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES),
            nullptr);
  EXPECT_FALSE(core.bufferDeviceAddress) << "the application's own struct was written";
  EXPECT_FALSE(base.features.fragmentStoresAndAtomics);
}

TEST_F(DeviceCreationTest, a_device_of_1_1_gets_the_extensions) {
  gpu_.api_version = VK_API_VERSION_1_1;
  const DeviceCreation creation(info_, gpu_, options_);
  EXPECT_TRUE(creation.has_extension(VK_KHR_BUFFER_DEVICE_ADDRESS_EXTENSION_NAME));
  EXPECT_TRUE(creation.has_extension(VK_KHR_SHADER_ATOMIC_INT64_EXTENSION_NAME));
}

TEST_F(DeviceCreationTest, the_older_address_extension_is_not_mixed_with_the_newer) {
  const char* extensions[] = {extension_, VK_EXT_BUFFER_DEVICE_ADDRESS_EXTENSION_NAME};
  info_.enabledExtensionCount = 2;
  info_.ppEnabledExtensionNames = extensions;
  gpu_.api_version = VK_API_VERSION_1_1;
  const DeviceCreation creation(info_, gpu_, options_);
  EXPECT_FALSE(creation.has_extension(VK_KHR_BUFFER_DEVICE_ADDRESS_EXTENSION_NAME));
  const auto* address = chained<VkPhysicalDeviceBufferDeviceAddressFeaturesEXT>(
      creation, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES_EXT);
  ASSERT_NE(address, nullptr);
  EXPECT_TRUE(address->bufferDeviceAddress);
}

TEST_F(DeviceCreationTest, nothing_is_changed_without_the_feature) {
  ours_.shaderInstrumentation = VK_FALSE;
  const DeviceCreation creation(info_, gpu_, options_);
  EXPECT_TRUE(creation.extension_enabled());
  EXPECT_FALSE(creation.instrumentation_enabled());
  EXPECT_EQ(creation.info().pEnabledFeatures, nullptr);
  EXPECT_EQ(creation.info().pNext, nullptr);
}

TEST_F(DeviceCreationTest, a_device_that_lacks_something_refuses_the_feature) {
  gpu_.missing = {"bufferDeviceAddress"};
  EXPECT_EQ(DeviceCreation(info_, gpu_, options_).refusal(), VK_ERROR_FEATURE_NOT_PRESENT);
  info_.pNext = nullptr;
  EXPECT_EQ(DeviceCreation(info_, gpu_, options_).refusal(), VK_ERROR_EXTENSION_NOT_PRESENT);
  info_.enabledExtensionCount = 0;
  EXPECT_EQ(DeviceCreation(info_, gpu_, options_).refusal(), VK_SUCCESS);
}

TEST_F(DeviceCreationTest, a_feature_that_nobody_has_is_refused) {
  VkPhysicalDevicePrimitivesGeneratedQueryFeaturesEXT primitives{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PRIMITIVES_GENERATED_QUERY_FEATURES_EXT, nullptr, VK_TRUE,
      VK_TRUE, VK_TRUE};
  const char* extensions[] = {VK_EXT_PRIMITIVES_GENERATED_QUERY_EXTENSION_NAME};
  info_.ppEnabledExtensionNames = extensions;
  info_.pNext = &primitives;
  const auto refusal = [&] { return DeviceCreation(info_, gpu_, options_).refusal(); };
  EXPECT_EQ(refusal(), VK_ERROR_FEATURE_NOT_PRESENT) << "no streams without transform feedback";
  primitives.primitivesGeneratedQueryWithNonZeroStreams = VK_FALSE;
  EXPECT_EQ(refusal(), VK_SUCCESS);
  primitives.primitivesGeneratedQueryWithNonZeroStreams = VK_TRUE;
  gpu_.extensions.push_back({VK_EXT_TRANSFORM_FEEDBACK_EXTENSION_NAME, 1});
  EXPECT_EQ(refusal(), VK_SUCCESS);
  gpu_.extensions.clear();
  gpu_.primitives_generated_query = true;
  EXPECT_EQ(refusal(), VK_SUCCESS) << "the driver sees the struct and decides";
}

TEST_F(DeviceCreationTest, an_elapsed_timer_needs_timestamps_of_the_driver) {
  VkPhysicalDeviceElapsedTimerQueryFeaturesQCOM timer{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ELAPSED_TIMER_QUERY_FEATURES_QCOM, nullptr, VK_TRUE};
  const char* extensions[] = {VK_QCOM_ELAPSED_TIMER_QUERY_EXTENSION_NAME};
  info_.ppEnabledExtensionNames = extensions;
  info_.pNext = &timer;
  const DeviceCreation without(info_, gpu_, options_);
  EXPECT_EQ(without.refusal(), VK_ERROR_FEATURE_NOT_PRESENT);
  EXPECT_FALSE(without.emulated_queries().elapsed_time);
  gpu_.queue_families[0].timestampValidBits = 64;
  const DeviceCreation emulated(info_, gpu_, options_);
  EXPECT_EQ(emulated.refusal(), VK_SUCCESS);
  EXPECT_TRUE(emulated.emulated_queries().elapsed_time);
  EXPECT_EQ(emulated.info().enabledExtensionCount, 0u);
  EXPECT_EQ(chained<VkBaseInStructure>(emulated, timer.sType), nullptr);
  gpu_.native_elapsed_timer = true;
  const DeviceCreation native(info_, gpu_, options_);
  EXPECT_FALSE(native.emulated_queries().elapsed_time);
  EXPECT_EQ(native.info().enabledExtensionCount, 1u);
}

TEST_F(DeviceCreationTest, features_of_the_layer_are_refused_where_the_device_cannot_have_them) {
  gpu_.missing = {"bufferDeviceAddress"};
  info_.enabledExtensionCount = 0;
  const auto refusal = [&] { return DeviceCreation(info_, gpu_, options_).refusal(); };
  EXPECT_EQ(refusal(), VK_ERROR_FEATURE_NOT_PRESENT);
  VkPhysicalDevicePerformanceCountersByRegionFeaturesARM regions{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PERFORMANCE_COUNTERS_BY_REGION_FEATURES_ARM, nullptr,
      VK_TRUE};
  info_.pNext = &regions;
  EXPECT_EQ(refusal(), VK_ERROR_FEATURE_NOT_PRESENT);
  regions.performanceCountersByRegion = VK_FALSE;
  EXPECT_EQ(refusal(), VK_SUCCESS);
}

TEST_F(DeviceCreationTest, a_native_implementation_is_passed_through) {
  gpu_.native = true;
  const DeviceCreation creation(info_, gpu_, options_);
  EXPECT_FALSE(creation.extension_enabled());
  EXPECT_EQ(creation.info().enabledExtensionCount, 1u);
  EXPECT_NE(chained<VkBaseInStructure>(creation, ours_.sType), nullptr);
}

TEST_F(DeviceCreationTest, copies_of_records_may_use_a_queue_that_synchronizes_itself) {
  options_.record_memory = RecordMemory::Device;
  queue_.flags = VK_DEVICE_QUEUE_CREATE_INTERNALLY_SYNCHRONIZED_BIT_KHR;
  const DeviceCreation creation(info_, gpu_, options_);
  EXPECT_EQ(creation.record_memory(), RecordMemory::Device);
  EXPECT_EQ(creation.transfer_queue().flags, queue_.flags);
  ASSERT_TRUE(creation.compute_queue());
  EXPECT_EQ(creation.compute_queue()->flags, queue_.flags);
}

TEST_F(DeviceCreationTest, records_are_not_copied_on_protected_queues) {
  options_.record_memory = RecordMemory::Device;
  queue_.flags = VK_DEVICE_QUEUE_CREATE_PROTECTED_BIT;
  const DeviceCreation creation(info_, gpu_, options_);
  EXPECT_EQ(creation.record_memory(), RecordMemory::Host);
  EXPECT_FALSE(creation.compute_queue());
}

TEST_F(DeviceCreationTest, copies_of_records_get_a_queue_of_their_own_where_one_is_left) {
  options_.record_memory = RecordMemory::Device;
  {
    const DeviceCreation creation(info_, gpu_, options_);
    EXPECT_EQ(creation.info().pQueueCreateInfos[0].queueCount, 2u);
    EXPECT_EQ(creation.transfer_queue().index, 1u);
    EXPECT_EQ(creation.info().pQueueCreateInfos[0].pQueuePriorities[0], 1.0f);
  }
  gpu_.queue_families[0].queueCount = 1;
  const DeviceCreation creation(info_, gpu_, options_);
  EXPECT_EQ(creation.info().pQueueCreateInfos[0].queueCount, 1u);
  EXPECT_EQ(creation.transfer_queue().index, 0u);
}

}  // namespace
}  // namespace tally::counters
