#include "counters/layer/offered_extensions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "counters/layer/entry_points.h"
#include "vk/chain.h"

namespace tally::counters {
namespace {

std::string manifest() {
  std::ifstream file(TALLY_COUNTERS_MANIFEST);
  std::stringstream text;
  text << file.rdbuf();
  const std::string all = text.str();
  const size_t begin = all.find("\"device_extensions\"");
  return all.substr(begin, all.find("\"features\"") - begin);
}

// Each as "name version".
std::vector<std::string> listed_in_manifest() {
  const std::string text = manifest();
  const std::regex row(R"re("name": "(VK_\w+)",\s*"spec_version": "(\d+)")re");
  std::vector<std::string> names;
  for (std::sregex_iterator one(text.begin(), text.end(), row), end; one != end; ++one) {
    names.push_back((*one)[1].str() + ' ' + (*one)[2].str());
  }
  return names;
}

TEST(OfferedExtensions, are_those_of_the_manifest) {
  std::vector<std::string> rows;
  for (const OfferedExtension& row : offered_extensions()) {
    rows.push_back(std::string(row.listed.extensionName) + ' ' +
                   std::to_string(row.listed.specVersion));
  }
  EXPECT_THAT(listed_in_manifest(), testing::UnorderedElementsAreArray(rows));
}

TEST(OfferedExtensions, stand_in_the_order_of_their_numbers) {
  const auto name = [](Extension extension) {
    return std::string_view(offered_extension(extension).listed.extensionName);
  };
  EXPECT_EQ(name(Extension::Regions), VK_ARM_PERFORMANCE_COUNTERS_BY_REGION_EXTENSION_NAME);
  EXPECT_EQ(name(Extension::Instrumentation), VK_ARM_SHADER_INSTRUMENTATION_EXTENSION_NAME);
  EXPECT_EQ(name(Extension::PerformanceQuery), VK_KHR_PERFORMANCE_QUERY_EXTENSION_NAME);
  EXPECT_EQ(name(Extension::IntelPerformanceQuery), VK_INTEL_PERFORMANCE_QUERY_EXTENSION_NAME);
  EXPECT_EQ(name(Extension::PrimitivesGenerated), VK_EXT_PRIMITIVES_GENERATED_QUERY_EXTENSION_NAME);
  EXPECT_EQ(name(Extension::ElapsedTimer), VK_QCOM_ELAPSED_TIMER_QUERY_EXTENSION_NAME);
  EXPECT_EQ(offered_extensions().size(), 6u);
}

// Whoever fills the struct writes as many features as it has.
TEST(OfferedExtensions, know_the_size_of_their_feature_structs) {
  for (const OfferedExtension& row : offered_extensions()) {
    if (row.features == kNoStruct) continue;
    const size_t last = 2 * sizeof(void*) + row.feature_count * sizeof(VkBool32);
    EXPECT_EQ(vk::struct_size(row.features),
              (last + alignof(void*) - 1) / alignof(void*) * alignof(void*))
        << row.listed.extensionName;
  }
}

TEST(OfferedExtensions, are_left_to_a_driver_that_has_them) {
  for (const OfferedExtension& row : offered_extensions()) {
    PhysicalDevice gpu;
    gpu.queue_families.resize(1);
    gpu.queue_families[0].timestampValidBits = 64;
    EXPECT_TRUE(is_offered(row, gpu)) << row.listed.extensionName;
    gpu.*row.native = true;
    EXPECT_EQ(is_offered(row, gpu), row.beside_native) << row.listed.extensionName;
    gpu.*row.native = false;
    gpu.missing.push_back("bufferDeviceAddress");
    EXPECT_FALSE(is_offered(row, gpu)) << row.listed.extensionName;
  }
}

// vkGetDeviceProcAddr asks the layers below for all others.
TEST(OfferedExtensions, have_hooks_for_the_commands_that_the_manifest_names) {
  const std::string text = manifest();
  const std::regex command(R"re("(vk\w+)")re");
  size_t count = 0;
  for (std::sregex_iterator one(text.begin(), text.end(), command), end; one != end; ++one) {
    const std::string name = (*one)[1];
    const Hook* hook = device_hooks().find(name);
    if (!hook) hook = physical_device_hooks().find(name);
    ASSERT_NE(hook, nullptr) << name;
    EXPECT_NE(hook->condition, HookCondition::Always) << name;
    ++count;
  }
  EXPECT_EQ(count, 21u);
}

TEST(OfferedQueries, have_timestamps_where_no_family_has_timestamps) {
  PhysicalDevice gpu;
  gpu.queue_families.resize(2);
  EXPECT_FALSE(offered_queries(gpu, {}).timestamps) << "no clock";
  gpu.device_clock = true;
  EXPECT_TRUE(offered_queries(gpu, {}).timestamps);
  gpu.queue_families[1].timestampValidBits = 36;
  EXPECT_FALSE(offered_queries(gpu, {}).timestamps) << "the driver's are left alone";
  EXPECT_FALSE(offered_queries(gpu, {.timestamps = true}).timestamps)
      << "of a family that only copies";
  gpu.queue_families[1].queueFlags = VK_QUEUE_COMPUTE_BIT;
  EXPECT_FALSE(offered_queries(gpu, {}).timestamps);
  EXPECT_TRUE(offered_queries(gpu, {.timestamps = true}).timestamps);
  gpu.missing.push_back("bufferDeviceAddress");
  EXPECT_FALSE(offered_queries(gpu, {.timestamps = true}).timestamps);
}

}  // namespace
}  // namespace tally::counters
