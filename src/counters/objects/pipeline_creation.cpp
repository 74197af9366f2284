#include "counters/objects/pipeline_creation.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>

#include "counters/objects/object_state.h"
#include "counters/objects/pipeline_contents.h"
#include "counters/objects/pipeline_flags.h"
#include "counters/shader/stage_variants.h"
#include "vk/boundary.h"

namespace tally::counters {
namespace {

#ifndef VK_KHR_PIPELINE_BINARY_EXTENSION_NAME  // newer than the headers of Debian 12
constexpr auto VK_STRUCTURE_TYPE_PIPELINE_BINARY_INFO_KHR =
    static_cast<VkStructureType>(1000483002);
constexpr uint64_t VK_PIPELINE_CREATE_2_CAPTURE_DATA_BIT_KHR = 0x80000000;
#endif

// The application's create infos without VK_PIPELINE_CREATE_2_INSTRUMENT_SHADERS_BIT_ARM. Chains
// are copied only where that changes them.
template <typename Info>
class PlainInfos {
 public:
  PlainInfos(std::span<const Info> original, bool instrumentation_enabled)
      : infos_(original.begin(), original.end()) {
    for (const Info& info : original) {
      wanted_.push_back(instrumentation_enabled && wants_instrumentation(info));
    }
    for (Info& info : infos_) {
      if (!vk::find_in_chain<VkBaseInStructure>(
              info.pNext, VK_STRUCTURE_TYPE_PIPELINE_CREATE_FLAGS_2_CREATE_INFO_KHR)) {
        continue;
      }
      const uint64_t flags =
          pipeline_flags(info) & ~VK_PIPELINE_CREATE_2_INSTRUMENT_SHADERS_BIT_ARM;
      set_pipeline_flags(info, chains_.emplace_back(info.pNext), flags);
    }
  }

  uint32_t count() const { return static_cast<uint32_t>(infos_.size()); }
  const Info* data() const { return infos_.data(); }
  const Info& operator[](size_t i) const { return infos_[i]; }
  bool wanted(size_t i) const { return wanted_[i]; }

 private:
  std::vector<Info> infos_;
  std::vector<bool> wanted_;
  std::deque<vk::ChainCopy> chains_;
};

VkResult create_pipelines(ObjectState& state, VkPipelineCache cache, uint32_t count,
                          const VkGraphicsPipelineCreateInfo* infos,
                          const VkAllocationCallbacks* allocator, VkPipeline* pipelines) {
  return state.device.next.CreateGraphicsPipelines(state.device.handle, cache, count, infos,
                                                   allocator, pipelines);
}
VkResult create_pipelines(ObjectState& state, VkPipelineCache cache, uint32_t count,
                          const VkComputePipelineCreateInfo* infos,
                          const VkAllocationCallbacks* allocator, VkPipeline* pipelines) {
  return state.device.next.CreateComputePipelines(state.device.handle, cache, count, infos,
                                                  allocator, pipelines);
}

void set_stages(VkGraphicsPipelineCreateInfo& info,
                const std::vector<VkPipelineShaderStageCreateInfo>& stages) {
  if (!stages.empty()) info.pStages = stages.data();
}
void set_stages(VkComputePipelineCreateInfo& info,
                const std::vector<VkPipelineShaderStageCreateInfo>& stages) {
  info.stage = stages.front();
}

// Replaces the libraries of a pipeline by their variants and adds the programs of those.
class LibraryVariants {
 public:
  LibraryVariants(ObjectState& state, vk::ChainCopy& chain, Variant variant, Program& program) {
    auto* info = chain.find<VkPipelineLibraryCreateInfoKHR>(
        VK_STRUCTURE_TYPE_PIPELINE_LIBRARY_CREATE_INFO_KHR);
    if (!info) return;
    libraries_.assign(info->pLibraries, info->pLibraries + info->libraryCount);
    for (VkPipeline& library : libraries_) {
      const std::shared_ptr<Pipeline> known = state.pipelines.find(library);
      if (!known) continue;
      const Variant best = known->choose(variant);
      if (best == Variant::Plain) continue;
      library = known->variant(best);
      changed_ = true;
      if (counts_blocks(best)) add_program(*known, best, program);
    }
    info->pLibraries = libraries_.data();
  }

