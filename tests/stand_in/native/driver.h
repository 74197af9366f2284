// A stand-in for a driver that has VK_ARM_shader_instrumentation natively, and is strict, with
// values that a test can foretell. Whoever breaks one of the extension's rules is named in the file
// that TALLY_TEST_NATIVE_REPORT names. With TALLY_TEST_NATIVE_FRAME_BOUNDARY it has
// VK_EXT_frame_boundary, and writes a byte for each end of a frame to the file that
// TALLY_TEST_NATIVE_FRAME_ENDS names. Swapchains are numbers without images. With
// TALLY_TEST_NATIVE_COMPUTE_ONLY the device's queues have no graphics. With
// TALLY_TEST_NATIVE_SLOW_MS it takes so many milliseconds to read values. With
// TALLY_TEST_NATIVE_STATISTICS it has VK_KHR_pipeline_executable_properties: an executable for each
// stage, with four statistics.
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
#include <set>
#include <tuple>
#include <vector>

#include "stand_in/driver.h"

namespace tally::test::native {

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

struct Device : test::Device {
  void adapt(const VkDeviceCreateInfo& wanted, DeviceInfoBelow& below) override;
  void end() override;

  // Guarded by the mutex:
  std::map<VkCommandBuffer, Recorded> recorded;
  std::map<VkPipeline, uint32_t> pipelines;        // instrumented ones: their stages
  std::map<VkPipeline, uint32_t> with_statistics;  // their stages
  std::set<Object*> objects;
};
inline Device& device_of(const void* handle) { return static_cast<Device&>(find_device(handle)); }

// A rule is.
void broken(const char* rule);

// Adds a byte to the file that the environment variable names.
void note(const char* variable);

bool compute_only();
bool has_boundaries();
bool has_statistics();

// Commands of ours.
void add_instrumentation(Hooks& hooks);
void add_commands(Hooks& hooks);
void add_pipelines(Hooks& hooks);

}  // namespace tally::test::native
