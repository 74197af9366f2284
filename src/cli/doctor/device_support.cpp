#include "cli/doctor/device_support.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <vulkan/vulkan_core.h>

#include <algorithm>
#include <iterator>

#include "catalogue/hidden_extensions.h"
#include "cli/run/environment.h"

namespace tally::cli {
namespace {

constexpr const char* kShaderInstrumentation = "VK_ARM_shader_instrumentation";

struct KnownInterface {
  const char* name;
  const char* purpose;
  bool is_feature;
};

constexpr KnownInterface kInterfaces[] = {
    {kShaderInstrumentation, "executions and costs of every basic block", false},
    {"VK_ARM_performance_counters_by_region", "counters by region of the framebuffer", false},
    {"VK_KHR_performance_query", "counters by command, pass and command buffer", false},
    {"VK_INTEL_performance_query", "counters as a report", false},
    {"pipelineStatisticsQuery", "invocations and primitives by query", true},
    {"occlusionQueryPrecise", "exact numbers of samples", true},
};

bool has(const ProbedDevice* device, const KnownInterface& known) {
  if (device == nullptr) return false;
  return known.is_feature ? feature(*device, known.name) : device->extensions.contains(known.name);
}

// The conditions under which the counters layer offers the extension; a test compares the two.
std::vector<std::string> missing_for_instrumentation(const ProbedDevice& device) {
  std::vector<std::string> missing;
  if (device.api_version.starts_with("1.0.")) missing.emplace_back("Vulkan 1.1");
  for (const char* name : {"bufferDeviceAddress", "timelineSemaphore",
                           "vertexPipelineStoresAndAtomics", "fragmentStoresAndAtomics"}) {
    if (!feature(device, name)) missing.emplace_back(name);
  }
  return missing;
}

std::vector<std::string> limitations_of(const ProbedDevice& device) {
  std::vector<std::string> notes;
  if (!feature(device, "shaderInt64") || !feature(device, "shaderBufferInt64Atomics")) {
    notes.emplace_back(
        "no 64-bit atomics (shaderInt64, shaderBufferInt64Atomics): counted in 32 bits with carry, "
        "exact but slower");
  }
  constexpr uint64_t kNeeded = VK_SUBGROUP_FEATURE_BASIC_BIT | VK_SUBGROUP_FEATURE_VOTE_BIT |
                               VK_SUBGROUP_FEATURE_BALLOT_BIT | VK_SUBGROUP_FEATURE_ARITHMETIC_BIT;
  const bool operations = (limit(device, "subgroupSupportedOperations") & kNeeded) == kNeeded;
  const uint64_t stages = operations ? limit(device, "subgroupSupportedStages") : 0;
  if ((stages & VK_SHADER_STAGE_VERTEX_BIT) == 0) {
    notes.emplace_back(
        "no subgroup operations in vertex shaders: counted by invocation, exact but slower; their "
        "subgroups are not counted");
  }
  if ((stages & VK_SHADER_STAGE_FRAGMENT_BIT) == 0) {
    notes.emplace_back(
        "no subgroup operations in fragment shaders: counted by invocation, exact but slower; "
        "their "
        "subgroups are not counted");
  }
  if (limit(device, "driverID") == VK_DRIVER_ID_NVIDIA_PROPRIETARY) {
    notes.emplace_back(
        "this driver may hang where fragment shaders discard in a loop: those are counted by "
        "invocation, exact but slower; their subgroups, samples and regions are not counted");
  }
  if (limit(device, "timestampComputeAndGraphics") == 0) {
    notes.emplace_back("timestamps not on all queues: GPU times may be missing");
  }
  return notes;
}

const ProbedDevice* same_device(const VulkanProbe& probe, const ProbedDevice& device) {
  for (const ProbedDevice& candidate : probe.devices) {
    if (candidate.uuid == device.uuid && candidate.name == device.name) return &candidate;
  }
  return nullptr;
}

}  // namespace

bool DeviceSupport::can_capture() const {
  for (const CountingInterface& interface : interfaces) {
    if (interface.name == kShaderInstrumentation) return interface.with_tally;
  }
  return false;
}

std::vector<DeviceSupport> compare_devices(const VulkanProbe& native,
                                           const VulkanProbe& with_tally) {
  std::vector<DeviceSupport> result;
  for (const ProbedDevice& device : native.devices) {
    DeviceSupport support;
    support.native = &device;
    support.with_tally = same_device(with_tally, device);
    for (const KnownInterface& known : kInterfaces) {
      support.interfaces.push_back(
          {known.name, known.purpose, has(&device, known), has(support.with_tally, known)});
    }
    for (const std::string& name : device.extensions) {
      if (catalogue::find_hidden_extension(name)) support.hidden.push_back(name);
    }
    support.missing = missing_for_instrumentation(device);
    if (!device.extensions.contains(kShaderInstrumentation))
      support.limitations = limitations_of(device);
    result.push_back(std::move(support));
  }
  return result;
}

Environment without_tally_layers(Environment environment) {
  const auto found = environment.find("VK_INSTANCE_LAYERS");
  if (found == environment.end()) return environment;
  std::vector<std::string> kept;
  for (const std::string& layer : split_list(found->second)) {
    if (layer != kCountersLayer && layer != kCaptureLayer && layer != kRunLayer)
      kept.push_back(layer);
  }
  found->second = join_list(kept);
  return environment;
}

Environment with_counters_layer(const Environment& environment,
                                const std::vector<std::filesystem::path>& folders) {
  Environment result = without_tally_layers(environment);
  add_layer_folders(result, folders);
  add_instance_layers(result, {kCountersLayer});
  result.emplace("TALLY_LOG_LEVEL", "error");
  return result;
}

namespace {

using How = QuerySupport::How;

// A query type. `has` is evaluated for the device without and with the layer.
struct QueryType {
  const char* id;
  const char* type;
  bool (*has)(const ProbedDevice&);
  std::string (*by)(const ProbedDevice& with_tally);  // how it is emulated
  const char* needs;  // what Tally needs from the driver to emulate it; "": nothing
  bool (*can_emulate)(const ProbedDevice& native);  // whether the driver has `needs`
  const char* setting = "";  // the setting that enables the emulation; "": none
  // The counters that Tally adds to those of the driver; "": none.
  std::string (*adds)(const ProbedDevice& native, const ProbedDevice& with_tally) = nullptr;
};

bool always(const ProbedDevice&) { return true; }
bool never(const ProbedDevice&) { return false; }
template <const char* kName>
bool has_feature(const ProbedDevice& device) {
  return feature(device, kName);
}
template <const char* kName>
bool has_extension(const ProbedDevice& device) {
  return device.extensions.contains(kName);
}
template <const char* kName>
bool on_some_queue(const ProbedDevice& device) {
  return limit(device, kName) != 0;
}
template <const char* kText>
std::string fixed(const ProbedDevice&) {
  return kText;
}

constexpr char kPrecise[] = "occlusionQueryPrecise";
constexpr char kStatistics[] = "pipelineStatisticsQuery";
constexpr char kMeshQueries[] = "meshShaderQueries";
constexpr char kMeshShader[] = "meshShader";
constexpr char kPrimitives[] = "primitivesGeneratedQuery";
constexpr char kFeedback[] = "VK_EXT_transform_feedback";
constexpr char kFeedbackQueries[] = "transformFeedbackQueries";
constexpr char kPerformance[] = "performanceCounterQueryPools";
constexpr char kStructures[] = "accelerationStructure";
constexpr char kIntel[] = "VK_INTEL_performance_query";
constexpr char kMicromap[] = "VK_EXT_opacity_micromap";
constexpr char kVideoEncode[] = "VK_KHR_video_encode_queue";
constexpr char kElapsed[] = "elapsedTimerQuery";
constexpr char kTimestamps[] = "queueFamiliesWithTimestamps";
constexpr char kResultStatus[] = "queueFamiliesWithResultStatus";

constexpr char kBySamples[] = "samples that fragment shaders cover";
constexpr char kByShadersAndCommands[] = "instrumented shaders and the recorded commands";
constexpr char kByShaders[] = "instrumented shaders";
constexpr char kByTimestamps[] = "two timestamps of the driver";
constexpr char kByClock[] = "the device's clock, read by a shader";
constexpr char kByReports[] = "the same counters, as a report";
constexpr char kByStatus[] = "what the layer could count";

std::string performance_counters(const ProbedDevice& device) {
  return fmt::format("{} counters: instrumented shaders, the recorded commands, timestamps",
                     limit(device, "performanceCounters"));
}

std::string added_counters(const ProbedDevice& native, const ProbedDevice& with_tally) {
  const auto drivers = limit(native, "performanceCounters");
  const auto all = limit(with_tally, "performanceCounters");
  return all > drivers ? fmt::format("{} counters, and {} of Tally's", drivers, all - drivers) : "";
}

constexpr QueryType kTypes[] = {
    {"occlusion", "occlusion", always, nullptr, "", never},
    {"occlusion_precise", "occlusion, precise", has_feature<kPrecise>, fixed<kBySamples>, "",
     always},
    {"pipeline_statistics", "pipeline statistics", has_feature<kStatistics>,
     fixed<kByShadersAndCommands>, "", always},
    {"mesh_statistics", "task and mesh statistics, mesh primitives generated",
     has_feature<kMeshQueries>, fixed<kByShaders>, "VK_EXT_mesh_shader", has_feature<kMeshShader>},
    {"timestamp", "timestamp", on_some_queue<kTimestamps>, fixed<kByClock>,
     "timestampValidBits of a queue family, or shaderDeviceClock", never},
    {"performance_khr", "performance (VK_KHR_performance_query)", has_feature<kPerformance>,
     performance_counters, "", always, "", added_counters},
    {"transform_feedback", "transform feedback", has_feature<kFeedbackQueries>,
     fixed<kByShadersAndCommands>, kFeedback, has_extension<kFeedback>},
    {"primitives_generated", "primitives generated", has_feature<kPrimitives>,
     fixed<kByShadersAndCommands>, "", always},
    {"performance_intel", "performance (VK_INTEL_performance_query)", has_extension<kIntel>,
     fixed<kByReports>, "", always},
    {"result_status", "result status", on_some_queue<kResultStatus>, fixed<kByStatus>, "", always,
     "emulate_queries"},
    {"elapsed_time", "elapsed time (VK_QCOM_elapsed_timer_query)", has_feature<kElapsed>,
     fixed<kByTimestamps>, "timestampValidBits of a queue family", on_some_queue<kTimestamps>},
    {"video_encode_feedback", "video encode feedback", has_extension<kVideoEncode>, nullptr,
     kVideoEncode, never},
    {"acceleration_structure", "acceleration structure properties", has_feature<kStructures>,
     nullptr, "VK_KHR_acceleration_structure", never},
    {"micromap", "micromap properties", has_extension<kMicromap>, nullptr, kMicromap, never},
};

std::string why_not(const QueryType& type, const DeviceSupport& device) {
  if (!type.can_emulate(*device.native) && *type.needs != '\0')
    return fmt::format("the driver lacks {}", type.needs);
  if (device.with_tally != nullptr && *type.setting != '\0' && device.missing.empty())
    return fmt::format("only with the setting {}", type.setting);
  if (!device.missing.empty())
    return fmt::format("the driver lacks {}", fmt::join(device.missing, ", "));
  return device.with_tally == nullptr ? "Tally's layer was not found" : "Tally does not emulate it";
}

QuerySupport support_of(const QueryType& type, const DeviceSupport& device) {
  QuerySupport result{type.id, type.type, How::No, ""};
  if (type.has(*device.native)) {
    result.how = How::Native;
    if (type.adds && device.with_tally)
      result.detail = type.adds(*device.native, *device.with_tally);
  } else if (type.by != nullptr && device.with_tally != nullptr && type.has(*device.with_tally)) {
    result.how = How::Emulated;
    result.detail = type.by(*device.with_tally);
  } else {
    result.detail = why_not(type, device);
  }
  return result;
}

}  // namespace

std::vector<QuerySupport> query_support(const DeviceSupport& device) {
  std::vector<QuerySupport> all;
  for (const QueryType& type : kTypes) all.push_back(support_of(type, device));
  return all;
}

std::string_view name_of(How how) {
  switch (how) {
    case How::Native:
      return "native";
    case How::Emulated:
      return "emulated";
    case How::No:
      return "no";
  }
  return "?";
}

}  // namespace tally::cli
