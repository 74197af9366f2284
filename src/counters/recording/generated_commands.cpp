#include "counters/recording/generated_commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "counters/objects/execution_set.h"
#include "vk/chain.h"

namespace tally::counters {
namespace {

// A copy of `Info` that names the variants in place of the application's pipeline or shaders.
template <typename Info>
class VariantInfo {
 public:
  VariantInfo(const ObjectState& state, const Info& info, Variant variant)
      : info_(info), chain_(info.pNext) {
    auto* pipeline = chain_.find<VkGeneratedCommandsPipelineInfoEXT>(
        VK_STRUCTURE_TYPE_GENERATED_COMMANDS_PIPELINE_INFO_EXT);
    if (pipeline) replace(state.pipelines.find(pipeline->pipeline), variant, pipeline->pipeline);
    auto* shaders = chain_.find<VkGeneratedCommandsShaderInfoEXT>(
        VK_STRUCTURE_TYPE_GENERATED_COMMANDS_SHADER_INFO_EXT);
    if (shaders) {
      shaders_.assign(shaders->pShaders, shaders->pShaders + shaders->shaderCount);
      for (VkShaderEXT& shader : shaders_) replace(state.shaders.find(shader), variant, shader);
      shaders->pShaders = shaders_.data();
    }
    info_.pNext = chain_.head();
  }
  VariantInfo(const VariantInfo&) = delete;
  VariantInfo& operator=(const VariantInfo&) = delete;

  // Whether a variant was found.
  bool changed() const { return changed_; }
  const Info& info() const { return info_; }

 private:
  template <typename Object, typename Handle>
  void replace(const std::shared_ptr<Object>& known, Variant wanted, Handle& handle) {
    if (!known) return;
    const Variant variant = known->choose(wanted);
    if (variant == Variant::Plain) return;
    handle = known->variant(variant);
    changed_ = true;
  }

