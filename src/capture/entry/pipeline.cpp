// Pipelines. They are created with the flag that instruments their shaders.

#include <algorithm>
#include <cmath>
#include <deque>
#include <optional>

#include "capture/entry/entry.h"
#include "vk/chain.h"
#include "vk/own_call.h"

namespace tally::capture {
namespace {

template <typename Info>
constexpr VkPipelineBindPoint kBindPoint = VK_PIPELINE_BIND_POINT_GRAPHICS;
template <>
constexpr VkPipelineBindPoint kBindPoint<VkComputePipelineCreateInfo> =
    VK_PIPELINE_BIND_POINT_COMPUTE;
template <>
constexpr VkPipelineBindPoint kBindPoint<VkRayTracingPipelineCreateInfoKHR> =
    VK_PIPELINE_BIND_POINT_RAY_TRACING_KHR;

std::span<const VkPipelineShaderStageCreateInfo> stages_of(
    const VkComputePipelineCreateInfo& info) {
  return {&info.stage, 1};
}
template <typename Info>
std::span<const VkPipelineShaderStageCreateInfo> stages_of(const Info& info) {
  return {info.pStages, info.pStages ? info.stageCount : 0};
}

std::span<const VkPipeline> libraries_of(const VkRayTracingPipelineCreateInfoKHR& info) {
  if (!info.pLibraryInfo) return {};
  return {info.pLibraryInfo->pLibraries, info.pLibraryInfo->libraryCount};
}
template <typename Info>
std::span<const VkPipeline> libraries_of(const Info& info) {
  const auto* libraries = vk::find_in_chain<VkPipelineLibraryCreateInfoKHR>(
      info.pNext, VK_STRUCTURE_TYPE_PIPELINE_LIBRARY_CREATE_INFO_KHR);
  if (!libraries) return {};
  return {libraries->pLibraries, libraries->libraryCount};
}

// Create infos whose shaders are replaced as `tally run --replace` says. The modules that it makes
// live as long as it does: until the pipelines exist.
template <typename Info>
class ReplacedInfos {
 public:
  ReplacedInfos(Device& device, std::span<const Info> infos)
      : device_(device), infos_(infos.begin(), infos.end()) {
    if (!device.connection().replacements().any()) return;
    for (Info& info : infos_) replace_stages(info);
  }
  ReplacedInfos(const ReplacedInfos&) = delete;
  ReplacedInfos& operator=(const ReplacedInfos&) = delete;
  ~ReplacedInfos() {
    for (const Made& made : made_) {
      device_.shaders().remove_module(made.module);
      device_.table().DestroyShaderModule(device_.handle(), made.module, nullptr);
    }
  }

  const Info* data() const { return infos_.data(); }
  bool any() const { return !made_.empty(); }
  // The driver did not accept a replacement.
  void refuse(const std::string& reason) {
    for (const Made& made : made_) device_.shaders().refuse_replacement(made.original, reason);
  }

 private:
  using Stage = VkPipelineShaderStageCreateInfo;
  struct Made {
    VkShaderModule module;
    Stage original;
  };

  void replace_stages(VkComputePipelineCreateInfo& info) { replace(info.stage); }
  template <typename Other>
  void replace_stages(Other& info) {
    const auto given = stages_of(info);
    std::vector<Stage>& stages = stages_.emplace_back(given.begin(), given.end());
    for (Stage& stage : stages) replace(stage);
    if (!stages.empty()) info.pStages = stages.data();
  }

