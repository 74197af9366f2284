#include "counters/base/physical_device.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <sstream>

#include "counters/base/driver_profile.h"
#include "counters/layer/offered_extensions.h"
#include "tally/vulkan_arm.h"
#include "tally/vulkan_newest.h"
#include "vk/chain.h"

namespace tally::counters {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// A driver of which a test takes away what it likes.
struct Driver {
  uint32_t version = VK_API_VERSION_1_3;
  VkBool32 address = VK_TRUE, vertex = VK_TRUE, fragment = VK_TRUE, int64 = VK_TRUE;
  VkBool32 atomics = VK_TRUE, timelines = VK_TRUE;
  VkBool32 instrumentation = VK_TRUE, regions = VK_TRUE, timer = VK_TRUE;
  VkSubgroupFeatureFlags operations = 0xff;
  VkDriverId id = VK_DRIVER_ID_NVIDIA_PROPRIETARY;
  const char* info = "";
  std::vector<const char*> extensions;
};
Driver driver;

void VKAPI_CALL get_properties(VkPhysicalDevice, VkPhysicalDeviceProperties* properties) {
  properties->apiVersion = driver.version;
}

void VKAPI_CALL get_memory(VkPhysicalDevice, VkPhysicalDeviceMemoryProperties*) {}

void VKAPI_CALL get_families(VkPhysicalDevice, uint32_t* count, VkQueueFamilyProperties*) {
  *count = 0;
}

VkResult VKAPI_CALL get_extensions(VkPhysicalDevice, const char*, uint32_t* count,
                                   VkExtensionProperties* properties) {
  *count = static_cast<uint32_t>(driver.extensions.size());
  for (uint32_t i = 0; properties && i < *count; ++i)
    std::strcpy(properties[i].extensionName, driver.extensions[i]);
  return VK_SUCCESS;
}

void VKAPI_CALL get_features2(VkPhysicalDevice, VkPhysicalDeviceFeatures2* features) {
  features->features.vertexPipelineStoresAndAtomics = driver.vertex;
  features->features.fragmentStoresAndAtomics = driver.fragment;
  features->features.shaderInt64 = driver.int64;
  auto* head = static_cast<VkBaseOutStructure*>(features->pNext);
  if (auto* found = vk::find_in_out_chain<VkPhysicalDeviceTimelineSemaphoreFeatures>(
          head, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES)) {
    found->timelineSemaphore = driver.timelines;
  }
  if (auto* found = vk::find_in_out_chain<VkPhysicalDeviceBufferDeviceAddressFeatures>(
          head, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES)) {
    found->bufferDeviceAddress = driver.address;
  }
  if (auto* found = vk::find_in_out_chain<VkPhysicalDeviceShaderAtomicInt64Features>(
          head, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_INT64_FEATURES)) {
    found->shaderBufferInt64Atomics = driver.atomics;
  }
  if (auto* found = vk::find_in_out_chain<VkPhysicalDeviceShaderInstrumentationFeaturesARM>(
          head, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INSTRUMENTATION_FEATURES_ARM)) {
    found->shaderInstrumentation = driver.instrumentation;
  }
  if (auto* found = vk::find_in_out_chain<VkPhysicalDevicePerformanceCountersByRegionFeaturesARM>(
          head, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PERFORMANCE_COUNTERS_BY_REGION_FEATURES_ARM)) {
    found->performanceCountersByRegion = driver.regions;
  }
  if (auto* found = vk::find_in_out_chain<VkPhysicalDeviceElapsedTimerQueryFeaturesQCOM>(
          head, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ELAPSED_TIMER_QUERY_FEATURES_QCOM)) {
    found->elapsedTimerQuery = driver.timer;
  }
}

void VKAPI_CALL get_properties2(VkPhysicalDevice, VkPhysicalDeviceProperties2* properties) {
  auto* head = static_cast<VkBaseOutStructure*>(properties->pNext);
  if (auto* found = vk::find_in_out_chain<VkPhysicalDeviceSubgroupProperties>(
          head, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES)) {
    found->subgroupSize = 8;
    found->supportedOperations = driver.operations;
    found->supportedStages = VK_SHADER_STAGE_ALL;
  }
  if (auto* found = vk::find_in_out_chain<VkPhysicalDeviceDriverProperties>(
          head, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES)) {
    found->driverID = driver.id;
    std::strcpy(found->driverInfo, driver.info);
  }
}

PhysicalDevice inspect(bool force_emulation = false, uint32_t instance = VK_API_VERSION_1_3) {
  InstanceTable next;
  next.GetPhysicalDeviceProperties = get_properties;
  next.GetPhysicalDeviceMemoryProperties = get_memory;
  next.GetPhysicalDeviceQueueFamilyProperties = get_families;
  next.EnumerateDeviceExtensionProperties = get_extensions;
  next.GetPhysicalDeviceFeatures2 = get_features2;
  next.GetPhysicalDeviceProperties2 = get_properties2;
  return inspect_physical_device(next, VK_NULL_HANDLE, instance, force_emulation);
}

class PhysicalDeviceTest : public testing::Test {
 protected:
  PhysicalDeviceTest() { driver = {}; }
};

TEST_F(PhysicalDeviceTest, what_has_everything_is_offered_the_extensions) {
  const PhysicalDevice gpu = inspect();
  EXPECT_THAT(gpu.missing, IsEmpty());
  EXPECT_TRUE(is_offered(Extension::Instrumentation, gpu));
  EXPECT_TRUE(is_offered(Extension::Regions, gpu));
}

TEST_F(PhysicalDeviceTest, what_lacks_a_feature_is_not_and_the_feature_is_named) {
  const auto expect_missing = [](const std::string& name) {
    const PhysicalDevice gpu = inspect();
    EXPECT_THAT(gpu.missing, ElementsAre(name));
    EXPECT_FALSE(is_offered(Extension::Instrumentation, gpu)) << name;
    EXPECT_FALSE(is_offered(Extension::Regions, gpu)) << name;
    driver = {};
  };
  driver.address = VK_FALSE;
  expect_missing("bufferDeviceAddress");
  driver.timelines = VK_FALSE;
  expect_missing("timelineSemaphore");
  driver.vertex = VK_FALSE;
  expect_missing("vertexPipelineStoresAndAtomics");
  driver.fragment = VK_FALSE;
  expect_missing("fragmentStoresAndAtomics");
}

TEST_F(PhysicalDeviceTest, vulkan_1_0_is_not_enough) {
  driver.version = VK_API_VERSION_1_0;
  EXPECT_FALSE(is_offered(Extension::Instrumentation, inspect()));
  EXPECT_EQ(inspect().missing.at(0), "Vulkan 1.1");
  driver = {};
  EXPECT_FALSE(is_offered(Extension::Instrumentation, inspect(false, VK_API_VERSION_1_0)));
}

// The structs are asked for only where the device knows them.
TEST_F(PhysicalDeviceTest, before_1_2_features_come_from_extensions) {
  driver.version = VK_API_VERSION_1_1;
  EXPECT_THAT(inspect().missing, ElementsAre("bufferDeviceAddress", "timelineSemaphore"));
  driver.extensions = {VK_KHR_BUFFER_DEVICE_ADDRESS_EXTENSION_NAME};
  EXPECT_THAT(inspect().missing, ElementsAre("timelineSemaphore"));
  driver.extensions.push_back(VK_KHR_TIMELINE_SEMAPHORE_EXTENSION_NAME);
  EXPECT_THAT(inspect().missing, IsEmpty());
}

TEST_F(PhysicalDeviceTest, integers_and_subgroups_are_no_condition) {
  driver.int64 = driver.atomics = VK_FALSE;
  driver.operations = VK_SUBGROUP_FEATURE_BASIC_BIT;
  const PhysicalDevice gpu = inspect();
  EXPECT_TRUE(is_offered(Extension::Instrumentation, gpu));
  EXPECT_FALSE(gpu.int64_atomics);
  EXPECT_EQ(gpu.subgroup_stages, 0u);
}

TEST_F(PhysicalDeviceTest, the_version_of_llvmpipe_is_part_of_its_information) {
  EXPECT_FALSE(driver_profile(inspect()).masks_branches);
  const auto expect = [](const char* info, bool masks_branches) {
    driver.id = VK_DRIVER_ID_MESA_LLVMPIPE;
    driver.info = info;
    EXPECT_EQ(driver_profile(inspect()).masks_branches, masks_branches) << info;
  };
  expect("Mesa 22.3.6 (LLVM 15.0.6)", true);
  expect("Mesa 25.0.7-2~bpo12+1 (LLVM 15.0.6)", false);
  expect("Mesa 25.1.0", false);
  expect("Mesa 26", false);
  expect("Mesa ", true);
  expect("", true);
}

TEST_F(PhysicalDeviceTest, a_driver_has_the_workarounds_of_its_own_rows) {
  for (const Workaround& row : workarounds()) {
    PhysicalDevice gpu;
    gpu.driver_id = row.driver;
    gpu.properties.limits.maxPushConstantsSize = 256;
    gpu.statistics_query = gpu.host_query_reset = true;
    gpu.mesa_version = row.from;
    EXPECT_TRUE(driver_profile(gpu).*row.flag) << row.name;
    gpu.driver_id = VK_DRIVER_ID_MESA_RADV;
    EXPECT_FALSE(driver_profile(gpu).*row.flag) << row.name;
    gpu.driver_id = row.driver;
    gpu.mesa_version = row.before;
    EXPECT_EQ(driver_profile(gpu).*row.flag, row.before == 0 && row.from == 0) << row.name;
    gpu.mesa_version = std::max(row.from, 1u) - 1;
    EXPECT_EQ(driver_profile(gpu).*row.flag, row.from == 0) << row.name;
  }
}

TEST_F(PhysicalDeviceTest, nvidia_does_not_add_up_rays_with_subgroup_operations) {
  const PhysicalDevice gpu = inspect();
  EXPECT_NE(gpu.subgroup_stages & VK_SHADER_STAGE_RAYGEN_BIT_KHR, 0u);
  EXPECT_EQ(subgroup_counting_stages(gpu) & VK_SHADER_STAGE_RAYGEN_BIT_KHR, 0u);
  EXPECT_NE(subgroup_counting_stages(gpu) & VK_SHADER_STAGE_COMPUTE_BIT, 0u);
}

std::string workarounds_markdown() {
  std::string text =
      "| workaround | driver | seen on | the driver | the layer | reproduction | can go |\n"
      "| --- | --- | --- | --- | --- | --- | --- |\n";
  for (const Workaround& row : workarounds()) {
    std::string range(row.driver_name);
    const auto limit = [&](const char* word, uint32_t version) {
      if (version == 0) return;
      range += fmt::format(" {} {}.{}", word, VK_API_VERSION_MAJOR(version),
                           VK_API_VERSION_MINOR(version));
    };
    limit("from", row.from);
    limit("before", row.before);
    text += fmt::format("| `{}` | {} | {} | {} | {} | {} | {} |\n", row.name, range, row.seen,
                        row.driver_does, row.layer_does, row.reproduction, row.goes);
  }
  return text;
}

TEST(Workarounds, stand_on_the_page_of_drivers) {
  std::ifstream file(TALLY_DRIVERS_PAGE);
  std::stringstream page;
  page << file.rdbuf();
  EXPECT_NE(page.str().find(workarounds_markdown()), std::string::npos)
      << "the page needs this table:\n"
      << workarounds_markdown();
}

TEST_F(PhysicalDeviceTest, what_the_driver_has_is_left_to_it_unless_forced) {
  driver.extensions = {VK_ARM_SHADER_INSTRUMENTATION_EXTENSION_NAME};
  EXPECT_FALSE(is_offered(Extension::Instrumentation, inspect()));
  EXPECT_TRUE(is_offered(Extension::Regions, inspect()));
  EXPECT_TRUE(is_offered(Extension::Instrumentation, inspect(true)));
}

TEST_F(PhysicalDeviceTest, an_extension_that_is_listed_without_its_feature_is_emulated) {
  driver.extensions = {VK_ARM_SHADER_INSTRUMENTATION_EXTENSION_NAME,
                       VK_ARM_PERFORMANCE_COUNTERS_BY_REGION_EXTENSION_NAME,
                       VK_QCOM_ELAPSED_TIMER_QUERY_EXTENSION_NAME};
  const PhysicalDevice native = inspect();
  EXPECT_FALSE(is_offered(Extension::Instrumentation, native) ||
               is_offered(Extension::Regions, native));
  EXPECT_TRUE(native.native_elapsed_timer);
  driver.instrumentation = driver.regions = driver.timer = VK_FALSE;
  const PhysicalDevice gpu = inspect();
  EXPECT_TRUE(is_offered(Extension::Instrumentation, gpu) && is_offered(Extension::Regions, gpu));
  EXPECT_FALSE(gpu.native_elapsed_timer);
}

}  // namespace
}  // namespace tally::counters