  Info info_;
  vk::ChainCopy chain_;
  std::vector<VkShaderEXT> shaders_;
  bool changed_ = false;
};

VkPipelineBindPoint bind_point_of(VkShaderStageFlags stages) {
  constexpr VkShaderStageFlags kRayStages = VK_SHADER_STAGE_RAYGEN_BIT_KHR |
                                            VK_SHADER_STAGE_MISS_BIT_KHR |
                                            VK_SHADER_STAGE_CLOSEST_HIT_BIT_KHR;
  if ((stages & VK_SHADER_STAGE_COMPUTE_BIT) != 0) return VK_PIPELINE_BIND_POINT_COMPUTE;
  return (stages & kRayStages) != 0 ? VK_PIPELINE_BIND_POINT_RAY_TRACING_KHR
                                    : VK_PIPELINE_BIND_POINT_GRAPHICS;
}

bool names_what_is_bound(const VkGeneratedCommandsInfoEXT& info) {
  return vk::find_in_chain<VkBaseInStructure>(
             info.pNext, VK_STRUCTURE_TYPE_GENERATED_COMMANDS_PIPELINE_INFO_EXT) ||
         vk::find_in_chain<VkBaseInStructure>(info.pNext,
                                              VK_STRUCTURE_TYPE_GENERATED_COMMANDS_SHADER_INFO_EXT);
}

// Null if the execution may count.
const char* reason_against(const CommandBuffer& commands, const VkGeneratedCommandsInfoEXT& info) {
  if (commands.counts_queries()) return "emulated queries are active";
  const bool names = info.indirectExecutionSet != VK_NULL_HANDLE || names_what_is_bound(info);
  return names ? nullptr : "they name no pipeline";
}

// Whether anything lacks the counts of uninstrumented commands.
bool counts_actions(const CommandBuffer& commands) {
  return commands.instrumented() || commands.counts_queries() ||
         (commands.regions() && commands.regions()->in_pass());
}

// What the application preprocessed by itself names uncounted code, and has pointers to no record.
// It must be the same in memory when it is executed, so it is preprocessed again, in memory of the
// layer. Returns whether `info` now says so.
bool preprocess_again(CommandBuffer& commands, VkGeneratedCommandsInfoEXT& info) {
  const ObjectState& objects = commands.device().objects;
  const VkIndirectCommandsLayoutEXT layout =
      objects.implicit_layouts.find(info.indirectCommandsLayout);
  if (layout == VK_NULL_HANDLE) return false;
  const VkGeneratedCommandsMemoryRequirementsInfoEXT wanted = {
      VK_STRUCTURE_TYPE_GENERATED_COMMANDS_MEMORY_REQUIREMENTS_INFO_EXT,
      info.pNext,
      info.indirectExecutionSet,
      layout,
      info.maxSequenceCount,
      info.maxDrawCount};
  VkMemoryRequirements2 needed{VK_STRUCTURE_TYPE_MEMORY_REQUIREMENTS_2};
  find_generated_requirements(objects, wanted, needed);
  const VkMemoryRequirements& memory = needed.memoryRequirements;
  VkDeviceAddress address = 0;
  if (memory.size != 0) {
    VkResult result = VK_SUCCESS;
    auto chunk = Chunk::create(commands.device().memory.context, Chunk::Use::Preprocess,
                               memory.size, result, memory.memoryTypeBits);
    if (!chunk) return false;
    address = chunk->address();
    commands.keep(std::move(chunk));
  }
  info.indirectCommandsLayout = layout;
  info.preprocessAddress = address;
  info.preprocessSize = memory.size;
  return true;
}

// Executes the commands with the variants of their execution set, if these count.
bool execute_set(CommandBuffer& commands, const VkGeneratedCommandsInfoEXT& info) {
  const auto set = commands.device().objects.execution_sets.find(info.indirectExecutionSet);
  if (!set) return false;
  const ExecutionSet::Recorded recorded = set->record();
  if (!commands.actions().prepare_set(bind_point_of(info.shaderStages), recorded.program)) {
    return false;
  }
  VkGeneratedCommandsInfoEXT changed = info;
  changed.indirectExecutionSet = recorded.handle;
  commands.next().CmdExecuteGeneratedCommandsEXT(commands.handle(), VK_FALSE, &changed);
  return true;
}

// With the variants of an execution set.
std::optional<VkMemoryRequirements> requirements_of_set(
    const ObjectState& state, const VkGeneratedCommandsMemoryRequirementsInfoEXT& info) {
  if (info.indirectExecutionSet == VK_NULL_HANDLE) return std::nullopt;
  const auto set = state.execution_sets.find(info.indirectExecutionSet);
  if (!set) return std::nullopt;
  VkGeneratedCommandsMemoryRequirementsInfoEXT changed = info;
  changed.indirectExecutionSet = set->newest();
  VkMemoryRequirements2 needed{VK_STRUCTURE_TYPE_MEMORY_REQUIREMENTS_2};
  state.device.next.GetGeneratedCommandsMemoryRequirementsEXT(state.device.handle, &changed,
                                                              &needed);
  return needed.memoryRequirements;
}

void add_requirements(VkMemoryRequirements& all, const VkMemoryRequirements& needed) {
  all.size = std::max(all.size, needed.size);
  all.alignment = std::max(all.alignment, needed.alignment);
  all.memoryTypeBits &= needed.memoryTypeBits;
}

}  // namespace

void execute_generated_commands(CommandBuffer& commands, VkBool32 preprocessed,
                                const VkGeneratedCommandsInfoEXT& info) {
  const DeviceTable& next = commands.next();
  if (commands.idle()) {
    next.CmdExecuteGeneratedCommandsEXT(commands.handle(), preprocessed, &info);
    return;
  }
  // What the layer executes if it counts.
  VkGeneratedCommandsInfoEXT own = info;
  const char* reason = reason_against(commands, info);
  if (!reason && preprocessed == VK_TRUE && counts_actions(commands) &&
      !preprocess_again(commands, own)) {
    reason = "there is no memory to preprocess them again";
  }
  if (!reason && info.indirectExecutionSet != VK_NULL_HANDLE) {
    if (execute_set(commands, own)) return;
    reason = "the pipelines of their execution set do not count";
  }
  if (reason) {
    if (counts_actions(commands)) {
      commands.device().context.messages.notice(
          "TALLY-generated-commands", VK_OBJECT_TYPE_COMMAND_BUFFER,
          vk::handle_bits(commands.handle()),
          fmt::format("generated commands run uninstrumented: {}", reason));
    }
    commands.actions().prepare_generated_commands(bind_point_of(info.shaderStages));
    next.CmdExecuteGeneratedCommandsEXT(commands.handle(), preprocessed, &info);
    return;
  }
  const VkPipelineBindPoint point = bind_point_of(info.shaderStages);
  commands.actions().prepare(point, kUnknownWork);
  const Variant variant = commands.bound().at(point)->variant;
  if (variant == Variant::Plain) {
    next.CmdExecuteGeneratedCommandsEXT(commands.handle(), preprocessed, &info);
    return;
  }
  const VariantInfo<VkGeneratedCommandsInfoEXT> changed(commands.device().objects, own, variant);
  next.CmdExecuteGeneratedCommandsEXT(commands.handle(), VK_FALSE, &changed.info());
}

void find_generated_requirements(const ObjectState& state,
                                 const VkGeneratedCommandsMemoryRequirementsInfoEXT& info,
                                 VkMemoryRequirements2& requirements) {
  const DeviceTable& next = state.device.next;
  next.GetGeneratedCommandsMemoryRequirementsEXT(state.device.handle, &info, &requirements);
  VkMemoryRequirements& all = requirements.memoryRequirements;
  if (const auto needed = requirements_of_set(state, info)) add_requirements(all, *needed);
  for (const Variant variant : {Variant::Blocks, Variant::Regions, Variant::Both}) {
    const VariantInfo<VkGeneratedCommandsMemoryRequirementsInfoEXT> changed(state, info, variant);
    if (!changed.changed()) continue;
    VkMemoryRequirements2 needed{VK_STRUCTURE_TYPE_MEMORY_REQUIREMENTS_2};
    next.GetGeneratedCommandsMemoryRequirementsEXT(state.device.handle, &changed.info(), &needed);
    add_requirements(all, needed.memoryRequirements);
  }
}

}  // namespace tally::counters