  void replace(Stage& stage) {
    const auto words = device_.shaders().replacement_of(stage, device_.max_spirv_version());
    if (!words) return;
    VkShaderModuleCreateInfo info{VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
    info.codeSize = words->size() * sizeof(uint32_t);
    info.pCode = words->data();
    VkShaderModule module = VK_NULL_HANDLE;
    const VkResult result = vk::own(
        "vkCreateShaderModule",
        device_.table().CreateShaderModule(device_.handle(), &info, nullptr, &module), module);
    if (result != VK_SUCCESS) {
      device_.shaders().refuse_replacement(stage, vk::take_own_failure(result).text());
      return;
    }
    device_.shaders().add_replacement(module, *words, stage);
    made_.push_back({module, stage});
    stage.module = module;
    constexpr VkStructureType kCode = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
    if (!vk::find_in_chain<VkShaderModuleCreateInfo>(stage.pNext, kCode)) return;
    vk::ChainCopy& chain = chains_.emplace_back(stage.pNext);
    chain.remove(kCode);
    stage.pNext = chain.head();
  }

  Device& device_;
  std::vector<Info> infos_;
  std::deque<std::vector<Stage>> stages_;
  std::deque<vk::ChainCopy> chains_;
  std::vector<Made> made_;
};

template <typename Info>
uint64_t pipeline_flags(const Info& info) {
  const auto* flags2 = vk::find_in_chain<VkPipelineCreateFlags2CreateInfoKHR>(
      info.pNext, VK_STRUCTURE_TYPE_PIPELINE_CREATE_FLAGS_2_CREATE_INFO_KHR);
  return flags2 ? flags2->flags : info.flags;
}

// The parts of a pipeline that the create info itself describes; the others come from libraries.
VkGraphicsPipelineLibraryFlagsEXT own_parts(const VkGraphicsPipelineCreateInfo& info) {
  const auto* library = vk::find_in_chain<VkGraphicsPipelineLibraryCreateInfoEXT>(
      info.pNext, VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_LIBRARY_CREATE_INFO_EXT);
  if (library) return library->flags;
  const bool is_part = (pipeline_flags(info) & VK_PIPELINE_CREATE_LIBRARY_BIT_KHR) != 0;
  return is_part || !libraries_of(info).empty() ? 0 : ~VkGraphicsPipelineLibraryFlagsEXT{0};
}

// The driver ignores the states of parts and stages that the pipeline does not have: their pointers
// may be invalid.
void read_assembly(const VkGraphicsPipelineCreateInfo& info, PrimitiveAssembly& assembly) {
  VkShaderStageFlags stages = 0;
  for (const VkPipelineShaderStageCreateInfo& stage : stages_of(info)) stages |= stage.stage;
  const auto is_dynamic = [&](VkDynamicState state) {
    const auto* dynamic = info.pDynamicState;
    if (!dynamic) return false;
    const std::span all(dynamic->pDynamicStates, dynamic->dynamicStateCount);
    return std::ranges::find(all, state) != all.end();
  };
  const VkGraphicsPipelineLibraryFlagsEXT parts = own_parts(info);
  const auto* input = info.pInputAssemblyState;
  const bool has_input =
      (parts & VK_GRAPHICS_PIPELINE_LIBRARY_VERTEX_INPUT_INTERFACE_BIT_EXT) != 0 &&
      (stages & (VK_SHADER_STAGE_TASK_BIT_NV | VK_SHADER_STAGE_MESH_BIT_NV)) == 0;
  if (has_input && input) {
    if (!is_dynamic(VK_DYNAMIC_STATE_PRIMITIVE_TOPOLOGY)) assembly.topology = input->topology;
    if (!is_dynamic(VK_DYNAMIC_STATE_PRIMITIVE_RESTART_ENABLE))
      assembly.restart = input->primitiveRestartEnable == VK_TRUE;
  }
  const auto* patches = info.pTessellationState;
  const bool has_patches =
      (parts & VK_GRAPHICS_PIPELINE_LIBRARY_PRE_RASTERIZATION_SHADERS_BIT_EXT) != 0 &&
      (stages & VK_SHADER_STAGE_TESSELLATION_CONTROL_BIT) != 0;
  if (has_patches && patches && !is_dynamic(VK_DYNAMIC_STATE_PATCH_CONTROL_POINTS_EXT))
    assembly.patch_control_points = patches->patchControlPoints;
}

template <typename Info>
void read_assembly(const Info&, PrimitiveAssembly&) {}

// The create infos with the added flags, and the data that they point to.
template <typename Info>
class InstrumentedInfos {
 public:
  InstrumentedInfos(Device& device, std::span<const Info> infos)
      : originals_(infos), infos_(infos.begin(), infos.end()) {
    const CaptureSettings& settings = device.connection().settings();
    has_flag_.resize(infos_.size());
    for (size_t i = 0; i < infos_.size(); ++i) {
      Info& info = infos_[i];
      drafts_.push_back(
          device.shaders().draft(kBindPoint<Info>, stages_of(info), libraries_of(info)));
      read_assembly(info, drafts_.back().assembly);
      if (device.statistics().all) add_flags(info, VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR);
      if (device.frames().over()) {
        refusals_.push_back("it was created after the captured frames");
        continue;
      }
      refusals_.push_back(drafts_.back().why_not_counted(settings));
      // A pipeline gets its name after its creation.
      const bool may_be_selected = refusals_.back().empty() || device.sets_names();
      if (settings.counts && (may_be_selected || drafts_.back().has_flagged_part)) {
        has_flag_[i] = true;
        add_flags(info, VK_PIPELINE_CREATE_2_INSTRUMENT_SHADERS_BIT_ARM);
      }
    }
  }