  bool changed() const { return changed_; }

 private:
  static void add_program(const Pipeline& pipeline, Variant variant, Program& program) {
    const Program& library = *pipeline.programs[static_cast<size_t>(variant)];
    for (const StageProgram& stage : library.stages) program.stages.push_back(stage);
    for (size_t slot = 0; slot < kPipelineSlots; ++slot) {
      program.capacities[slot] = std::max(program.capacities[slot], library.capacities[slot]);
    }
  }

  bool changed_ = false;
  std::vector<VkPipeline> libraries_;
};

template <typename Info>
class VariantBuilder {
 public:
  VariantBuilder(ObjectState& state, const Info& plain,
                 const std::shared_ptr<PipelineLayout>& layout, Variant variant)
      : state_(state),
        variant_(variant),
        layout_(layout),
        info_(plain),
        chain_(plain.pNext),
        stages_(state.device.handle, state.device.next) {}

  // Returns VK_SUCCESS without creating the variant if there is nothing to count.
  VkResult create(VkPipelineCache cache, Pipeline& pipeline) {
    build_stages();
    report_refusals(pipeline.variant(Variant::Plain));
    auto program = std::make_shared<Program>(stages_.program());
    for (StageProgram& stage : program->stages) {
      stage.reported = pipeline.instrumented;
      stage.rasterized_stream = rasterized_stream_of(info_);
    }
    const LibraryVariants libraries(state_, chain_, variant_, *program);
    if (program->stages.empty() && !stages_.counts_regions() && !libraries.changed())
      return VK_SUCCESS;
    std::ranges::sort(program->stages, {}, &StageProgram::stage);
    note_uncounted(*program, pipeline.facts.facts.stages);
    finish_info();
    VkPipeline& handle = pipeline.variant(variant_);
    const VkResult result = create_pipelines(state_, cache, 1, &info_, nullptr, &handle);
    if (result != VK_SUCCESS) {
      handle = VK_NULL_HANDLE;
      return result;
    }
    pipeline.programs[static_cast<size_t>(variant_)] = std::move(program);
    return VK_SUCCESS;
  }

 private:
  void build_stages() {
    std::vector<Stage> sources;
    for (const VkPipelineShaderStageCreateInfo& stage : stages_of(info_)) {
      sources.emplace_back(&stage, find_code(state_, stage));
    }
    if (sources.empty()) return;
    const bool two_slots = state_.layout_rules.address_slots == kPipelineSlots;
    const bool number_draws = state_.instrumenter.options().packed_draw_index_locations != 0 &&
                              variant_ == Variant::Blocks &&
                              layout_->path() == AddressPath::PushConstant &&
                              may_number_draws(info_);
    stages_.build(state_.instrumenter, sources,
                  {variant_, layout_->addressing(two_slots), may_cover_by_alpha(info_), multiview(),
                   has_primitive_ids(sources), tessellation_of(sources), number_draws});
    set_stages(info_, stages_.infos());
  }

  bool multiview() const {
    if (!state_.needs.regions || !counts_regions(variant_)) return false;
    const VkRenderPass render_pass = render_pass_of(info_);
    return render_pass != VK_NULL_HANDLE ? state_.render_passes.find(render_pass).views != 0
                                         : view_mask_of(info_) != 0;
  }

  void report_refusals(VkPipeline plain) const {
    for (const StageVariants::Refusal& refusal : stages_.refusals()) {
      state_.device.messages.notice(
          kUninstrumentedNotice, VK_OBJECT_TYPE_PIPELINE, vk::handle_bits(plain),
          fmt::format("a {} shader ({}) runs uninstrumented: {}", stage_name(refusal.stage),
                      to_string(refusal.hash), refusal.reason));
    }
  }

