#include "counters/objects/pipeline_creation.h"

#include <algorithm>
#include <deque>

#include "counters/objects/object_state.h"
#include "counters/objects/pipeline_contents.h"
#include "counters/objects/pipeline_flags.h"
#include "counters/objects/pipeline_variants.h"
#include "vk/boundary.h"

namespace tally::counters {
namespace {

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

bool has_fragments(const VkComputePipelineCreateInfo&) { return false; }
bool has_fragments(const VkGraphicsPipelineCreateInfo& info) {
  return has_libraries(info.pNext) ||
         std::ranges::any_of(stages_of(info), [](const VkPipelineShaderStageCreateInfo& stage) {
           return stage.stage == VK_SHADER_STAGE_FRAGMENT_BIT;
         });
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

// Makes the variants that cannot be made later: where the layer cannot keep what they are made of,
// and the one of a pipeline with the flag, whose creation says what runs uninstrumented.
template <typename Info>
VkResult make_variants(ObjectState& state, VkPipelineCache cache, const VariantSource<Info>& source,
                       VariantChoice choice, Pipeline& pipeline) {
  pipeline.maker = keep_source(state, source, choice);
  if (pipeline.maker && !pipeline.instrumented) return VK_SUCCESS;
  const bool counts = can_count(state, source.info, pipeline);
  for (const Variant variant : {Variant::Blocks, Variant::Regions, Variant::Both}) {
    if (pipeline.maker && variant != Variant::Blocks) continue;
    pipeline.set_known(variant);
    if (!counts || !choice.has(variant)) continue;
    const VkResult result = make_variant(state, cache, source, variant, pipeline);
    if (result != VK_SUCCESS) return result;
  }
  return VK_SUCCESS;
}

// Registers the pipeline.
template <typename Info>
VkResult adopt(ObjectState& state, VkPipelineCache cache, const Info& info, bool instrumented,
               bool keepable, VkPipeline plain) {
  const std::shared_ptr<PipelineLayout> layout = state.layouts.find(info.layout);
  // Any pipeline may be bound while a query is active.
  const VariantChoice choice{instrumented || state.needs.query_counters,
                             state.needs.regions && has_fragments(info)};
  const bool library = (pipeline_flags(info) & VK_PIPELINE_CREATE_LIBRARY_BIT_KHR) != 0;
  const bool variants = choice.blocks || choice.regions;
  const bool linkable = library && state.needs.regions;
  if (!variants && !linkable && !(layout && layout->covers_reserved())) return VK_SUCCESS;
  auto pipeline = std::make_shared<Pipeline>(state.device.handle, state.device.next);
  pipeline->handle = plain;
  pipeline->variant(Variant::Plain) = plain;
  pipeline->set_known(Variant::Plain);
  pipeline->layout = layout;
  pipeline->instrumented = instrumented;
  pipeline->library = library;
  pipeline->keepable = keepable;
  note_facts(state, info, *pipeline);
  if (variants) {
    const VkResult result =
        make_variants(state, cache, variant_source(state, info), choice, *pipeline);
    if (result != VK_SUCCESS) return result;
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
      return adopt(state, cache, infos[i], infos.wanted(i), !allocator, pipelines[i]);
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
  std::shared_ptr<Pipeline> known = state.pipelines.take(pipeline);
  if (known && known->library && known->keepable) {
    known->owns_handle = true;
    return;
  }
  if (known) known->destroy_variants();
  state.device.next.DestroyPipeline(state.device.handle, pipeline, allocator);
}

}  // namespace tally::counters
