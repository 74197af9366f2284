#include "support/generated_commands.h"

#include <tally/vulkan_arm.h>

#include <algorithm>
#include <bit>

namespace tally::test {
namespace {

constexpr VkBufferUsageFlags kUsage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
                                      VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT |
                                      VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;

}  // namespace

GeneratedCommands::GeneratedCommands(const Context& context, const Info& info)
    : context_(context), info_(info), words_(context, info.words.size() * 4, kUsage) {
  std::ranges::copy(info.words, words_.as<uint32_t>().begin());
  const VkIndirectCommandsPushConstantTokenEXT push = {{VK_SHADER_STAGE_ALL, 0, 4}};
  const VkIndirectCommandsExecutionSetTokenEXT set = {
      info.shader_objects ? VK_INDIRECT_EXECUTION_SET_INFO_TYPE_SHADER_OBJECTS_EXT
                          : VK_INDIRECT_EXECUTION_SET_INFO_TYPE_PIPELINES_EXT,
      info.stages};
  uint32_t offset = 0;
  std::vector<VkIndirectCommandsLayoutTokenEXT> tokens;
  const auto add = [&](VkIndirectCommandsTokenTypeEXT type,
                       int words) -> VkIndirectCommandsTokenDataEXT& {
    tokens.push_back({VK_STRUCTURE_TYPE_INDIRECT_COMMANDS_LAYOUT_TOKEN_EXT});
    tokens.back().type = type;
    tokens.back().offset = offset;
    offset += 4 * static_cast<uint32_t>(words);
    return tokens.back().data;
  };
  if (info.from_set) {
    const int indices = info.shader_objects ? std::popcount(info.stages) : 1;
    add(VK_INDIRECT_COMMANDS_TOKEN_TYPE_EXECUTION_SET_EXT, indices).pExecutionSet = &set;
  }
  constexpr auto kPushData = static_cast<VkIndirectCommandsTokenTypeEXT>(1000135000);
  add(info.layout != VK_NULL_HANDLE ? VK_INDIRECT_COMMANDS_TOKEN_TYPE_PUSH_CONSTANT_EXT : kPushData,
      1)
      .pPushConstant = &push;
  add(info.command, 0);
  VkIndirectCommandsLayoutCreateInfoEXT created = {
      VK_STRUCTURE_TYPE_INDIRECT_COMMANDS_LAYOUT_CREATE_INFO_EXT};
  if (info.preprocessed)
    created.flags = VK_INDIRECT_COMMANDS_LAYOUT_USAGE_EXPLICIT_PREPROCESS_BIT_EXT;
  created.shaderStages = info.stages;
  created.indirectStride = static_cast<uint32_t>(words_.size()) / info.sequences;
  created.pipelineLayout = info.layout;
  created.tokenCount = static_cast<uint32_t>(tokens.size());
  created.pTokens = tokens.data();
  check(context.function<PFN_vkCreateIndirectCommandsLayoutEXT>(
      "vkCreateIndirectCommandsLayoutEXT")(context.device(), &created, nullptr, &layout_));
}

GeneratedCommands::~GeneratedCommands() {
  context_.function<PFN_vkDestroyIndirectCommandsLayoutEXT>("vkDestroyIndirectCommandsLayoutEXT")(
      context_.device(), layout_, nullptr);
}

VkGeneratedCommandsInfoEXT GeneratedCommands::describe(void* names, VkIndirectExecutionSetEXT set) {
  const VkGeneratedCommandsMemoryRequirementsInfoEXT wanted = {
      VK_STRUCTURE_TYPE_GENERATED_COMMANDS_MEMORY_REQUIREMENTS_INFO_EXT,
      names,
      set,
      layout_,
      info_.sequences,
      1};
  VkMemoryRequirements2 required = {VK_STRUCTURE_TYPE_MEMORY_REQUIREMENTS_2};
  context_.function<PFN_vkGetGeneratedCommandsMemoryRequirementsEXT>(
      "vkGetGeneratedCommandsMemoryRequirementsEXT")(context_.device(), &wanted, &required);
  const VkDeviceSize size = std::max<VkDeviceSize>(required.memoryRequirements.size, 256);
  // VK_BUFFER_USAGE_2_PREPROCESS_BUFFER_BIT_EXT is no VkBufferUsageFlagBits.
  constexpr VkBufferUsageFlags2CreateInfoKHR kPreprocess = {
      VK_STRUCTURE_TYPE_BUFFER_USAGE_FLAGS_2_CREATE_INFO_KHR, nullptr, 0x80000000 | kUsage};
  const Buffer& scratch = scratch_.emplace_back(context_, size, kUsage, &kPreprocess);
  VkGeneratedCommandsInfoEXT info = {VK_STRUCTURE_TYPE_GENERATED_COMMANDS_INFO_EXT, names};
  info.shaderStages = info_.stages;
  info.indirectExecutionSet = set;
  info.indirectCommandsLayout = layout_;
  info.indirectAddress = words_.address();
  info.indirectAddressSize = words_.size();
  info.preprocessAddress = scratch.address();
  info.preprocessSize = size;
  info.maxSequenceCount = info_.sequences;
  info.maxDrawCount = 1;
  return info;
}

void GeneratedCommands::execute(VkCommandBuffer commands, void* names,
                                VkIndirectExecutionSetEXT set) {
  const VkGeneratedCommandsInfoEXT info = info_.preprocessed ? preprocessed_ : describe(names, set);
  context_.function<PFN_vkCmdExecuteGeneratedCommandsEXT>("vkCmdExecuteGeneratedCommandsEXT")(
      commands, info_.preprocessed ? VK_TRUE : VK_FALSE, &info);
}

void GeneratedCommands::preprocess(VkCommandBuffer commands, void* names, VkCommandBuffer source,
                                   VkIndirectExecutionSetEXT set) {
  preprocessed_ = describe(names, set);
  context_.function<PFN_vkCmdPreprocessGeneratedCommandsEXT>("vkCmdPreprocessGeneratedCommandsEXT")(
      commands, &preprocessed_, source);
}

ExecutionSet::ExecutionSet(const Context& context, VkPipeline initial, uint32_t size)
    : context_(context) {
  const VkIndirectExecutionSetPipelineInfoEXT first = {
      VK_STRUCTURE_TYPE_INDIRECT_EXECUTION_SET_PIPELINE_INFO_EXT, nullptr, initial, size};
  VkIndirectExecutionSetCreateInfoEXT info = {
      VK_STRUCTURE_TYPE_INDIRECT_EXECUTION_SET_CREATE_INFO_EXT};
  info.type = VK_INDIRECT_EXECUTION_SET_INFO_TYPE_PIPELINES_EXT;
  info.info.pPipelineInfo = &first;
  check(context.function<PFN_vkCreateIndirectExecutionSetEXT>("vkCreateIndirectExecutionSetEXT")(
      context.device(), &info, nullptr, &handle_));
}

ExecutionSet::ExecutionSet(const Context& context, std::span<const VkShaderEXT> initial,
                           uint32_t size, uint32_t push_bytes)
    : context_(context) {
  const VkPushConstantRange range = {VK_SHADER_STAGE_ALL, 0, push_bytes};
  const std::vector<VkIndirectExecutionSetShaderLayoutInfoEXT> layouts(
      initial.size(), {VK_STRUCTURE_TYPE_INDIRECT_EXECUTION_SET_SHADER_LAYOUT_INFO_EXT});
  VkIndirectExecutionSetShaderInfoEXT first = {
      VK_STRUCTURE_TYPE_INDIRECT_EXECUTION_SET_SHADER_INFO_EXT};
  first.shaderCount = static_cast<uint32_t>(initial.size());
  first.pInitialShaders = initial.data();
  if (push_bytes != 0) first.pSetLayoutInfos = layouts.data();
  first.maxShaderCount = size;
  first.pushConstantRangeCount = push_bytes != 0 ? 1 : 0;
  first.pPushConstantRanges = &range;
  VkIndirectExecutionSetCreateInfoEXT info = {
      VK_STRUCTURE_TYPE_INDIRECT_EXECUTION_SET_CREATE_INFO_EXT};
  info.type = VK_INDIRECT_EXECUTION_SET_INFO_TYPE_SHADER_OBJECTS_EXT;
  info.info.pShaderInfo = &first;
  check(context.function<PFN_vkCreateIndirectExecutionSetEXT>("vkCreateIndirectExecutionSetEXT")(
      context.device(), &info, nullptr, &handle_));
}

ExecutionSet::~ExecutionSet() {
  context_.function<PFN_vkDestroyIndirectExecutionSetEXT>("vkDestroyIndirectExecutionSetEXT")(
      context_.device(), handle_, nullptr);
}

void ExecutionSet::write(uint32_t index, VkPipeline pipeline) const {
  const VkWriteIndirectExecutionSetPipelineEXT one = {
      VK_STRUCTURE_TYPE_WRITE_INDIRECT_EXECUTION_SET_PIPELINE_EXT, nullptr, index, pipeline};
  context_.function<PFN_vkUpdateIndirectExecutionSetPipelineEXT>(
      "vkUpdateIndirectExecutionSetPipelineEXT")(context_.device(), handle_, 1, &one);
}

void ExecutionSet::write(uint32_t index, VkShaderEXT shader) const {
  const VkWriteIndirectExecutionSetShaderEXT one = {
      VK_STRUCTURE_TYPE_WRITE_INDIRECT_EXECUTION_SET_SHADER_EXT, nullptr, index, shader};
  context_.function<PFN_vkUpdateIndirectExecutionSetShaderEXT>(
      "vkUpdateIndirectExecutionSetShaderEXT")(context_.device(), handle_, 1, &one);
}

bool GeneratedDevice::supported() {
  const Context driver;
  return driver.has_extension(VK_EXT_DEVICE_GENERATED_COMMANDS_EXTENSION_NAME) &&
         driver.has_extension(VK_EXT_SHADER_OBJECT_EXTENSION_NAME);
}

ContextOptions GeneratedDevice::options(ContextOptions options) {
  for (const char* extension :
       {VK_EXT_DEVICE_GENERATED_COMMANDS_EXTENSION_NAME, VK_KHR_MAINTENANCE_5_EXTENSION_NAME,
        VK_EXT_SHADER_OBJECT_EXTENSION_NAME}) {
    options.device_extensions.push_back(extension);
  }
  options.device_next = &objects_;
  return options;
}

std::unique_ptr<Context> make_generated_context(bool instrumented) {
  if (!GeneratedDevice::supported()) return nullptr;
  VkPhysicalDeviceShaderInstrumentationFeaturesARM instrumentation = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INSTRUMENTATION_FEATURES_ARM, nullptr, VK_TRUE};
  GeneratedDevice device(instrumented ? &instrumentation : nullptr);
  ContextOptions options = device.options();
  if (instrumented) {
    options.layers = {"VK_LAYER_TALLY_counters"};
    options.device_extensions.push_back(VK_ARM_SHADER_INSTRUMENTATION_EXTENSION_NAME);
  }
  return std::make_unique<Context>(options);
}

}  // namespace tally::test
