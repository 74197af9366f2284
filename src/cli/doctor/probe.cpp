#include "cli/doctor/probe.h"

#include <fmt/format.h>
#include <tally/vulkan_arm.h>
#include <tally/vulkan_newest.h>
#include <vulkan/vulkan_core.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string_view>

#include "catalogue/catalogue.h"
#include "cli/command.h"
#include "platform/program.h"

namespace tally::cli {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ProbedLayer, name, version, implementation)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ProbedDevice, name, type, uuid, api_version, driver, extensions,
                                   features, limits, metrics)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(VulkanProbe, loader_error, loader_version, loader_path, layers,
                                   instance_error, devices, died)

bool feature(const ProbedDevice& device, const std::string& name) {
  const auto found = device.features.find(name);
  return found != device.features.end() && found->second;
}

uint64_t limit(const ProbedDevice& device, const std::string& name) {
  const auto found = device.limits.find(name);
  return found == device.limits.end() ? 0 : found->second;
}

const ProbedLayer* VulkanProbe::layer(const std::string& name) const {
  for (const ProbedLayer& candidate : layers) {
    if (candidate.name == name) return &candidate;
  }
  return nullptr;
}

std::string to_json(const VulkanProbe& probe) {
  return nlohmann::json(probe).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Result<VulkanProbe> probe_from_json(const std::string& text) {
  // The JSON library reports an unexpected structure by an exception, which ends here.
  try {
    return nlohmann::json::parse(text).get<VulkanProbe>();
  } catch (const nlohmann::json::exception& error) {
    return Error{fmt::format("its answer cannot be read: {}", error.what())};
  }
}

namespace {

constexpr std::chrono::seconds kLimit{60};

std::string last_line(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  const size_t line = text.find_last_of('\n');
  return line == std::string::npos ? text : text.substr(line + 1);
}

std::string describe_failure(const platform::CapturedRun& run) {
  if (run.timed_out) return fmt::format("did not answer within {} s", kLimit.count());
  const std::string end = run.end.by_signal
                              ? "was terminated by " + platform::signal_name(run.end.number)
                              : fmt::format("ended with status {}", run.end.number);
  const std::string words = last_line(run.standard_error);
  return words.empty() ? end : end + ", saying: " + words;
}

}  // namespace

Result<std::string> run_probe_process(const std::string& command, const Environment& environment) {
  const auto run = TALLY_TRY(platform::run_captured({own_executable().string(), command},
                                                    environment_strings(environment), kLimit));
  // The driver may write to standard output as well; the answer is the last line.
  std::string answer = last_line(run.standard_output);
  if (run.timed_out || run.end.by_signal || !answer.starts_with('{')) {
    return Error{describe_failure(run)};
  }
  return answer;
}

VulkanProbe probe_vulkan(const Environment& environment) {
  VulkanProbe failed;
  const auto answer = run_probe_process("probe-vulkan", environment);
  if (answer) {
    auto probe = probe_from_json(*answer);
    if (probe) return std::move(*probe);
    failed.died = probe.error().message;
  } else {
    failed.died = answer.error().message;
  }
  return failed;
}

void add_vulkan_probe(CLI::App& app, Action& chosen) {
  CLI::App* command =
      app.add_subcommand("probe-vulkan", "Internal: the Vulkan probe of list and doctor");
  command->group("");  // not shown in --help
  command->callback(
      [&chosen] { chosen = [] { return print("\n" + to_json(probe_vulkan_here()) + "\n"); }; });
}

// The probe process's side. Vulkan is loaded at run time, because `tally report` works without it.

namespace {

std::string version_text(uint32_t version) {
  return fmt::format("{}.{}.{}", VK_API_VERSION_MAJOR(version), VK_API_VERSION_MINOR(version),
                     VK_API_VERSION_PATCH(version));
}

// The process loads each library at most once and ends soon after, so it never unloads them.
struct Loader {
  PFN_vkGetInstanceProcAddr get = nullptr;

  template <typename Function>
  Function function(VkInstance instance, const char* name) const {
    return reinterpret_cast<Function>(get(instance, name));
  }
};

// Calls an enumerating function until its answer is complete.
template <typename Item, typename Call>
std::vector<Item> enumerate(Call call, Item blank = {}) {
  std::vector<Item> items;
  VkResult result = VK_INCOMPLETE;
  while (result == VK_INCOMPLETE) {
    uint32_t count = 0;
    if (call(&count, nullptr) != VK_SUCCESS) return {};
    items.assign(count, blank);
    result = call(&count, items.data());
    items.resize(count);
  }
  return result == VK_SUCCESS ? items : std::vector<Item>{};
}

bool open_loader(Loader& loader, VulkanProbe& probe) {
  const auto library = platform::Library::open(platform::vulkan_loader());
  if (!library) {
    probe.loader_error = library.error().message;
    return false;
  }
  loader.get = reinterpret_cast<PFN_vkGetInstanceProcAddr>(library->find("vkGetInstanceProcAddr"));
  if (loader.get == nullptr) {
    probe.loader_error = platform::vulkan_loader() + " has no vkGetInstanceProcAddr";
    return false;
  }
  probe.loader_path = library->path();
  uint32_t version = VK_API_VERSION_1_0;
  const auto ask =
      loader.function<PFN_vkEnumerateInstanceVersion>(nullptr, "vkEnumerateInstanceVersion");
  if (ask != nullptr) ask(&version);
  probe.loader_version = version_text(version);
  return true;
}

void list_layers(const Loader& loader, VulkanProbe& probe) {
  const auto ask = loader.function<PFN_vkEnumerateInstanceLayerProperties>(
      nullptr, "vkEnumerateInstanceLayerProperties");
  if (ask == nullptr) return;
  for (const VkLayerProperties& layer : enumerate<VkLayerProperties>(ask)) {
    probe.layers.push_back(
        {layer.layerName, version_text(layer.specVersion), layer.implementationVersion});
  }
}

std::string result_text(VkResult result) {
  switch (result) {
    case VK_ERROR_INCOMPATIBLE_DRIVER:
      return "VK_ERROR_INCOMPATIBLE_DRIVER";
    case VK_ERROR_LAYER_NOT_PRESENT:
      return "VK_ERROR_LAYER_NOT_PRESENT";
    case VK_ERROR_EXTENSION_NOT_PRESENT:
      return "VK_ERROR_EXTENSION_NOT_PRESENT";
    case VK_ERROR_INITIALIZATION_FAILED:
      return "VK_ERROR_INITIALIZATION_FAILED";
    case VK_ERROR_OUT_OF_HOST_MEMORY:
      return "VK_ERROR_OUT_OF_HOST_MEMORY";
    default:
      return fmt::format("VkResult {}", static_cast<int>(result));
  }
}

VkInstance create_instance(const Loader& loader, VulkanProbe& probe) {
  const auto create = loader.function<PFN_vkCreateInstance>(nullptr, "vkCreateInstance");
  VkApplicationInfo application{VK_STRUCTURE_TYPE_APPLICATION_INFO};
  application.pApplicationName = "tally";
  const bool knows_versions = loader.get(nullptr, "vkEnumerateInstanceVersion") != nullptr;
  application.apiVersion = knows_versions ? VK_API_VERSION_1_3 : VK_API_VERSION_1_0;
  VkInstanceCreateInfo info{VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
  info.pApplicationInfo = &application;
  VkInstance instance = VK_NULL_HANDLE;
  const VkResult result = create(&info, nullptr, &instance);
  if (result == VK_SUCCESS) return instance;
  probe.instance_error = result_text(result);
  return VK_NULL_HANDLE;
}

// Queries one device. `next` links a struct only if the device supports it, so that no driver sees
// an unknown struct.
class Device {
 public:
  Device(const Loader& loader, VkInstance instance, VkPhysicalDevice handle)
      : loader_(loader), instance_(instance), handle_(handle) {}

  ProbedDevice describe() {
    VkPhysicalDeviceProperties properties{};
    instance_function<PFN_vkGetPhysicalDeviceProperties>("vkGetPhysicalDeviceProperties")(
        handle_, &properties);
    api_version_ = properties.apiVersion;
    result_.name = properties.deviceName;
    result_.type = catalogue::device_type_name(properties.deviceType);
    result_.api_version = version_text(api_version_);
    list_extensions();
    note_limits(properties.limits);
    note_core_features();
    note_queue_families();
    if (api_version_ >= VK_API_VERSION_1_1) {
      note_properties2();
      note_features2();
      note_result_status();
    }
    if (result_.features["shaderInstrumentation"]) list_metrics();
    if (result_.features["performanceCounterQueryPools"]) count_performance_counters();
    return std::move(result_);
  }

 private:
  template <typename Function>
  Function instance_function(const char* name) const {
    return loader_.function<Function>(instance_, name);
  }

  bool has(const char* extension) const { return result_.extensions.contains(extension); }
  bool is_1_2() const { return api_version_ >= VK_API_VERSION_1_2; }

  void list_extensions() {
    const auto ask = instance_function<PFN_vkEnumerateDeviceExtensionProperties>(
        "vkEnumerateDeviceExtensionProperties");
    const auto list =
        enumerate<VkExtensionProperties>([&](uint32_t* count, VkExtensionProperties* items) {
          return ask(handle_, nullptr, count, items);
        });
    for (const VkExtensionProperties& extension : list)
      result_.extensions.insert(extension.extensionName);
  }

  void note_limits(const VkPhysicalDeviceLimits& limits) {
    result_.limits["maxPushConstantsSize"] = limits.maxPushConstantsSize;
    result_.limits["maxBoundDescriptorSets"] = limits.maxBoundDescriptorSets;
    result_.limits["timestampComputeAndGraphics"] = limits.timestampComputeAndGraphics;
  }

  void note_core_features() {
    VkPhysicalDeviceFeatures features{};
    instance_function<PFN_vkGetPhysicalDeviceFeatures>("vkGetPhysicalDeviceFeatures")(handle_,
                                                                                      &features);
    result_.features["vertexPipelineStoresAndAtomics"] = features.vertexPipelineStoresAndAtomics;
    result_.features["fragmentStoresAndAtomics"] = features.fragmentStoresAndAtomics;
    result_.features["shaderInt64"] = features.shaderInt64;
    result_.features["pipelineStatisticsQuery"] = features.pipelineStatisticsQuery;
    result_.features["occlusionQueryPrecise"] = features.occlusionQueryPrecise;
  }

  void note_queue_families() {
    const auto ask = instance_function<PFN_vkGetPhysicalDeviceQueueFamilyProperties>(
        "vkGetPhysicalDeviceQueueFamilyProperties");
    uint32_t count = 0;
    ask(handle_, &count, nullptr);
    std::vector<VkQueueFamilyProperties> families(count);
    ask(handle_, &count, families.data());
    result_.limits["queueFamilies"] = count;
    result_.limits["queueFamiliesWithTimestamps"] = static_cast<uint64_t>(std::ranges::count_if(
        families, [](const auto& family) { return family.timestampValidBits != 0; }));
  }

  void note_result_status() {
    const auto ask = instance_function<PFN_vkGetPhysicalDeviceQueueFamilyProperties2>(
        "vkGetPhysicalDeviceQueueFamilyProperties2");
    uint32_t count = 0;
    ask(handle_, &count, nullptr);
    std::vector<VkQueueFamilyQueryResultStatusPropertiesKHR> statuses(
        count, {VK_STRUCTURE_TYPE_QUEUE_FAMILY_QUERY_RESULT_STATUS_PROPERTIES_KHR});
    std::vector<VkQueueFamilyProperties2> families(count,
                                                   {VK_STRUCTURE_TYPE_QUEUE_FAMILY_PROPERTIES_2});
    for (uint32_t i = 0; i < count; ++i) families[i].pNext = &statuses[i];
    ask(handle_, &count, families.data());
    result_.limits["queueFamiliesWithResultStatus"] = static_cast<uint64_t>(std::ranges::count_if(
        statuses, [](const auto& status) { return status.queryResultStatusSupport == VK_TRUE; }));
  }

  // Takes the queue family with the most counters.
  void count_performance_counters() {
    const auto ask =
        instance_function<PFN_vkEnumeratePhysicalDeviceQueueFamilyPerformanceQueryCountersKHR>(
            "vkEnumeratePhysicalDeviceQueueFamilyPerformanceQueryCountersKHR");
    uint64_t& max_count = result_.limits["performanceCounters"];
    for (uint32_t family = 0; ask && family < result_.limits["queueFamilies"]; ++family) {
      uint32_t count = 0;
      if (ask(handle_, family, &count, nullptr, nullptr) == VK_SUCCESS)
        max_count = std::max<uint64_t>(max_count, count);
    }
  }

  void note_properties2() {
    VkPhysicalDeviceDriverProperties driver{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES};
    VkPhysicalDeviceSubgroupProperties subgroup{
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES};
    VkPhysicalDeviceIDProperties id{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES};
    subgroup.pNext = &id;
    if (is_1_2() || has(VK_KHR_DRIVER_PROPERTIES_EXTENSION_NAME)) id.pNext = &driver;
    VkPhysicalDeviceTransformFeedbackPropertiesEXT feedback{
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TRANSFORM_FEEDBACK_PROPERTIES_EXT};
    VkPhysicalDeviceProperties2 properties{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                           &subgroup};
    if (has(VK_EXT_TRANSFORM_FEEDBACK_EXTENSION_NAME)) {
      feedback.pNext = properties.pNext;
      properties.pNext = &feedback;
    }
    instance_function<PFN_vkGetPhysicalDeviceProperties2>("vkGetPhysicalDeviceProperties2")(
        handle_, &properties);
    result_.driver = driver.driverName;
    if (driver.driverInfo[0] != '\0') result_.driver += std::string(" ") + driver.driverInfo;
    for (const uint8_t byte : id.deviceUUID) result_.uuid += fmt::format("{:02x}", byte);
    result_.features["transformFeedbackQueries"] = feedback.transformFeedbackQueries;
    result_.limits["driverID"] = driver.driverID;
    result_.limits["subgroupSize"] = subgroup.subgroupSize;
    result_.limits["subgroupSupportedStages"] = subgroup.supportedStages;
    result_.limits["subgroupSupportedOperations"] = subgroup.supportedOperations;
  }

  void note_features2() {
    VkPhysicalDeviceFeatures2 features{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2};
    void** next = &features.pNext;
    const auto link = [&next](auto& feature) {
      *next = &feature;
      next = &feature.pNext;
    };
    VkPhysicalDeviceVulkan12Features core12{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
    VkPhysicalDeviceBufferDeviceAddressFeatures address{
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES};
    VkPhysicalDeviceTimelineSemaphoreFeatures timelines{
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES};
    VkPhysicalDeviceShaderAtomicInt64Features atomics{
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_INT64_FEATURES};
    VkPhysicalDeviceShaderInstrumentationFeaturesARM instrumentation{
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INSTRUMENTATION_FEATURES_ARM};
    VkPhysicalDeviceMeshShaderFeaturesEXT mesh{
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MESH_SHADER_FEATURES_EXT};
    VkPhysicalDevicePrimitivesGeneratedQueryFeaturesEXT primitives{
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PRIMITIVES_GENERATED_QUERY_FEATURES_EXT};
    VkPhysicalDevicePerformanceQueryFeaturesKHR performance{
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PERFORMANCE_QUERY_FEATURES_KHR};
    VkPhysicalDeviceAccelerationStructureFeaturesKHR structures{
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ACCELERATION_STRUCTURE_FEATURES_KHR};
    VkPhysicalDeviceElapsedTimerQueryFeaturesQCOM elapsed{
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ELAPSED_TIMER_QUERY_FEATURES_QCOM};
    if (has(VK_EXT_MESH_SHADER_EXTENSION_NAME)) link(mesh);
    if (has(VK_QCOM_ELAPSED_TIMER_QUERY_EXTENSION_NAME)) link(elapsed);
    if (has(VK_EXT_PRIMITIVES_GENERATED_QUERY_EXTENSION_NAME)) link(primitives);
    if (has(VK_KHR_PERFORMANCE_QUERY_EXTENSION_NAME)) link(performance);
    if (has(VK_KHR_ACCELERATION_STRUCTURE_EXTENSION_NAME)) link(structures);
    if (is_1_2()) link(core12);
    if (!is_1_2() && has(VK_KHR_BUFFER_DEVICE_ADDRESS_EXTENSION_NAME)) link(address);
    if (!is_1_2() && has(VK_KHR_TIMELINE_SEMAPHORE_EXTENSION_NAME)) link(timelines);
    if (!is_1_2() && has(VK_KHR_SHADER_ATOMIC_INT64_EXTENSION_NAME)) link(atomics);
    if (has(VK_ARM_SHADER_INSTRUMENTATION_EXTENSION_NAME)) link(instrumentation);
    instance_function<PFN_vkGetPhysicalDeviceFeatures2>("vkGetPhysicalDeviceFeatures2")(handle_,
                                                                                        &features);
    result_.features["bufferDeviceAddress"] =
        core12.bufferDeviceAddress || address.bufferDeviceAddress;
    result_.features["timelineSemaphore"] = core12.timelineSemaphore || timelines.timelineSemaphore;
    result_.features["shaderBufferInt64Atomics"] =
        core12.shaderBufferInt64Atomics || atomics.shaderBufferInt64Atomics;
    result_.features["meshShader"] = mesh.meshShader;
    result_.features["meshShaderQueries"] = mesh.meshShaderQueries;
    result_.features["primitivesGeneratedQuery"] = primitives.primitivesGeneratedQuery;
    result_.features["performanceCounterQueryPools"] = performance.performanceCounterQueryPools;
    result_.features["elapsedTimerQuery"] = elapsed.elapsedTimerQuery;
    result_.features["accelerationStructure"] = structures.accelerationStructure;
    result_.features["shaderInstrumentation"] = instrumentation.shaderInstrumentation;
  }

  void list_metrics() {
    const auto ask =
        instance_function<PFN_vkEnumeratePhysicalDeviceShaderInstrumentationMetricsARM>(
            "vkEnumeratePhysicalDeviceShaderInstrumentationMetricsARM");
    if (ask == nullptr) return;
    const auto list = enumerate<VkShaderInstrumentationMetricDescriptionARM>(
        [&](uint32_t* count, VkShaderInstrumentationMetricDescriptionARM* items) {
          return ask(handle_, count, items);
        },
        {VK_STRUCTURE_TYPE_SHADER_INSTRUMENTATION_METRIC_DESCRIPTION_ARM});
    for (const auto& metric : list) result_.metrics.emplace_back(metric.name, metric.description);
  }

  const Loader& loader_;
  VkInstance instance_;
  VkPhysicalDevice handle_;
  uint32_t api_version_ = 0;
  ProbedDevice result_;
};

}  // namespace

VulkanProbe probe_vulkan_here() {
  VulkanProbe probe;
  Loader loader;
  if (!open_loader(loader, probe)) return probe;
  list_layers(loader, probe);
  const VkInstance instance = create_instance(loader, probe);
  if (instance == VK_NULL_HANDLE) return probe;
  const auto ask =
      loader.function<PFN_vkEnumeratePhysicalDevices>(instance, "vkEnumeratePhysicalDevices");
  const auto devices = enumerate<VkPhysicalDevice>(
      [&](uint32_t* count, VkPhysicalDevice* items) { return ask(instance, count, items); });
  for (const VkPhysicalDevice device : devices)
    probe.devices.push_back(Device(loader, instance, device).describe());
  loader.function<PFN_vkDestroyInstance>(instance, "vkDestroyInstance")(instance, nullptr);
  return probe;
}

size_t EglProbe::counter_count() const {
  size_t count = 0;
  for (const ProbedGroup& group : groups) count += group.counters.size();
  return count;
}

std::string EglProbe::why_unavailable() const {
  if (!died.empty()) return "the EGL probe " + died;
  if (!library_error.empty()) return "EGL is missing: " + library_error;
  if (!display_error.empty()) return "EGL has no display without a window: " + display_error;
  return has_extension ? "" : "EGL does not list EGL_BRCM_performance_counters";
}

}  // namespace tally::cli
