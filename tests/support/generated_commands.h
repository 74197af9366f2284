// VK_EXT_device_generated_commands: sequences of a push constant of 4 bytes and one command.
#pragma once

#include <tally/vulkan_arm.h>
#include <tally/vulkan_generated.h>
#include <tally/vulkan_newer.h>

#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "support/pipeline.h"

namespace tally::test {

class GeneratedCommands {
 public:
  struct Info {
    VkShaderStageFlags stages = VK_SHADER_STAGE_COMPUTE_BIT;
    VkIndirectCommandsTokenTypeEXT command = VK_INDIRECT_COMMANDS_TOKEN_TYPE_DISPATCH_EXT;
    // Null: the constant is push data, for descriptor heaps.
    VkPipelineLayout layout = VK_NULL_HANDLE;
    // Each sequence begins with the index of a pipeline in the execution set, or with those of a
    // shader object for each stage.
    bool from_set = false;
    bool shader_objects = false;
    // The sequences are preprocessed by preprocess(), which must be called before execute().
    bool preprocessed = false;
    // Size of all sequences.
    std::vector<uint32_t> words;
    uint32_t sequences = 1;
  };
  GeneratedCommands(const Context& context, const Info& info);
  ~GeneratedCommands();
  GeneratedCommands(const GeneratedCommands&) = delete;
  GeneratedCommands& operator=(const GeneratedCommands&) = delete;

  // Runs the sequences with what is bound, which `names` names: VkGeneratedCommandsPipelineInfoEXT
  // or VkGeneratedCommandsShaderInfoEXT, or null where there is an execution set.
  void execute(VkCommandBuffer commands, void* names,
               VkIndirectExecutionSetEXT set = VK_NULL_HANDLE);
  // For the next execute() with the same arguments, with what is bound in `source` then.
  void preprocess(VkCommandBuffer commands, void* names, VkCommandBuffer source,
                  VkIndirectExecutionSetEXT set = VK_NULL_HANDLE);

 private:
  VkGeneratedCommandsInfoEXT describe(void* names, VkIndirectExecutionSetEXT set);

  const Context& context_;
  Info info_;
  Buffer words_;
  VkIndirectCommandsLayoutEXT layout_ = VK_NULL_HANDLE;
  std::deque<Buffer> scratch_;
  VkGeneratedCommandsInfoEXT preprocessed_{};
};

// An execution set of pipelines or of shader objects.
class ExecutionSet {
 public:
  ExecutionSet(const Context& context, VkPipeline initial, uint32_t size);
  // The shaders have no descriptor sets, and one range of push constants for all stages. 0 bytes:
  // they have descriptor heaps.
  ExecutionSet(const Context& context, std::span<const VkShaderEXT> initial, uint32_t size,
               uint32_t push_bytes);
  ~ExecutionSet();
  ExecutionSet(const ExecutionSet&) = delete;
  ExecutionSet& operator=(const ExecutionSet&) = delete;

  void write(uint32_t index, VkPipeline pipeline) const;
  void write(uint32_t index, VkShaderEXT shader) const;
  operator VkIndirectExecutionSetEXT() const { return handle_; }

 private:
  const Context& context_;
  VkIndirectExecutionSetEXT handle_ = VK_NULL_HANDLE;
};

// Flags of pipelines and shader objects that may be in an execution set.
inline constexpr uint64_t kIndirectBindable = 0x4000000000;
inline constexpr VkShaderCreateFlagsEXT kShaderIndirectBindable = 0x80;
inline constexpr VkPipelineCreateFlags2CreateInfoKHR kBindable = {
    VK_STRUCTURE_TYPE_PIPELINE_CREATE_FLAGS_2_CREATE_INFO_KHR, nullptr, kIndirectBindable};
inline constexpr VkPipelineCreateFlags2CreateInfoKHR kInstrumentBindable = {
    VK_STRUCTURE_TYPE_PIPELINE_CREATE_FLAGS_2_CREATE_INFO_KHR, nullptr,
    VK_PIPELINE_CREATE_2_INSTRUMENT_SHADERS_BIT_ARM | kIndirectBindable};

// The features of a device with the extension and shader objects.
class GeneratedDevice {
 public:
  explicit GeneratedDevice(void* next = nullptr) : maintenance_{kMaintenance, next, VK_TRUE} {}
  GeneratedDevice(const GeneratedDevice&) = delete;
  GeneratedDevice& operator=(const GeneratedDevice&) = delete;

  // True if the driver has both.
  static bool supported();
  // Adds the extensions and the features.
  ContextOptions options(ContextOptions options = {});

 private:
  static constexpr auto kMaintenance = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_5_FEATURES_KHR;

  VkPhysicalDeviceMaintenance5FeaturesKHR maintenance_;
  VkPhysicalDeviceDeviceGeneratedCommandsFeaturesEXT generated_ = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DEVICE_GENERATED_COMMANDS_FEATURES_EXT, &maintenance_,
      VK_TRUE, VK_FALSE};
  VkPhysicalDeviceShaderObjectFeaturesEXT objects_ = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_OBJECT_FEATURES_EXT, &generated_, VK_TRUE};
};

// A device with the extension, and with shader objects. Null if the driver lacks one of them.
std::unique_ptr<Context> make_generated_context(bool instrumented);

}  // namespace tally::test
