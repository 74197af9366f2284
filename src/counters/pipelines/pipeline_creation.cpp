#include "counters/pipelines/pipeline_creation.h"

#include <algorithm>
#include <deque>
#include <optional>

#include "counters/pipelines/object_state.h"
#include "counters/pipelines/pipeline_contents.h"
#include "counters/pipelines/pipeline_variants.h"
#include "counters/pipelines/shader_layouts.h"
#include "vk/own_call.h"

namespace tally::counters {
namespace {

// The application's create infos without VK_PIPELINE_CREATE_2_INSTRUMENT_SHADERS_BIT_ARM, and what
// the layer knows of their layouts. Chains are copied only where that changes them.
template <typename Info>
class PlainInfos {
 public:
  PlainInfos(ObjectState& state, std::span<const Info> original)
      : infos_(original.begin(), original.end()) {
    for (const Info& info : original) {
      wanted_.push_back(state.needs.instrumentation && wants_instrumentation(info));
      layouts_.push_back(layout_of(state, info));
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
  const std::shared_ptr<PipelineLayout>& layout(size_t i) const { return layouts_[i]; }

 private:
  std::vector<Info> infos_;
  std::vector<bool> wanted_;
  std::vector<std::shared_ptr<PipelineLayout>> layouts_;
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
  std::optional<KeptRenderPass::Use> attachments;
  if (!uses_render_pass(info) || info.renderPass == VK_NULL_HANDLE) {
    attachments = attachments_of(info, nullptr);
  } else if (const auto kept = state.render_passes.find(info.renderPass).kept) {
    attachments = attachments_of(info, kept.get());
  }
  pipeline.facts = facts_of(info, attachments);
  const auto* libraries = vk::find_in_chain<VkPipelineLibraryCreateInfoKHR>(
      info.pNext, VK_STRUCTURE_TYPE_PIPELINE_LIBRARY_CREATE_INFO_KHR);
  for (uint32_t i = 0; libraries && i < libraries->libraryCount; ++i) {
    const auto library = state.pipelines.find(libraries->pLibraries[i]);
    if (library) add_library(pipeline.facts, library->facts);
  }
}

template <typename Info>
bool is_library(const Info& info) {
  return (pipeline_flags(info) & VK_PIPELINE_CREATE_LIBRARY_BIT_KHR) != 0;
}

// Call once the pipeline has its maker. All draws of an execution set have the same variant.
template <typename Info>
void note_alpha_to_coverage(const ObjectState& state, const Info& info, Pipeline& pipeline) {
  const std::optional<bool> enabled = alpha_to_coverage_of(info, pipeline.facts);
  const bool fragments = (pipeline.facts.facts.stages & VK_SHADER_STAGE_FRAGMENT_BIT) != 0;
  const bool drawn_from_sets = !is_library(info) && (pipeline_flags(info) & kIndirectBindable) != 0;
  pipeline.by_alpha_to_coverage = !enabled && fragments && pipeline.maker && !drawn_from_sets;
  pipeline.alpha_to_coverage = enabled.value_or(!pipeline.by_alpha_to_coverage);
  if (!enabled && fragments && drawn_from_sets && pipeline.facts.samples.may_fail_tests()) {
    notice_late_tests(state.device.messages, VK_OBJECT_TYPE_PIPELINE,
                      vk::handle_bits(pipeline.handle));
  }
}

template <typename Info>
bool returns_early(const Info& info) {
  return (pipeline_flags(info) & VK_PIPELINE_CREATE_EARLY_RETURN_ON_FAILURE_BIT) != 0;
}

// Makes the variants, if they cannot be made later: the layer cannot keep what they are made of.
template <typename Info>
VkResult make_variants(ObjectState& state, VkPipelineCache cache, const VariantSource<Info>& source,
                       VariantChoice choice, Pipeline& pipeline) {
  pipeline.maker = keep_source(state, source, choice);
  note_alpha_to_coverage(state, source.info, pipeline);
  if (pipeline.maker) return VK_SUCCESS;
  const bool counts = can_count(state, source.info, pipeline);
  for (const Variant variant : kFullVariants) {
    if (!counts || !choice.has(variant)) continue;
    TALLY_TRY(make_variant(state, cache, source, variant, pipeline));
  }
  return VK_SUCCESS;
}

VariantChoice choose_variants(const ObjectState& state, bool instrumented, bool fragments) {
  // Any pipeline may be bound while a query is active.
  return {instrumented || state.needs.query_counters, state.needs.regions && fragments};
}

// Has a thread of the layer, if one is free, make the variant that a recording will want of a
// pipeline with the flag.
template <typename Info>
void compile_ahead(ObjectState& state, VkPipelineCache cache, const Info& info, Variant variant,
                   const std::shared_ptr<Pipeline>& pipeline) {
  if (!pipeline->instrumented || !pipeline->maker || !state.compile_threads.enabled()) return;
  if (state.has_callbacks.load(std::memory_order_relaxed)) return;
  if (reason_against_counting(state, info, pipeline->layout.get())) return;
  state.compile_threads.run([=] { pipeline->make_ahead(variant, cache); });
}

// Registers a plain pipeline.
template <typename Info>
VkResult adopt(ObjectState& state, VkPipelineCache cache, const PlainInfos<Info>& infos, size_t i,
               bool keepable, VkPipeline plain) {
  const Info& info = infos[i];
  const std::shared_ptr<PipelineLayout>& layout = infos.layout(i);
  const VariantChoice choice = choose_variants(state, infos.wanted(i), has_fragments(info));
  const bool variants = choice.blocks || choice.regions;
  const bool in_sets = (pipeline_flags(info) & kIndirectBindable) != 0;
  if (!variants && !is_library(info) && !in_sets && !(layout && layout->covers_reserved())) {
    return VK_SUCCESS;
  }
  auto pipeline = std::make_shared<Pipeline>(state.device.handle, state.device.next);
  pipeline->layout = layout;
  pipeline->instrumented = infos.wanted(i);
  pipeline->library = is_library(info);
  pipeline->keepable = keepable;
  note_facts(state, info, *pipeline);
  pipeline->handle = plain;
  if (variants) {
    TALLY_TRY(make_variants(state, cache, variant_source(state, info), choice, *pipeline));
    compile_ahead(state, cache, info, {.blocks = choice.blocks, .regions = choice.regions},
                  pipeline);
  }
  state.pipelines.insert(plain, std::move(pipeline));
  return VK_SUCCESS;
}

// Creates plain pipelines and registers them.
template <typename Info>
VkResult create_plain(ObjectState& state, VkPipelineCache cache, std::span<const Info> originals,
                      const VkAllocationCallbacks* allocator, VkPipeline* pipelines) {
  const PlainInfos<Info> infos(state, originals);
  VkResult result =
      create_pipelines(state, cache, infos.count(), infos.data(), allocator, pipelines);
  bool stopped = false;  // by VK_PIPELINE_CREATE_EARLY_RETURN_ON_FAILURE_BIT
  for (uint32_t i = 0; i < infos.count(); ++i) {
    if (pipelines[i] == VK_NULL_HANDLE) continue;
    // A failure here must not leave the application with pipelines of a failed call.
    const VkResult adopted = stopped ? VK_PIPELINE_COMPILE_REQUIRED : vk::guarded([&] {
      return adopt(state, cache, infos, i, !allocator, pipelines[i]);
    });
    if (adopted == VK_SUCCESS) continue;
    destroy_pipeline(state, pipelines[i], allocator);
    pipelines[i] = VK_NULL_HANDLE;
    if (result >= VK_SUCCESS) result = adopted;
    stopped = stopped || returns_early(infos[i]);
  }
  return result;
}

}  // namespace

VkResult create_graphics_pipelines(ObjectState& state, VkPipelineCache cache,
                                   std::span<const VkGraphicsPipelineCreateInfo> infos,
                                   const VkAllocationCallbacks* allocator, VkPipeline* pipelines) {
  return create_plain(state, cache, infos, allocator, pipelines);
}

VkResult create_compute_pipelines(ObjectState& state, VkPipelineCache cache,
                                  std::span<const VkComputePipelineCreateInfo> infos,
                                  const VkAllocationCallbacks* allocator, VkPipeline* pipelines) {
  return create_plain(state, cache, infos, allocator, pipelines);
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
