// VK_LAYER_TALLY_fake_instrumentation: VK_ARM_shader_instrumentation as a strict driver would have
// it natively, with values that a test can foretell. It stands below the layer under test. Whoever
// breaks one of the extension's rules is named in the file that FAKE_INSTRUMENTATION_REPORT names.
// With FAKE_FRAME_BOUNDARY it has VK_EXT_frame_boundary, and writes a byte for each end of a frame
// to the file that FAKE_FRAME_ENDS names. Swapchains are numbers without images. With
// FAKE_COMPUTE_ONLY the device's queues have no graphics. With FAKE_INSTRUMENTATION_SLOW_MS it
// takes so many milliseconds to read values. With FAKE_STATISTICS it has
// VK_KHR_pipeline_executable_properties: an executable for each stage, with four statistics.
//
// An instrumented stage has three blocks. A draw of v vertices and i instances, or a dispatch of so
// many groups, with n = v * i (groups) runs block 0 n times, block 1 2n times, block 2 never. "fma"
// is 3 times the executions, "subgroups" is executions / 8 rounded up: not a multiple. Values are
// added when a command buffer is submitted.
#pragma once

#include <tally/vulkan_arm.h>
#include <tally/vulkan_newer.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "vk/dispatch.h"
#include "vk/layer.h"

namespace tally::fake {

#define FAKE_INSTANCE_FUNCTIONS(X)          \
  X(DestroyInstance, "")                    \
  X(EnumerateDeviceExtensionProperties, "") \
  X(GetPhysicalDeviceFeatures2, "KHR")      \
  X(GetPhysicalDeviceProperties2, "KHR")    \
  X(GetPhysicalDeviceQueueFamilyProperties, "")
#define FAKE_DEVICE_FUNCTIONS(X) \
  X(BeginCommandBuffer, "")      \
  X(CmdBeginRenderPass, "")      \
  X(CmdBeginRendering, "KHR")    \
  X(CmdBindPipeline, "")         \
  X(CmdDispatch, "")             \
  X(CmdDraw, "")                 \
  X(CmdEndRenderPass, "")        \
  X(CmdEndRendering, "KHR")      \
  X(CmdExecuteCommands, "")      \
  X(CmdNextSubpass, "")          \
  X(CmdPipelineBarrier, "")      \
  X(CreateComputePipelines, "")  \
  X(CreateGraphicsPipelines, "") \
  X(DestroyDevice, "")           \
  X(DestroyPipeline, "")         \
  X(EndCommandBuffer, "")        \
  X(QueueSubmit, "")             \
  X(QueueSubmit2, "KHR")
TALLY_VK_TABLE(InstanceTable, FAKE_INSTANCE_FUNCTIONS)
TALLY_VK_TABLE(DeviceTable, FAKE_DEVICE_FUNCTIONS)

// An extension that it has and does nothing for.
constexpr const char* kUncountable = VK_HUAWEI_SUBPASS_SHADING_EXTENSION_NAME;
constexpr VkStructureType kUncountableFeatures =
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBPASS_SHADING_FEATURES_HUAWEI;

constexpr VkStructureType kStatisticsFeatures =
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR;

constexpr const char* kMetrics[] = {"executions", "fma", "subgroups"};
constexpr uint32_t kMetricCount = 3;
constexpr uint32_t kBlocks = 3;

struct Object {
  uint32_t next_result = 0;
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, uint64_t> executions;  // result, stage, block
};

struct Count {
  Object* object;
  uint32_t result;
  uint32_t stages;
  uint64_t times;
};

struct Recorded {
  std::vector<Count> counts;
  std::vector<VkCommandBuffer> secondaries;
  Object* active = nullptr;
  uint32_t stages = 0;  // of the bound instrumented pipeline
  bool secondary_contents = false;
  bool suspending = false;
  bool between_suspended = false;
  bool used = false;          // has an action or a pass
  bool began_unused = false;  // instrumentation began before
};

// Everything that there is, under one mutex: this is a test double.
struct State {
  std::mutex mutex;
  std::map<void*, std::pair<VkInstance, vk::NextInstance>> instances;
  std::map<void*, InstanceTable> instance_tables;
  std::map<void*, DeviceTable> devices;
  std::map<void*, PFN_vkGetDeviceProcAddr> device_next;
  std::map<VkCommandBuffer, Recorded> recorded;
  std::map<VkPipeline, uint32_t> pipelines;        // instrumented ones: their stages
  std::map<VkPipeline, uint32_t> with_statistics;  // their stages
  std::set<Object*> objects;
};
State& state();

InstanceTable& instance_table(const void* handle);
DeviceTable& device_table(const void* handle);

// A rule is.
void broken(const char* rule);

// Adds what the command buffer counts. With the mutex held.
void run(VkCommandBuffer b);

bool compute_only();
bool has_boundaries();
bool has_statistics();

// Commands of ours.
using Hooks = std::vector<vk::Hook>;
void add_instrumentation(Hooks& device);
void add_commands(Hooks& device);
void add_pipelines(Hooks& device);
void add_statistics(Hooks& device);
void add_queue(Hooks& device);
void add_physical_device(Hooks& instance);

}  // namespace tally::fake
