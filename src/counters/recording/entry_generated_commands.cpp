// Commands that the device generates (VK_EXT_device_generated_commands). An execution without an
// execution set runs what is bound, so it runs the bound variant and counts like a draw. One with a
// set runs a set of variants (execution_set.h). Commands that the application preprocessed itself
// are preprocessed again. Emulated queries know what the shaders count, but not the arguments.

#include <fmt/format.h>
#include <tally/vulkan_generated.h>
#include <vulkan/vulkan_core.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "counters/layer/entry_points.h"
#include "counters/pipelines/execution_set.h"
#include "counters/recording/command_buffer.h"
#include "vk/chain.h"
#include "vk/own_call.h"

namespace tally::counters {

// Records the execution.
void execute_generated_commands(CommandBuffer& commands, VkBool32 preprocessed,
                                const VkGeneratedCommandsInfoEXT& info);

// The needs of the plain pipeline or shaders, or of any variant of them.
void find_generated_requirements(const ObjectState& state,
                                 const VkGeneratedCommandsMemoryRequirementsInfoEXT& info,
                                 VkMemoryRequirements2& requirements);

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

  // True if a variant was found.
  bool changed() const { return changed_; }
  const Info& info() const { return info_; }

 private:
  template <typename Object, typename Handle>
  void replace(const std::shared_ptr<Object>& known, Variant wanted, Handle& handle) {
    if (!known) return;
    const Variant variant = known->make_best(wanted.with_alpha_to_coverage(false));
    if (variant == Variant::Plain) return;
    handle = known->find(variant)->handle;
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
const char* reason_against(const VkGeneratedCommandsInfoEXT& info) {
  const bool names = info.indirectExecutionSet != VK_NULL_HANDLE || names_what_is_bound(info);
  return names ? nullptr : "they name no pipeline";
}

// With heaps the device may write where the record pointers are, or to a block that was copied.
bool writes_push_data(CommandBuffer& commands, const VkGeneratedCommandsInfoEXT& info) {
  const uint64_t written =
      commands.device().objects.generated_push_data.find(info.indirectCommandsLayout);
  BoundState::Bound* bound = commands.bound().at(bind_point_of(info.shaderStages));
  const Bindable* pipeline = bound && written != 0 ? commands.bound().resolve(*bound) : nullptr;
  const PipelineLayout* layout = pipeline ? pipeline->layout.get() : nullptr;
  if (!layout || !layout->has_heaps() || layout->path() == AddressPath::None) return false;
  const uint64_t slots = PushReads::mask(
      bound->shaders ? layout->reserved_offset() : layout->slot_offset(), layout->slots_end());
  return layout->moves_blocks() || (written & slots) != 0;
}

// True if anything lacks the counts of uninstrumented commands.
bool counts_shaders(const CommandBuffer& commands) {
  return commands.instrumented() || (commands.queries() && commands.queries()->counts_shaders()) ||
         (commands.regions() && commands.regions()->in_pass());
}

// The layer's memory, unless the application's suffices.
bool provide_memory(CommandBuffer& commands, const VkMemoryRequirements& needed,
                    VkGeneratedCommandsInfoEXT& info) {
  const bool aligned = needed.alignment == 0 || info.preprocessAddress % needed.alignment == 0;
  if (needed.size == 0 || (needed.size <= info.preprocessSize && aligned)) return true;
  VkResult result = VK_SUCCESS;
  auto chunk = Chunk::create(commands.device().memory.context, Chunk::Use::Preprocess, needed.size,
                             result, needed.memoryTypeBits);
  if (!chunk) return false;
  info.preprocessAddress = chunk->address();
  info.preprocessSize = needed.size;
  commands.keep(std::move(chunk));
  return true;
}

VkGeneratedCommandsMemoryRequirementsInfoEXT requirements_for(
    const VkGeneratedCommandsInfoEXT& info) {
  return {VK_STRUCTURE_TYPE_GENERATED_COMMANDS_MEMORY_REQUIREMENTS_INFO_EXT,
          info.pNext,
          info.indirectExecutionSet,
          info.indirectCommandsLayout,
          info.maxSequenceCount,
          info.maxDrawCount};
}

// Commands that the application preprocessed itself name uncounted code, and have pointers to no
// record. It must be the same in memory when it is executed, so it is preprocessed again, in memory
// of the layer. Returns whether `info` now says so.
bool preprocess_again(CommandBuffer& commands, VkGeneratedCommandsInfoEXT& info) {
  const ObjectState& objects = commands.device().objects;
  info.indirectCommandsLayout = objects.implicit_layouts.find(info.indirectCommandsLayout);
  if (info.indirectCommandsLayout == VK_NULL_HANDLE) return false;
  info.preprocessAddress = 0;
  info.preprocessSize = 0;
  VkMemoryRequirements2 needed{VK_STRUCTURE_TYPE_MEMORY_REQUIREMENTS_2};
  find_generated_requirements(objects, requirements_for(info), needed);
  return provide_memory(commands, needed.memoryRequirements, info);
}

VkMemoryRequirements driver_requirements(const ObjectState& state,
                                         const VkGeneratedCommandsMemoryRequirementsInfoEXT& info) {
  VkMemoryRequirements2 needed{VK_STRUCTURE_TYPE_MEMORY_REQUIREMENTS_2};
  state.device.next.GetGeneratedCommandsMemoryRequirementsEXT(state.device.handle, &info, &needed);
  return needed.memoryRequirements;
}

// Puts a set of variants in place of the application's. Returns why they cannot count, or null.
const char* choose_set(CommandBuffer& commands, VkGeneratedCommandsInfoEXT& info,
                       std::shared_ptr<const Program>& program) {
  constexpr const char* kNothing = "the pipelines of their execution set do not count";
  const ObjectState& objects = commands.device().objects;
  const Variant variant = commands.actions()
                              .choose_variant(bind_point_of(info.shaderStages))
                              .with_alpha_to_coverage(false)
                              .full();
  const auto set = objects.execution_sets.find(info.indirectExecutionSet);
  if (!set || variant == Variant::Plain) return kNothing;
  const ExecutionSet::Recorded recorded = set->record(variant);
  if (!recorded.copy) return kNothing;
  info.indirectExecutionSet = recorded.copy->handle();
  commands.keep(recorded.copy);
  program = recorded.program;
  const VkMemoryRequirements needed = driver_requirements(objects, requirements_for(info));
  return provide_memory(commands, needed, info) ? nullptr : "out of memory for their variants";
}

void execute_uncounted(CommandBuffer& commands, VkBool32 preprocessed,
                       const VkGeneratedCommandsInfoEXT& info, const char* reason) {
  if (counts_shaders(commands)) {
    commands.device().context.messages.notice(
        "TALLY-generated-commands", VK_OBJECT_TYPE_COMMAND_BUFFER,
        vk::handle_bits(commands.handle()),
        fmt::format("generated commands run uninstrumented: {}", reason));
  }
  commands.actions().prepare_uncounted(bind_point_of(info.shaderStages));
  commands.next().CmdExecuteGeneratedCommandsEXT(commands.handle(), preprocessed, &info);
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
  const VkPipelineBindPoint point = bind_point_of(info.shaderStages);
  if (commands.counts().wanted()) commands.counts().generated(point);
  // The commands that the layer executes if it counts.
  VkGeneratedCommandsInfoEXT own = info;
  std::shared_ptr<const Program> set_program;
  const bool from_set = info.indirectExecutionSet != VK_NULL_HANDLE;
  const char* reason = reason_against(info);
  if (!reason && preprocessed == VK_TRUE && counts_shaders(commands) &&
      !preprocess_again(commands, own)) {
    reason = "out of memory to preprocess them again";
  }
  if (!reason && writes_push_data(commands, info)) {
    reason = "they write push data that the record pointer needs";
  }
  if (!reason && from_set) reason = choose_set(commands, own, set_program);
  if (reason) return execute_uncounted(commands, preprocessed, info, reason);
  commands.actions().prepare_generated(point, std::move(set_program));
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
  state.device.next.GetGeneratedCommandsMemoryRequirementsEXT(state.device.handle, &info,
                                                              &requirements);
  VkMemoryRequirements& all = requirements.memoryRequirements;
  const auto set = info.indirectExecutionSet != VK_NULL_HANDLE
                       ? state.execution_sets.find(info.indirectExecutionSet)
                       : nullptr;
  for (const VkIndirectExecutionSetEXT copy :
       set ? set->newest() : std::vector<VkIndirectExecutionSetEXT>{}) {
    VkGeneratedCommandsMemoryRequirementsInfoEXT changed = info;
    changed.indirectExecutionSet = copy;
    add_requirements(all, driver_requirements(state, changed));
  }
  for (const Variant variant : {Variant::Blocks, Variant::Regions, Variant::Both,
                                Variant::Unnumbered, Variant::Invocations}) {
    const VariantInfo<VkGeneratedCommandsMemoryRequirementsInfoEXT> changed(state, info, variant);
    if (changed.changed()) add_requirements(all, driver_requirements(state, changed.info()));
  }
}

// VK_EXT_device_generated_commands.

namespace {

// Bindings and push constants are undefined after generated commands.
VKAPI_ATTR void VKAPI_CALL hook_execute_generated(VkCommandBuffer commands, VkBool32 preprocessed,
                                                  const VkGeneratedCommandsInfoEXT* info) {
  CommandBuffer* state = find_command_buffer(commands);
  if (!state) {
    find_device(commands)->next().CmdExecuteGeneratedCommandsEXT(commands, preprocessed, info);
    return;
  }
  if (state->drops_actions()) return;
  vk::guarded_void([&] { execute_generated_commands(*state, preprocessed, *info); },
                   [&](VkResult error) { state->fail(error); });
  state->bound().invalidate_pipelines();
  state->bound().invalidate_guard();
}

// Reads what is bound in `source`, which must be what the commands are executed with. A counted
// execution preprocesses once more (entry_generated_commands.cpp): what it reads then has to be
// visible.
VKAPI_ATTR void VKAPI_CALL hook_preprocess(VkCommandBuffer commands,
                                           const VkGeneratedCommandsInfoEXT* info,
                                           VkCommandBuffer source) {
  CommandBuffer* state = find_command_buffer(source);
  const Device& device = *find_device(commands);
  if (state) state->bound().bind_plain();
  device.next().CmdPreprocessGeneratedCommandsEXT(commands, info, source);
  if (state) state->bound().bind_wanted();
  if (!device.state()) return;
  constexpr VkMemoryBarrier kVisible = {
      VK_STRUCTURE_TYPE_MEMORY_BARRIER, nullptr, 0,
      VK_ACCESS_INDIRECT_COMMAND_READ_BIT | VK_ACCESS_COMMAND_PREPROCESS_READ_BIT_NV};
  constexpr VkPipelineStageFlags kPreprocess = VK_PIPELINE_STAGE_COMMAND_PREPROCESS_BIT_NV;
  device.next().CmdPipelineBarrier(commands, kPreprocess,
                                   kPreprocess | VK_PIPELINE_STAGE_DRAW_INDIRECT_BIT, 0, 1,
                                   &kVisible, 0, nullptr, 0, nullptr);
}

// The bytes that generated commands write of push constants or push data.
uint64_t pushed_by(const VkIndirectCommandsLayoutCreateInfoEXT& info) {
  constexpr auto kPushData = static_cast<VkIndirectCommandsTokenTypeEXT>(1000135000);
  constexpr auto kIndexAsData = static_cast<VkIndirectCommandsTokenTypeEXT>(1000135001);
  constexpr auto kIndexAsConstant = static_cast<VkIndirectCommandsTokenTypeEXT>(2);
  uint64_t pushed = 0;
  for (const auto& token : std::span(info.pTokens, info.tokenCount)) {
    if (token.type != VK_INDIRECT_COMMANDS_TOKEN_TYPE_PUSH_CONSTANT_EXT &&
        token.type != kIndexAsConstant && token.type != kPushData && token.type != kIndexAsData) {
      continue;
    }
    const VkPushConstantRange& range = token.data.pPushConstant->updateRange;
    pushed |= PushReads::mask(range.offset, uint64_t{range.offset} + range.size);
  }
  return pushed;
}

VKAPI_ATTR VkResult VKAPI_CALL hook_create_layout(VkDevice handle,
                                                  const VkIndirectCommandsLayoutCreateInfoEXT* info,
                                                  const VkAllocationCallbacks* allocator,
                                                  VkIndirectCommandsLayoutEXT* layout) {
  const Device& device = *find_device(handle);
  const VkResult result =
      device.next().CreateIndirectCommandsLayoutEXT(handle, info, allocator, layout);
  if (result == VK_SUCCESS && device.state()) {
    vk::guarded_void(
        [&] { device.state()->objects.generated_push_data.insert(*layout, pushed_by(*info)); });
  }
  constexpr auto kExplicit = VK_INDIRECT_COMMANDS_LAYOUT_USAGE_EXPLICIT_PREPROCESS_BIT_EXT;
  if (result != VK_SUCCESS || !device.state() || (info->flags & kExplicit) == 0) return result;
  vk::guarded_void([&] {
    VkIndirectCommandsLayoutCreateInfoEXT changed = *info;
    changed.flags &= ~VkIndirectCommandsLayoutUsageFlagsEXT{kExplicit};
    VkIndirectCommandsLayoutEXT implicit = VK_NULL_HANDLE;
    const VkResult made =
        device.next().CreateIndirectCommandsLayoutEXT(handle, &changed, nullptr, &implicit);
    if (made == VK_SUCCESS) device.state()->objects.implicit_layouts.insert(*layout, implicit);
  });
  return result;
}

VKAPI_ATTR void VKAPI_CALL hook_destroy_layout(VkDevice handle, VkIndirectCommandsLayoutEXT layout,
                                               const VkAllocationCallbacks* allocator) {
  const Device& device = *find_device(handle);
  if (device.state()) device.state()->objects.generated_push_data.take(layout);
  const VkIndirectCommandsLayoutEXT implicit =
      device.state() ? device.state()->objects.implicit_layouts.take(layout)
                     : VkIndirectCommandsLayoutEXT{VK_NULL_HANDLE};
  if (implicit != VK_NULL_HANDLE) {
    device.next().DestroyIndirectCommandsLayoutEXT(handle, implicit, nullptr);
  }
  device.next().DestroyIndirectCommandsLayoutEXT(handle, layout, allocator);
}

VKAPI_ATTR void VKAPI_CALL
hook_requirements(VkDevice handle, const VkGeneratedCommandsMemoryRequirementsInfoEXT* info,
                  VkMemoryRequirements2* requirements) {
  const Device& device = *find_device(handle);
  if (!device.state()) {
    device.next().GetGeneratedCommandsMemoryRequirementsEXT(handle, info, requirements);
    return;
  }
  vk::guarded_void(
      [&] { find_generated_requirements(device.state()->objects, *info, *requirements); });
}

VKAPI_ATTR VkResult VKAPI_CALL hook_create_set(VkDevice handle,
                                               const VkIndirectExecutionSetCreateInfoEXT* info,
                                               const VkAllocationCallbacks* allocator,
                                               VkIndirectExecutionSetEXT* set) {
  const Device& device = *find_device(handle);
  if (!device.state())
    return device.next().CreateIndirectExecutionSetEXT(handle, info, allocator, set);
  return vk::guarded([&] {
    return create_execution_set(device.state()->objects, device.state()->memory.words, *info,
                                allocator, *set);
  });
}

VKAPI_ATTR void VKAPI_CALL hook_destroy_set(VkDevice handle, VkIndirectExecutionSetEXT set,
                                            const VkAllocationCallbacks* allocator) {
  const Device& device = *find_device(handle);
  if (device.state()) device.state()->objects.execution_sets.take(set);
  device.next().DestroyIndirectExecutionSetEXT(handle, set, allocator);
}

template <auto kUpdate, typename Write>
VKAPI_ATTR void VKAPI_CALL hook_update_set(VkDevice handle, VkIndirectExecutionSetEXT set,
                                           uint32_t count, const Write* writes) {
  const Device& device = *find_device(handle);
  if (device.state()) {
    vk::guarded_void([&] {
      const auto known = device.state()->objects.execution_sets.find(set);
      if (known) known->update(std::span(writes, count));
    });
  }
  (device.next().*kUpdate)(handle, set, count, writes);
}

}  // namespace

void add_generated_command_entry_points(Hooks& hooks) {
  const auto add = [&](std::string_view name, auto* function) {
    hooks.push_back(make_hook(name, function, HookCondition::Instrumentation));
  };
  add("vkCmdExecuteGeneratedCommandsEXT", hook_execute_generated);
  add("vkCmdPreprocessGeneratedCommandsEXT", hook_preprocess);
  add("vkCreateIndirectCommandsLayoutEXT", hook_create_layout);
  add("vkDestroyIndirectCommandsLayoutEXT", hook_destroy_layout);
  add("vkCreateIndirectExecutionSetEXT", hook_create_set);
  add("vkDestroyIndirectExecutionSetEXT", hook_destroy_set);
  add("vkUpdateIndirectExecutionSetPipelineEXT",
      hook_update_set<&DeviceTable::UpdateIndirectExecutionSetPipelineEXT,
                      VkWriteIndirectExecutionSetPipelineEXT>);
  add("vkUpdateIndirectExecutionSetShaderEXT",
      hook_update_set<&DeviceTable::UpdateIndirectExecutionSetShaderEXT,
                      VkWriteIndirectExecutionSetShaderEXT>);
  add("vkGetGeneratedCommandsMemoryRequirementsEXT", hook_requirements);
}

}  // namespace tally::counters