  const Info* data() const { return infos_.data(); }
  const PipelineDraft& draft(size_t i) const { return drafts_[i]; }
  const std::string& refusal(size_t i) const { return refusals_[i]; }
  bool has_flag(size_t i) const { return has_flag_[i]; }
  // A ray-tracing pipeline with the flag always has the code that counts.
  bool has_plain_statistics(const Device& device, size_t i) const {
    const StatisticsSetup& setup = device.statistics();
    const bool plain = kBindPoint<Info> != VK_PIPELINE_BIND_POINT_RAY_TRACING_KHR || !has_flag_[i];
    return plain && (setup.asked || setup.all) &&
           (pipeline_flags(infos_[i]) & VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR) != 0;
  }
  bool any() const { return added_; }
  // The driver rejected the flags. No create info has them now.
  void refuse(const std::string& reason) {
    for (std::string& refusal : refusals_) {
      if (refusal.empty()) refusal = reason;
    }
    has_flag_.assign(has_flag_.size(), false);
    infos_.assign(originals_.begin(), originals_.end());
  }

 private:
  using Flags2 = VkPipelineCreateFlags2CreateInfoKHR;

  void add_flags(Info& info, uint64_t added) {
    added_ = true;
    constexpr VkStructureType kType = VK_STRUCTURE_TYPE_PIPELINE_CREATE_FLAGS_2_CREATE_INFO_KHR;
    if (vk::find_in_chain<Flags2>(info.pNext, kType)) {
      vk::ChainCopy& chain = chains_.emplace_back(info.pNext);
      chain.template find<Flags2>(kType)->flags |= added;
      info.pNext = chain.head();
    } else if (added <= UINT32_MAX) {
      info.flags |= static_cast<VkPipelineCreateFlags>(added);
    } else {
      info.pNext = &flags_.emplace_back(Flags2{kType, info.pNext, info.flags | added});
    }
  }

