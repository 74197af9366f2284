#include "cli/device_support.h"

#include <vulkan/vulkan_core.h>

#include <algorithm>
#include <iterator>

#include "catalogue/hidden_extensions.h"
#include "cli/layers.h"

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

}  // namespace tally::cli
