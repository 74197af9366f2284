// The layer's offer, and that it changes nothing if no feature is enabled.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <stdexcept>
#include <string>

#include "api/kit.h"
#include "catalogue/catalogue.h"
#include "platform/files.h"
#include "spirv/analysis/cost.h"
#include "support/environment.h"

namespace tally::test {
namespace {

using testing::ElementsAre;

std::vector<std::string> extensions_of(VkPhysicalDevice gpu, const char* layer) {
  uint32_t count = 0;
  check(vkEnumerateDeviceExtensionProperties(gpu, layer, &count, nullptr));
  std::vector<VkExtensionProperties> properties(count);
  check(vkEnumerateDeviceExtensionProperties(gpu, layer, &count, properties.data()));
  std::vector<std::string> names;
  for (const auto& extension : properties) names.emplace_back(extension.extensionName);
  return names;
}

class Enumeration : public CountersTest {
 protected:
  auto enumerate_metrics() {
    return reinterpret_cast<PFN_vkEnumeratePhysicalDeviceShaderInstrumentationMetricsARM>(
        vkGetInstanceProcAddr(context().instance(),
                              "vkEnumeratePhysicalDeviceShaderInstrumentationMetricsARM"));
  }
};

TEST_F(Enumeration, each_extension_is_offered_once_by_the_device_and_by_the_layer) {
  const auto all = extensions_of(context().gpu(), nullptr);
  EXPECT_EQ(std::count(all.begin(), all.end(), "VK_ARM_shader_instrumentation"), 1);
  EXPECT_EQ(std::count(all.begin(), all.end(), "VK_ARM_performance_counters_by_region"), 1);
  const auto layers = extensions_of(context().gpu(), "VK_LAYER_TALLY_counters");
  EXPECT_THAT(layers, testing::IsSupersetOf({"VK_ARM_performance_counters_by_region",
                                             "VK_ARM_shader_instrumentation"}));
  // Each extension of the layer is listed for the device, exactly once.
  for (const auto& one : layers) EXPECT_EQ(std::count(all.begin(), all.end(), one), 1) << one;
}

TEST_F(Enumeration, a_short_array_of_extensions_gives_incomplete) {
  uint32_t count = 1;
  VkExtensionProperties one{};
  EXPECT_EQ(vkEnumerateDeviceExtensionProperties(context().gpu(), nullptr, &count, &one),
            VK_INCOMPLETE);
  EXPECT_EQ(count, 1u);
}

TEST_F(Enumeration, feature_and_properties_are_filled_and_their_neighbours_too) {
  VkPhysicalDeviceVulkan12Features core{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
  VkPhysicalDeviceShaderInstrumentationFeaturesARM ours{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INSTRUMENTATION_FEATURES_ARM, &core};
  VkPhysicalDeviceFeatures2 features{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &ours};
  vkGetPhysicalDeviceFeatures2(context().gpu(), &features);
  EXPECT_TRUE(ours.shaderInstrumentation);
  EXPECT_TRUE(core.bufferDeviceAddress);
  EXPECT_EQ(features.pNext, &ours);
  EXPECT_EQ(ours.pNext, &core);

  VkPhysicalDeviceShaderInstrumentationPropertiesARM properties{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INSTRUMENTATION_PROPERTIES_ARM};
  VkPhysicalDeviceProperties2 head{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, &properties};
  vkGetPhysicalDeviceProperties2(context().gpu(), &head);
  EXPECT_TRUE(properties.perBasicBlockGranularity);
  uint32_t metrics = 0;
  check(enumerate_metrics()(context().gpu(), &metrics, nullptr));
  EXPECT_EQ(properties.numMetrics, metrics);
}

TEST_F(Enumeration, metrics_are_the_catalogues_block_counters_in_its_order) {
  const auto wanted = catalogue::counters_of(catalogue::Scope::Block);
  uint32_t count = 100;
  std::vector<VkShaderInstrumentationMetricDescriptionARM> metrics(
      count, {VK_STRUCTURE_TYPE_SHADER_INSTRUMENTATION_METRIC_DESCRIPTION_ARM});
  ASSERT_EQ(enumerate_metrics()(context().gpu(), &count, metrics.data()), VK_SUCCESS);
  ASSERT_EQ(count, wanted.size());
  for (uint32_t i = 0; i < count; ++i) {
    EXPECT_EQ(metrics[i].name, wanted[i]->name);
    EXPECT_EQ(metrics[i].description, wanted[i]->description);
  }
}

TEST_F(Enumeration, a_short_array_of_metrics_gives_incomplete) {
  uint32_t count = 2;
  VkShaderInstrumentationMetricDescriptionARM metrics[3] = {};
  EXPECT_EQ(enumerate_metrics()(context().gpu(), &count, metrics), VK_INCOMPLETE);
  EXPECT_EQ(count, 2u);
  EXPECT_STRNE(metrics[1].name, "");
  EXPECT_STREQ(metrics[2].name, "");
}

TEST_F(Enumeration, the_metrics_of_subgroups_go_with_their_setting) {
  const auto count = [&] {
    uint32_t metrics = 0;
    check(enumerate_metrics()(context().gpu(), &metrics, nullptr));
    return metrics;
  };
  start({{"count_subgroups", "true"}});
  const uint32_t with = count();
  start({{"count_subgroups", "false"}});
  EXPECT_EQ(count(), with - 2);
}

TEST_F(Enumeration, the_metrics_of_branches_follow_the_others_with_their_setting) {
  start({{"count_branches", "true"}});
  const auto blocks = catalogue::counters_of(catalogue::Scope::Block);
  const auto branches = catalogue::counters_of(catalogue::Scope::Branch);
  uint32_t count = 100;
  std::vector<VkShaderInstrumentationMetricDescriptionARM> metrics(
      count, {VK_STRUCTURE_TYPE_SHADER_INSTRUMENTATION_METRIC_DESCRIPTION_ARM});
  ASSERT_EQ(enumerate_metrics()(context().gpu(), &count, metrics.data()), VK_SUCCESS);
  ASSERT_EQ(count, blocks.size() + branches.size());
  for (size_t i = 0; i < branches.size(); ++i) {
    EXPECT_EQ(metrics[blocks.size() + i].name, branches[i]->name);
    EXPECT_EQ(metrics[blocks.size() + i].description, branches[i]->description);
  }
}

TEST_F(Enumeration, the_metrics_of_sites_are_there_with_their_settings) {
  const auto names = [&] {
    uint32_t count = 200;
    std::vector<VkShaderInstrumentationMetricDescriptionARM> metrics(
        count, {VK_STRUCTURE_TYPE_SHADER_INSTRUMENTATION_METRIC_DESCRIPTION_ARM});
    EXPECT_EQ(enumerate_metrics()(context().gpu(), &count, metrics.data()), VK_SUCCESS);
    std::set<std::string> all;
    for (uint32_t i = 0; i < count; ++i) all.insert(metrics[i].name);
    return all;
  };
  start({{"count_loops", "true"}});
  EXPECT_TRUE(names().contains("Longest run"));
  EXPECT_FALSE(names().contains("NaN results"));
  start({{"count_values", "true"}});
  EXPECT_FALSE(names().contains("Longest run"));
  EXPECT_TRUE(names().contains("NaN results"));
  start({{"clocks", "64"}});
  EXPECT_FALSE(names().contains("NaN results"));
  EXPECT_TRUE(names().contains("Timed cycles"));
  start({{"count_memory", "true"}});
  EXPECT_FALSE(names().contains("NaN results"));
  EXPECT_TRUE(names().contains("Sectors"));
  start({});
  for (const catalogue::Counter* counter : catalogue::counters_of(catalogue::Scope::Site)) {
    EXPECT_FALSE(names().contains(std::string(counter->name)));
  }
}

TEST_F(Enumeration, without_static_costs_the_metrics_are_those_that_are_counted) {
  start({{"static_costs", "false"}});
  uint32_t count = 8;
  VkShaderInstrumentationMetricDescriptionARM metrics[8] = {};
  check(enumerate_metrics()(context().gpu(), &count, metrics));
  ASSERT_GE(count, 2u);
  EXPECT_STREQ(metrics[0].name, "Executions");
  for (uint32_t i = 0; i < count; ++i) {
    const auto same = [&](const catalogue::Counter* counter) {
      return counter->name == metrics[i].name;
    };
    const auto counters = catalogue::counters_of(catalogue::Scope::Block);
    const auto counter = std::ranges::find_if(counters, same);
    ASSERT_NE(counter, counters.end()) << metrics[i].name;
    EXPECT_FALSE(spirv::cost_class_of((*counter)->number)) << metrics[i].name;
  }
}

// A file named vk_layer_settings.txt in its own folder, which the layers are told to use.
class SettingsFile {
 public:
  explicit SettingsFile(const std::string& text) {
    make_folder();
    std::ofstream(folder_ / "vk_layer_settings.txt") << text;
    set_variable("VK_LAYER_SETTINGS_PATH", folder_.string());
  }
  ~SettingsFile() {
    unset_variable("VK_LAYER_SETTINGS_PATH");
    std::filesystem::remove_all(folder_);
  }
  SettingsFile(const SettingsFile&) = delete;
  SettingsFile& operator=(const SettingsFile&) = delete;

 private:
  void make_folder() {
    const auto made = platform::make_unique_folder(
        (std::filesystem::temp_directory_path() / "tally-settings-").string());
    if (!made) throw std::runtime_error("no folder for settings");
    folder_ = *made;
  }
  std::filesystem::path folder_;
};

TEST_F(Enumeration, settings_come_from_the_file_the_program_and_the_environment) {
  const auto subgroups_are_counted = [&] {
    uint32_t metrics = 0;
    check(enumerate_metrics()(context().gpu(), &metrics, nullptr));
    return metrics == catalogue::counters_of(catalogue::Scope::Block).size();
  };
  start();
  EXPECT_TRUE(subgroups_are_counted());
  const SettingsFile file("tally_counters.count_subgroups = false\n");
  start();
  EXPECT_FALSE(subgroups_are_counted());
  start({{"count_subgroups", "true"}});
  EXPECT_TRUE(subgroups_are_counted());
  set_variable("TALLY_COUNT_SUBGROUPS", "false");
  if (!validation_wanted()) {  // otherwise start() itself uses the variable
    start({{"count_subgroups", "true"}});
    EXPECT_FALSE(subgroups_are_counted());
  }
  start();
  EXPECT_FALSE(subgroups_are_counted());
  unset_variable("TALLY_COUNT_SUBGROUPS");
}

constexpr const char* kOwnFunctions[] = {
    "vkClearShaderInstrumentationMetricsARM", "vkCmdBeginShaderInstrumentationARM",
    "vkCmdEndShaderInstrumentationARM",       "vkCreateShaderInstrumentationARM",
    "vkDestroyShaderInstrumentationARM",      "vkGetShaderInstrumentationValuesARM"};

TEST_F(Enumeration, a_device_without_the_extension_gives_no_function_of_it) {
  const Context without({.layers = {"VK_LAYER_TALLY_counters"}});
  for (const char* name : kOwnFunctions) {
    EXPECT_EQ(vkGetDeviceProcAddr(without.device(), name), nullptr) << name;
    EXPECT_NE(vkGetDeviceProcAddr(context().device(), name), nullptr) << name;
    EXPECT_NE(vkGetInstanceProcAddr(context().instance(), name), nullptr) << name;
  }
}

TEST_F(Enumeration, a_device_without_the_extension_calls_the_driver_directly) {
  const Context bare({.core_features = false});
  const Context layered({.layers = {"VK_LAYER_TALLY_counters"}, .core_features = false});
  for (const char* name : {"vkCmdDraw", "vkCmdDispatch", "vkCmdBindPipeline", "vkCmdPushConstants",
                           "vkQueueSubmit", "vkBeginCommandBuffer", "vkCreateGraphicsPipelines",
                           "vkCreatePipelineLayout", "vkCreateShaderModule"}) {
    EXPECT_EQ(vkGetDeviceProcAddr(layered.device(), name), vkGetDeviceProcAddr(bare.device(), name))
        << name;
    EXPECT_NE(vkGetDeviceProcAddr(context().device(), name),
              vkGetDeviceProcAddr(bare.device(), name))
        << name;
  }
}

// The queue is kept separate from the application only if copies of records use it.
TEST_F(Enumeration, waiting_is_left_alone_unless_records_are_copied) {
  unset_variable("TALLY_RECORD_MEMORY");  // it has precedence
  const Context bare;
  const auto wait = [](const Context& of) {
    return vkGetDeviceProcAddr(of.device(), "vkQueueWaitIdle");
  };
  EXPECT_EQ(wait(start({{"record_memory", "host"}})), wait(bare));
  EXPECT_NE(wait(start({{"record_memory", "device"}})), wait(bare));
}

// All other validated tests rely on this: an error of the layer below is an error of the test.
TEST_F(Enumeration, the_validation_layer_below_is_heard) {
  if (!validation_wanted()) GTEST_SKIP() << "not with the validation layer below";
  static std::vector<std::string> reported;
  reported.clear();
  const auto create_empty_buffer = [](VkDevice device) {
    const VkBufferCreateInfo info{VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, nullptr, 0, 0,
                                  VK_BUFFER_USAGE_STORAGE_BUFFER_BIT};
    VkBuffer buffer = VK_NULL_HANDLE;
    if (vkCreateBuffer(device, &info, nullptr, &buffer) == VK_SUCCESS)
      vkDestroyBuffer(device, buffer, nullptr);
  };
  create_empty_buffer(context().device());
  EXPECT_THAT(error_ids(), ElementsAre("VUID-VkBufferCreateInfo-size-00912"));

  const ErrorReport usual =
      set_error_report([](const Message& error) { reported.push_back(error.id); });
  {
    const Context other({.layers = {"VK_LAYER_TALLY_counters"}});
    create_empty_buffer(other.device());
  }
  set_error_report(usual);
  EXPECT_THAT(reported, ElementsAre("VUID-VkBufferCreateInfo-size-00912"));
}

TEST_F(Enumeration, an_application_of_vulkan_1_0_gets_the_extension) {
  start({}, {.api_version = VK_API_VERSION_1_0, .core_features = false});
  Instrumentation instrumentation(context());
  instrumentation.run([&](VkCommandBuffer commands) { dispatch(commands, work().counting, 4); });
  EXPECT_THAT(invocations(instrumentation), ElementsAre(std::pair(0u, uint64_t{32})));
}

// The layer raises the instance version for its own functions.
TEST_F(Enumeration, functions_of_a_newer_core_version_than_the_applications_are_not_handed_out) {
  struct Function {
    const char* name;
    uint32_t version;
  };
  constexpr Function kFunctions[] = {
      {"vkCmdDispatchBase", VK_API_VERSION_1_1},        {"vkTrimCommandPool", VK_API_VERSION_1_1},
      {"vkCmdDrawIndirectCount", VK_API_VERSION_1_2},   {"vkCreateRenderPass2", VK_API_VERSION_1_2},
      {"vkGetBufferDeviceAddress", VK_API_VERSION_1_2}, {"vkResetQueryPool", VK_API_VERSION_1_2}};
  for (const uint32_t version : {VK_API_VERSION_1_0, VK_API_VERSION_1_1, VK_API_VERSION_1_2}) {
    ContextOptions options{.api_version = version, .core_features = false};
    const bool draws_by_count = context().has_extension(VK_KHR_DRAW_INDIRECT_COUNT_EXTENSION_NAME);
    if (draws_by_count)
      options.device_extensions.push_back(VK_KHR_DRAW_INDIRECT_COUNT_EXTENSION_NAME);
    start({}, options);
    const auto find = [&](const char* name) {
      return vkGetDeviceProcAddr(context().device(), name);
    };
    for (const Function& function : kFunctions) {
      EXPECT_EQ(find(function.name) != nullptr, function.version <= version) << function.name;
    }
    EXPECT_EQ(find("vkCmdDrawIndirectCountKHR") != nullptr, draws_by_count) << "of an extension";
    EXPECT_NE(find("vkCmdDraw"), nullptr);
  }
}

TEST_F(Enumeration, the_feature_works_without_any_other_feature_of_the_application) {
  start({}, {.core_features = false});
  Instrumentation instrumentation(context());
  instrumentation.run([&](VkCommandBuffer commands) { dispatch(commands, work().counting, 4); });
  EXPECT_THAT(invocations(instrumentation), ElementsAre(std::pair(0u, uint64_t{32})));
}

TEST_F(Enumeration, the_extension_without_the_feature_makes_no_objects) {
  ContextOptions options{.layers = {"VK_LAYER_TALLY_counters"},
                         .device_extensions = {VK_ARM_SHADER_INSTRUMENTATION_EXTENSION_NAME}};
  const Context context(options);
  const VkShaderInstrumentationCreateInfoARM info{
      VK_STRUCTURE_TYPE_SHADER_INSTRUMENTATION_CREATE_INFO_ARM};
  VkShaderInstrumentationARM object = VK_NULL_HANDLE;
  EXPECT_EQ(context.function<PFN_vkCreateShaderInstrumentationARM>(
                "vkCreateShaderInstrumentationARM")(context.device(), &info, nullptr, &object),
            VK_ERROR_FEATURE_NOT_PRESENT);
}

}  // namespace
}  // namespace tally::test