  // A variant is neither a base nor a derivative. Creation feedback and statistics describe the
  // plain pipeline. Binaries are those of the plain shaders, and so are the binaries to capture.
  void finish_info() {
    const uint64_t dropped = VK_PIPELINE_CREATE_ALLOW_DERIVATIVES_BIT |
                             VK_PIPELINE_CREATE_DERIVATIVE_BIT |
                             VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR |
                             VK_PIPELINE_CREATE_CAPTURE_INTERNAL_REPRESENTATIONS_BIT_KHR |
                             VK_PIPELINE_CREATE_2_CAPTURE_DATA_BIT_KHR;
    info_.pNext = chain_.head();
    chain_.remove(VK_STRUCTURE_TYPE_PIPELINE_CREATION_FEEDBACK_CREATE_INFO);
    chain_.remove(VK_STRUCTURE_TYPE_PIPELINE_BINARY_INFO_KHR);
    set_pipeline_flags(info_, chain_, pipeline_flags(info_) & ~dropped);
    info_.basePipelineHandle = VK_NULL_HANDLE;
    info_.basePipelineIndex = -1;
  }

  ObjectState& state_;
  Variant variant_;
  std::shared_ptr<PipelineLayout> layout_;
  Info info_;
  vk::ChainCopy chain_;
  StageVariants stages_;
};

bool has_libraries(const void* chain) {
  const auto* info = vk::find_in_chain<VkPipelineLibraryCreateInfoKHR>(
      chain, VK_STRUCTURE_TYPE_PIPELINE_LIBRARY_CREATE_INFO_KHR);
  return info && info->libraryCount > 0;
}

// Whether pipelines of this layout can count at all. Reports the reason if not.
template <typename Info>
bool can_count(ObjectState& state, const Info& info, const PipelineLayout* layout,
               VkPipeline pipeline) {
  if (stages_of(info).empty() && !has_libraries(info.pNext)) return false;
  const bool library =
      has_libraries(info.pNext) || (pipeline_flags(info) & VK_PIPELINE_CREATE_LIBRARY_BIT_KHR) != 0;
  const char* reason = nullptr;
  if (!layout || layout->path() == AddressPath::None) {
    reason = "its pipeline layout leaves no room for the record pointer";
  } else if (library && layout->path() != AddressPath::PushConstant) {
    reason = "pipeline libraries need space for record pointers in the push constants";
  } else if (library && state.layout_rules.address_slots != kPipelineSlots) {
    reason = "graphicsPipelineLibrary is not enabled on the device";
  }
  if (!reason) return true;
  state.device.messages.notice(kUninstrumentedNotice, VK_OBJECT_TYPE_PIPELINE,
                               vk::handle_bits(pipeline),
                               fmt::format("a pipeline runs uninstrumented: {}", reason));
  return false;
}

bool has_fragments(const VkComputePipelineCreateInfo&) { return false; }
bool has_fragments(const VkGraphicsPipelineCreateInfo& info) {
  return has_libraries(info.pNext) ||
         std::ranges::any_of(stages_of(info), [](const VkPipelineShaderStageCreateInfo& stage) {
           return stage.stage == VK_SHADER_STAGE_FRAGMENT_BIT;
         });
}

template <typename Info>
VkResult add_variant(ObjectState& state, VkPipelineCache cache, const Info& info, Variant variant,
                     Pipeline& pipeline) {
  const VkResult result =
      VariantBuilder<Info>(state, info, pipeline.layout, variant).create(cache, pipeline);
  if (result == VK_SUCCESS || result == VK_PIPELINE_COMPILE_REQUIRED) return result;
  state.device.messages.notice(
      kUninstrumentedNotice, VK_OBJECT_TYPE_PIPELINE,
      vk::handle_bits(pipeline.variant(Variant::Plain)),
      fmt::format("a pipeline runs uninstrumented: the driver rejected its instrumented variant "
                  "with error {}",
                  static_cast<int>(result)));
  return VK_SUCCESS;
}

void note_facts(ObjectState&, const VkComputePipelineCreateInfo&, Pipeline&) {}
void note_facts(ObjectState& state, const VkGraphicsPipelineCreateInfo& info, Pipeline& pipeline) {
  if (!state.needs.queries) return;
  pipeline.facts = facts_of(info);
  const auto* libraries = vk::find_in_chain<VkPipelineLibraryCreateInfoKHR>(
      info.pNext, VK_STRUCTURE_TYPE_PIPELINE_LIBRARY_CREATE_INFO_KHR);
  for (uint32_t i = 0; libraries && i < libraries->libraryCount; ++i) {
    const auto library = state.pipelines.find(libraries->pLibraries[i]);
    if (library) add_library(pipeline.facts, library->facts);
  }
}

// Registers the pipeline and creates the variants that the device's features need.
template <typename Info>
VkResult adopt(ObjectState& state, VkPipelineCache cache, const Info& info, bool instrumented,
               VkPipeline plain) {
  const std::shared_ptr<PipelineLayout> layout = state.layouts.find(info.layout);
  // Any pipeline may be bound while a query is active.
  const bool blocks = instrumented || state.needs.query_counters;
  const bool regions = state.needs.regions && has_fragments(info);
  if (!blocks && !regions && !(layout && layout->covers_reserved())) return VK_SUCCESS;
  auto pipeline = std::make_shared<Pipeline>(state.device.handle, state.device.next);
  pipeline->variant(Variant::Plain) = plain;
  pipeline->layout = layout;
  pipeline->instrumented = instrumented;
  note_facts(state, info, *pipeline);
  if ((blocks || regions) && can_count(state, info, layout.get(), plain)) {
    for (const Variant variant : {Variant::Blocks, Variant::Regions, Variant::Both}) {
      if ((counts_blocks(variant) && !blocks) || (counts_regions(variant) && !regions)) continue;
      const VkResult result = add_variant(state, cache, info, variant, *pipeline);
      if (result != VK_SUCCESS) return result;
    }
  }
  state.pipelines.insert(plain, std::move(pipeline));
  return VK_SUCCESS;
}

template <typename Info>
VkResult create_with_variants(ObjectState& state, VkPipelineCache cache,
                              std::span<const Info> originals,
                              const VkAllocationCallbacks* allocator, VkPipeline* pipelines) {
  const PlainInfos<Info> infos(originals, state.needs.instrumentation);
  VkResult result =
      create_pipelines(state, cache, infos.count(), infos.data(), allocator, pipelines);
  bool stopped = false;  // by VK_PIPELINE_CREATE_EARLY_RETURN_ON_FAILURE_BIT
  for (uint32_t i = 0; i < infos.count(); ++i) {
    if (pipelines[i] == VK_NULL_HANDLE) continue;
    // A failure here must not leave the application with pipelines of a failed call.
    const VkResult adopted = stopped ? VK_PIPELINE_COMPILE_REQUIRED : vk::guarded([&] {
      return adopt(state, cache, infos[i], infos.wanted(i), pipelines[i]);
    });
    if (adopted == VK_SUCCESS) continue;
    destroy_pipeline(state, pipelines[i], allocator);
    pipelines[i] = VK_NULL_HANDLE;
    if (result >= VK_SUCCESS) result = adopted;
    stopped =
        stopped || (pipeline_flags(infos[i]) & VK_PIPELINE_CREATE_EARLY_RETURN_ON_FAILURE_BIT) != 0;
  }
  return result;
}

}  // namespace

VkResult create_graphics_pipelines(ObjectState& state, VkPipelineCache cache,
                                   std::span<const VkGraphicsPipelineCreateInfo> infos,
                                   const VkAllocationCallbacks* allocator, VkPipeline* pipelines) {
  return create_with_variants(state, cache, infos, allocator, pipelines);
}

VkResult create_compute_pipelines(ObjectState& state, VkPipelineCache cache,
                                  std::span<const VkComputePipelineCreateInfo> infos,
                                  const VkAllocationCallbacks* allocator, VkPipeline* pipelines) {
  return create_with_variants(state, cache, infos, allocator, pipelines);
}

std::shared_ptr<const ShaderCode> find_code(ObjectState& state,
                                            const VkPipelineShaderStageCreateInfo& stage) {
  if (stage.module != VK_NULL_HANDLE) return state.shader_modules.find(stage.module);
  const auto* chained = vk::find_in_chain<VkShaderModuleCreateInfo>(
      stage.pNext, VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO);
  if (!chained) return nullptr;
  return state.codes.add({chained->pCode, chained->codeSize / sizeof(uint32_t)});
}

void destroy_pipeline(ObjectState& state, VkPipeline pipeline,
                      const VkAllocationCallbacks* allocator) {
  const std::shared_ptr<Pipeline> known = state.pipelines.take(pipeline);
  if (known) known->destroy_variants();
  state.device.next.DestroyPipeline(state.device.handle, pipeline, allocator);
}

}  // namespace tally::counters