  const std::span<const Info> originals_;
  std::vector<Info> infos_;
  std::vector<PipelineDraft> drafts_;
  std::vector<std::string> refusals_;  // why a pipeline is not counted, "" = it is
  std::vector<bool> has_flag_;
  bool added_ = false;  // to any of them
  std::deque<Flags2> flags_;
  std::deque<vk::ChainCopy> chains_;
};

std::optional<double> value_of(const VkPipelineExecutableStatisticKHR& statistic) {
  switch (statistic.format) {
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_BOOL32_KHR:
      return statistic.value.b32 == VK_TRUE ? 1 : 0;
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_INT64_KHR:
      return static_cast<double>(statistic.value.i64);
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_UINT64_KHR:
      return static_cast<double>(statistic.value.u64);
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_FLOAT64_KHR:
      return std::isfinite(statistic.value.f64) ? std::optional(statistic.value.f64) : std::nullopt;
    default:
      return std::nullopt;
  }
}

// The numbers of the driver's compiler. The pipeline of the messages is not set.
std::vector<stream::PipelineStatistic> read_statistics(const Device& device, VkPipeline pipeline) {
  const DeviceTable& table = device.table();
  const VkPipelineInfoKHR info{VK_STRUCTURE_TYPE_PIPELINE_INFO_KHR, nullptr, pipeline};
  uint32_t count = 0;
  table.GetPipelineExecutablePropertiesKHR(device.handle(), &info, &count, nullptr);
  std::vector<VkPipelineExecutablePropertiesKHR> executables(
      count, {VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_PROPERTIES_KHR});
  table.GetPipelineExecutablePropertiesKHR(device.handle(), &info, &count, executables.data());
  std::vector<stream::PipelineStatistic> read;
  for (uint32_t e = 0; e < count; ++e) {
    const VkPipelineExecutableInfoKHR which{VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR, nullptr,
                                            pipeline, e};
    uint32_t numbers = 0;
    table.GetPipelineExecutableStatisticsKHR(device.handle(), &which, &numbers, nullptr);
    std::vector<VkPipelineExecutableStatisticKHR> statistics(
        numbers, {VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_STATISTIC_KHR});
    table.GetPipelineExecutableStatisticsKHR(device.handle(), &which, &numbers, statistics.data());
    for (uint32_t s = 0; s < numbers; ++s) {
      const std::optional<double> value = value_of(statistics[s]);
      if (!value) continue;
      read.push_back({.executable = e,
                      .position = s,
                      .executable_name = executables[e].name,
                      .executable_description = executables[e].description,
                      .stages = executables[e].stages,
                      .subgroup_size = executables[e].subgroupSize,
                      .name = statistics[s].name,
                      .description = statistics[s].description,
                      .format = static_cast<store::StatisticFormat>(statistics[s].format),
                      .value = *value});
    }
  }
  return read;
}

// The numbers of the formats are Vulkan's.
static_assert(static_cast<int>(store::StatisticFormat::Float) ==
              VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_FLOAT64_KHR);

// True if a shader is an identifier alone: it could not be counted.
template <typename Info>
bool lacks_code(const Info& info) {
  return std::ranges::any_of(stages_of(info), [](const VkPipelineShaderStageCreateInfo& stage) {
    const auto* identifier = vk::find_in_chain<VkPipelineShaderStageModuleIdentifierCreateInfoEXT>(
        stage.pNext, VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_MODULE_IDENTIFIER_CREATE_INFO_EXT);
    return stage.module == VK_NULL_HANDLE && identifier && identifier->identifierSize != 0;
  });
}

template <typename Info>
bool returns_early(const Info& info) {
  return (pipeline_flags(info) & VK_PIPELINE_CREATE_EARLY_RETURN_ON_FAILURE_BIT) != 0;
}

// Answers that pipelines of identifiers need to be compiled, as a driver without a cache does: the
// application then creates them from SPIR-V. `create_one(info, pipeline)` creates one of the
// others.
template <typename Info, typename CreateOne>
VkResult create_with_code(std::span<const Info> infos, VkPipeline* pipelines,
                          const CreateOne& create_one) {
  std::fill_n(pipelines, infos.size(), VkPipeline{VK_NULL_HANDLE});
  VkResult all = VK_SUCCESS;
  for (size_t i = 0; i < infos.size(); ++i) {
    VkResult result = VK_PIPELINE_COMPILE_REQUIRED;
    if (!lacks_code(infos[i])) {
      Info info = infos[i];
      if (info.basePipelineIndex >= 0) {
        info.basePipelineHandle = pipelines[info.basePipelineIndex];
        info.basePipelineIndex = -1;
      }
      result = create_one(info, pipelines[i]);
    }
    if (all >= VK_SUCCESS && result != VK_SUCCESS) all = result;
    if (result != VK_SUCCESS && returns_early(infos[i])) break;
  }
  return all;
}

// `call(infos, count, pipelines)` creates the pipelines.
template <typename Info, typename Call>
VkResult create_counted(Device& device, uint32_t count, const Info* infos, VkPipeline* pipelines,
                        const VkAllocationCallbacks* allocator, const Call& call) {
  InstrumentedInfos<Info> instrumented(device, {infos, count});
  std::fill_n(pipelines, count, VkPipeline{VK_NULL_HANDLE});
  std::string diagnostics;
  VkResult result = VK_SUCCESS;
  {
    const ReasonCollector reasons(ReasonCollector::kInstrumentation);
    result = call(device.table(), instrumented.data(), count, pipelines);
    diagnostics = reasons.text();
  }
  if (worth_another_try(result) && instrumented.any()) {
    for (uint32_t i = 0; i < count; ++i) {
      device.table().DestroyPipeline(device.handle(), pipelines[i], allocator);
    }
    instrumented.refuse(refusal_text(result));
    result = call(device.table(), instrumented.data(), count, pipelines);
  }
  for (uint32_t i = 0; i < count; ++i) {
    if (pipelines[i] == VK_NULL_HANDLE) continue;
    device.shaders().add_pipeline(pipelines[i], kBindPoint<Info>, instrumented.draft(i),
                                  instrumented.refusal(i), instrumented.has_flag(i), diagnostics,
                                  instrumented.has_plain_statistics(device, i)
                                      ? read_statistics(device, pipelines[i])
                                      : std::vector<stream::PipelineStatistic>());
  }
  if (!diagnostics.empty()) device.connection().message(store::Severity::Warning, diagnostics);
  return result;
}

template <typename Info, typename Call>
VkResult create_instrumented(VkDevice handle, uint32_t count, const Info* infos,
                             VkPipeline* pipelines, const VkAllocationCallbacks* allocator,
                             Call call) noexcept {
  return vk::guarded([&] {
    const auto device = Device::find(handle);
    ReplacedInfos<Info> replaced(*device, {infos, count});
    const VkResult result =
        create_counted(*device, count, replaced.data(), pipelines, allocator, call);
    if (!replaced.any() || !worth_another_try(result)) return result;
    for (uint32_t i = 0; i < count; ++i) {
      if (pipelines[i] == VK_NULL_HANDLE) continue;
      device->shaders().remove_pipeline(pipelines[i]);
      device->table().DestroyPipeline(handle, pipelines[i], allocator);
    }
    replaced.refuse(refusal_text(result));
    return create_counted(*device, count, infos, pipelines, allocator, call);
  });
}

template <typename Info, typename Call>
VkResult create(VkDevice handle, uint32_t count, const Info* infos, VkPipeline* pipelines,
                const VkAllocationCallbacks* allocator, Call call) noexcept {
  const std::span all(infos, count);
  if (std::ranges::none_of(all, lacks_code<Info>)) {
    return create_instrumented(handle, count, infos, pipelines, allocator, call);
  }
  return create_with_code(all, pipelines, [&](const Info& info, VkPipeline& pipeline) {
    return create_instrumented(handle, 1, &info, &pipeline, allocator, call);
  });
}

VKAPI_ATTR VkResult VKAPI_CALL CreateGraphicsPipelines(VkDevice d, VkPipelineCache cache,
                                                       uint32_t count,
                                                       const VkGraphicsPipelineCreateInfo* infos,
                                                       const VkAllocationCallbacks* a,
                                                       VkPipeline* pipelines) {
  return create(d, count, infos, pipelines, a,
                [&](const DeviceTable& next, const VkGraphicsPipelineCreateInfo* chosen,
                    uint32_t number, VkPipeline* made) {
                  return next.CreateGraphicsPipelines(d, cache, number, chosen, a, made);
                });
}

VKAPI_ATTR VkResult VKAPI_CALL CreateComputePipelines(VkDevice d, VkPipelineCache cache,
                                                      uint32_t count,
                                                      const VkComputePipelineCreateInfo* infos,
                                                      const VkAllocationCallbacks* a,
                                                      VkPipeline* pipelines) {
  return create(d, count, infos, pipelines, a,
                [&](const DeviceTable& next, const VkComputePipelineCreateInfo* chosen,
                    uint32_t number, VkPipeline* made) {
                  return next.CreateComputePipelines(d, cache, number, chosen, a, made);
                });
}

// A deferred creation would need our create infos until it completes. The specification allows an
// implementation not to defer, so the layer never defers.
VKAPI_ATTR VkResult VKAPI_CALL
CreateRayTracingPipelinesKHR(VkDevice d, VkDeferredOperationKHR operation, VkPipelineCache cache,
                             uint32_t count, const VkRayTracingPipelineCreateInfoKHR* infos,
                             const VkAllocationCallbacks* a, VkPipeline* pipelines) {
  const VkResult result = create(
      d, count, infos, pipelines, a,
      [&](const DeviceTable& next, const VkRayTracingPipelineCreateInfoKHR* chosen, uint32_t number,
          VkPipeline* made) {
        return next.CreateRayTracingPipelinesKHR(d, VK_NULL_HANDLE, cache, number, chosen, a, made);
      });
  const bool asked_to_defer = operation != VK_NULL_HANDLE;
  return asked_to_defer && result == VK_SUCCESS ? VK_OPERATION_NOT_DEFERRED_KHR : result;
}

VKAPI_ATTR void VKAPI_CALL DestroyPipeline(VkDevice d, VkPipeline pipeline,
                                           const VkAllocationCallbacks* a) {
  vk::guarded_void([&] {
    const auto device = Device::find(d);
    if (pipeline != VK_NULL_HANDLE) device->shaders().remove_pipeline(pipeline);
    device->table().DestroyPipeline(d, pipeline, a);
  });
}

}  // namespace

std::span<const DeviceHook> pipeline_hooks() {
#define TALLY_ROW(name) device_hook<&DeviceTable::name>("vk" #name, name)
  static const DeviceHook rows[] = {
      TALLY_ROW(CreateGraphicsPipelines),
      TALLY_ROW(CreateComputePipelines),
      TALLY_ROW(CreateRayTracingPipelinesKHR),
      TALLY_ROW(DestroyPipeline),
  };
#undef TALLY_ROW
  return rows;
}

// Execution sets of VK_EXT_device_generated_commands.

namespace {

VKAPI_ATTR VkResult VKAPI_CALL
CreateIndirectExecutionSetEXT(VkDevice d, const VkIndirectExecutionSetCreateInfoEXT* info,
                              const VkAllocationCallbacks* a, VkIndirectExecutionSetEXT* set) {
  return vk::guarded([&] {
    const auto device = Device::find(d);
    const VkResult result = device->table().CreateIndirectExecutionSetEXT(d, info, a, set);
    if (result == VK_SUCCESS) device->execution_sets().add(*set, *info);
    return result;
  });
}

VKAPI_ATTR void VKAPI_CALL DestroyIndirectExecutionSetEXT(VkDevice d, VkIndirectExecutionSetEXT set,
                                                          const VkAllocationCallbacks* a) {
  vk::guarded_void([&] {
    const auto device = Device::find(d);
    device->execution_sets().remove(set);
    device->table().DestroyIndirectExecutionSetEXT(d, set, a);
  });
}

VKAPI_ATTR void VKAPI_CALL
UpdateIndirectExecutionSetPipelineEXT(VkDevice d, VkIndirectExecutionSetEXT set, uint32_t count,
                                      const VkWriteIndirectExecutionSetPipelineEXT* writes) {
  vk::guarded_void([&] {
    const auto device = Device::find(d);
    device->table().UpdateIndirectExecutionSetPipelineEXT(d, set, count, writes);
    device->execution_sets().update(set, std::span(writes, count));
  });
}

VKAPI_ATTR void VKAPI_CALL
UpdateIndirectExecutionSetShaderEXT(VkDevice d, VkIndirectExecutionSetEXT set, uint32_t count,
                                    const VkWriteIndirectExecutionSetShaderEXT* writes) {
  vk::guarded_void([&] {
    const auto device = Device::find(d);
    device->table().UpdateIndirectExecutionSetShaderEXT(d, set, count, writes);
    device->execution_sets().update(set, std::span(writes, count));
  });
}

}  // namespace

std::span<const DeviceHook> execution_set_hooks() {
#define TALLY_ROW(name) device_hook<&DeviceTable::name>("vk" #name, name)
  static const DeviceHook rows[] = {
      TALLY_ROW(CreateIndirectExecutionSetEXT),
      TALLY_ROW(DestroyIndirectExecutionSetEXT),
      TALLY_ROW(UpdateIndirectExecutionSetPipelineEXT),
      TALLY_ROW(UpdateIndirectExecutionSetShaderEXT),
  };
#undef TALLY_ROW
  return rows;
}

}  // namespace tally::capture
