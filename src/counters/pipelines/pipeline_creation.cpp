#include "counters/pipelines/pipeline_creation.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <optional>

#include "counters/pipelines/object_state.h"
#include "counters/pipelines/pipeline_contents.h"
#include "counters/pipelines/pipeline_variants.h"
#include "counters/pipelines/shader_layouts.h"
#include "counters/shaders/instrumenter.h"
#include "vk/own_call.h"

namespace tally::counters {
namespace {

using Info = VkRayTracingPipelineCreateInfoKHR;

// Additions to a pipeline of many stages are spread over their counters already.
constexpr uint64_t kMaxRecordBytes = 4 << 20;

uint32_t max_shards_log2(uint32_t capacity) {
  uint32_t shards_log2 = probe::kMaxShardsLog2;
  while (shards_log2 > 0 && probe::record_bytes(capacity, shards_log2) > kMaxRecordBytes) {
    --shards_log2;
  }
  return shards_log2;
}

// One pipeline in the making.
class Draft {
 public:
  Draft(ObjectState& state, const Info& original)
      : state_(state),
        plain_(original),
        chain_(original.pNext),
        stages_(state.device.handle, state.device.next),
        layout_(layout_of(state, original)) {
    flagged_ = state.needs.instrumentation && wants_instrumentation(original);
    counts_ = flagged_ || state.needs.query_counters;
    remove_flag();
    counting_ = plain_;
    find_libraries();
  }
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;

  // True if the layer changes the create info, or must know the pipeline.
  bool needed() const {
    const bool linkable = state_.needs.instrumentation && is_library();
    return counts_ || changes_chain_ || linkable || any_library_counts() ||
           (layout_ && layout_->covers_slot());
  }

  void build() {
    program_ = std::make_shared<Program>();
    if (counts_) instrument_stages();
    add_libraries();
  }

  const Info& plain() const { return plain_; }
  const Info& counting() const { return counting_; }
  bool replaces_stages() const { return counting_.pStages != plain_.pStages; }

  // Call if the driver created the pipeline with the application's stages.
  void drop_own_stages() {
    counting_ = plain_;
    program_ = std::make_shared<Program>();
    range_.reset();
    add_libraries();
  }

  // Call with the new pipeline, when nothing can fail any more.
  void report_refusals(VkPipeline pipeline) const {
    if (reason_) notice(pipeline, fmt::format("a pipeline runs uninstrumented: {}", reason_));
    for (const StageVariants::Refusal& refusal : stages_.refusals()) {
      notice(pipeline,
             fmt::format("a {} shader ({}) runs uninstrumented: {}", stage_name(refusal.stage),
                         to_string(refusal.hash), refusal.reason));
    }
  }

  // Registers the new pipeline.
  void adopt(VkPipeline handle) {
    auto pipeline = std::make_shared<Pipeline>(state_.device.handle, state_.device.next);
    pipeline->handle = handle;
    pipeline->layout = layout_;
    pipeline->instrumented = flagged_;
    pipeline->ray_stages = stage_count();
    if (is_library()) {
      if (range_) pipeline->ranges.push_back(range_);
      for (const auto& library : libraries_) {
        if (!library) continue;
        pipeline->ranges.insert(pipeline->ranges.end(), library->ranges.begin(),
                                library->ranges.end());
      }
    }
    if (!program_->stages.empty()) pipeline->keep(Variant::Blocks, {handle, program_, {}});
    state_.pipelines.insert(handle, std::move(pipeline));
  }

 private:
  static const Program* program_of(const std::shared_ptr<Pipeline>& library) {
    const PipelineVariant* variant = library ? library->find(Variant::Blocks) : nullptr;
    return variant ? variant->program.get() : nullptr;
  }

  bool is_library() const {
    return (pipeline_flags(plain_) & VK_PIPELINE_CREATE_LIBRARY_BIT_KHR) != 0;
  }
  bool any_library_counts() const { return std::ranges::any_of(libraries_, program_of); }

  uint32_t stage_count() const {
    uint32_t count = plain_.stageCount;
    for (const auto& library : libraries_) count += library ? library->ray_stages : 0;
    return count;
  }

  void remove_flag() {
    constexpr VkStructureType kType = VK_STRUCTURE_TYPE_PIPELINE_CREATE_FLAGS_2_CREATE_INFO_KHR;
    changes_chain_ = vk::find_in_chain<VkBaseInStructure>(plain_.pNext, kType) != nullptr;
    if (!changes_chain_) return;
    const uint64_t flags =
        pipeline_flags(plain_) & ~VK_PIPELINE_CREATE_2_INSTRUMENT_SHADERS_BIT_ARM;
    set_pipeline_flags(plain_, chain_, flags);
  }

  void find_libraries() {
    const VkPipelineLibraryCreateInfoKHR* info = plain_.pLibraryInfo;
    for (uint32_t i = 0; info && i < info->libraryCount; ++i) {
      libraries_.push_back(state_.pipelines.find(info->pLibraries[i]));
    }
  }

  // Null if the stages may be instrumented.
  const char* reason_against_counting() const {
    if (!layout_ || layout_->path() == AddressPath::None) {
      return "its pipeline layout leaves no room for the record pointer";
    }
    if (has_binaries(plain_.pNext)) return "it is created from binaries";
    if ((pipeline_flags(plain_) & kCaptureData) != 0) {
      return "its binaries would contain the instrumented shaders";
    }
    return nullptr;
  }

  void instrument_stages() {
    if (plain_.stageCount == 0) return;
    reason_ = reason_against_counting();
    if (reason_) return;
    std::vector<Stage> sources;
    for (uint32_t i = 0; i < plain_.stageCount; ++i) {
      sources.emplace_back(&plain_.pStages[i], find_code(state_, plain_.pStages[i]));
    }
    StageVariants::Request request;
    request.addressing = layout_->addressing(false);
    request.first_counter = [this](uint32_t counters) { return first_counter(counters); };
    stages_.build(state_.instrumenter, sources, request);
    if (stages_.reads_slots()) {
      reason_ = "a shader that cannot be changed reads push data where the record pointer is";
      return;
    }
    counting_.pStages = stages_.infos().data();
    *program_ = stages_.program();
    for (StageProgram& stage : program_->stages) stage.reported = flagged_;
  }

  // Names the pipeline's own stages that run uncounted. Call before the stages of libraries are
  // added.
  void note_uncounted() {
    for (uint32_t i = 0; i < plain_.stageCount; ++i) {
      const bool counted = std::ranges::any_of(
          program_->stages, [&](const StageProgram& stage) { return stage.sub_index == i; });
      if (!counted) program_->uncounted |= plain_.pStages[i].stage;
    }
  }

  // The position of the stages' counters in the record. Those of linked libraries are fixed.
  uint32_t first_counter(uint32_t counters) {
    if (is_library()) {
      range_ = state_.counter_ranges.take(counters);
      return range_->first;
    }
    uint32_t end = 0;
    for (const auto& library : libraries_) {
      if (const Program* program = program_of(library)) end = std::max(end, program->capacities[0]);
    }
    return end;
  }

  // The stages of a library do not know the stride between the shards of a record.
  void add_libraries() {
    note_uncounted();
    const bool linked = is_library() || any_library_counts();
    program_->max_shards_log2 = linked ? 0 : max_shards_log2(program_->capacities[0]);
    uint32_t first_stage = plain_.stageCount;
    for (const auto& library : libraries_) {
      if (const Program* program = program_of(library)) {
        program_->uncounted |= program->uncounted;
        program_->capacities[0] = std::max(program_->capacities[0], program->capacities[0]);
        for (StageProgram stage : program->stages) {
          if (has_counters_of(stage)) continue;
          stage.sub_index += first_stage;
          program_->stages.push_back(std::move(stage));
        }
      }
      first_stage += library ? library->ray_stages : 0;
    }
  }

  // True if a library that is linked more than once has added the stage. The counters of other
  // stages are elsewhere.
  bool has_counters_of(const StageProgram& stage) const {
    return std::ranges::any_of(program_->stages, [&](const StageProgram& added) {
      return added.info == stage.info && added.first_counter == stage.first_counter;
    });
  }

  void notice(VkPipeline pipeline, const std::string& text) const {
    state_.device.messages.notice(kUninstrumentedNotice, VK_OBJECT_TYPE_PIPELINE,
                                  vk::handle_bits(pipeline), text);
  }

  ObjectState& state_;
  Info plain_;     // the application's, without the flag
  Info counting_;  // the same with instrumented stages
  vk::ChainCopy chain_;
  StageVariants stages_;
  std::shared_ptr<PipelineLayout> layout_;
  std::vector<std::shared_ptr<Pipeline>> libraries_;  // null: not known
  std::shared_ptr<Program> program_;
  std::shared_ptr<const CounterRanges::Range> range_;  // of a library's own stages
  const char* reason_ = nullptr;                       // why the stages run uninstrumented
  bool flagged_ = false;
  bool counts_ = false;  // flagged, or any pipeline may be bound while a query is active
  bool changes_chain_ = false;
};

class Batch {
 public:
  Batch(ObjectState& state, VkPipelineCache cache, std::span<const Info> infos,
        const VkAllocationCallbacks* allocator, VkPipeline* pipelines)
      : state_(state), cache_(cache), allocator_(allocator), pipelines_(pipelines, infos.size()) {
    for (const Info& info : infos) drafts_.emplace_back(state, info);
  }

  bool needed() const { return std::ranges::any_of(drafts_, &Draft::needed); }

  VkResult create() {
    for (Draft& draft : drafts_) draft.build();
    VkResult result = call(&Draft::counting);
    if (result < VK_SUCCESS && std::ranges::any_of(drafts_, &Draft::replaces_stages)) {
      result = create_plain(result);
    }
    // A failure here must not leave the application with pipelines of a failed call.
    const VkResult adopted = vk::guarded([&] {
      if (refusal_ != VK_SUCCESS) drop_own_stages(result >= VK_SUCCESS);
      adopt();
      return VK_SUCCESS;
    });
    if (adopted == VK_SUCCESS) return result;
    destroy();
    return adopted;
  }

 private:
  VkResult call(const Info& (Draft::*choose)() const) const {
    std::vector<Info> infos;
    for (const Draft& draft : drafts_) infos.push_back((draft.*choose)());
    std::ranges::fill(pipelines_, VkPipeline{VK_NULL_HANDLE});
    return state_.device.next.CreateRayTracingPipelinesKHR(
        state_.device.handle, VK_NULL_HANDLE, cache_, static_cast<uint32_t>(infos.size()),
        infos.data(), allocator_, pipelines_.data());
  }

  VkResult create_plain(VkResult refusal) {
    destroy();
    refusal_ = refusal;
    return call(&Draft::plain);
  }

  // `created`: with the application's stages.
  void drop_own_stages(bool created) {
    for (Draft& draft : drafts_) draft.drop_own_stages();
    if (!created) return;
    state_.device.messages.notice(
        kUninstrumentedNotice, VK_OBJECT_TYPE_DEVICE, state_.device.handle_bits(),
        fmt::format("ray-tracing pipelines run uninstrumented: the driver rejected their "
                    "instrumented shaders: {}",
                    vk::OwnFailure{refusal_, "vkCreateRayTracingPipelinesKHR"}.text()));
  }

  void adopt() {
    for (size_t i = 0; i < drafts_.size(); ++i) {
      if (pipelines_[i] == VK_NULL_HANDLE) continue;
      drafts_[i].adopt(pipelines_[i]);
      drafts_[i].report_refusals(pipelines_[i]);
    }
  }

  void destroy() {
    for (VkPipeline& pipeline : pipelines_) {
      if (pipeline != VK_NULL_HANDLE) destroy_pipeline(state_, pipeline, allocator_);
      pipeline = VK_NULL_HANDLE;
    }
  }

  ObjectState& state_;
  VkPipelineCache cache_;
  const VkAllocationCallbacks* allocator_;
  std::span<VkPipeline> pipelines_;
  std::deque<Draft> drafts_;
  VkResult refusal_ = VK_SUCCESS;  // of the instrumented shaders
};

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

// Notes a pipeline that has no handle yet.
template <typename Info>
std::shared_ptr<Pipeline> describe(ObjectState& state, const PlainInfos<Info>& infos, size_t i,
                                   bool keepable) {
  const Info& info = infos[i];
  auto pipeline = std::make_shared<Pipeline>(state.device.handle, state.device.next);
  pipeline->layout = infos.layout(i);
  pipeline->instrumented = infos.wanted(i);
  pipeline->library = is_library(info);
  pipeline->keepable = keepable;
  note_facts(state, info, *pipeline);
  if (state.needs.driver_counts &&
      (pipeline->facts.facts.stages & VK_SHADER_STAGE_VERTEX_BIT) != 0) {
    pipeline->draw_size = std::make_shared<DrawSize>();
  }
  return pipeline;
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
  auto pipeline = describe(state, infos, i, keepable);
  pipeline->handle = plain;
  if (variants) {
    TALLY_TRY(make_variants(state, cache, variant_source(state, info), choice, *pipeline));
    compile_ahead(state, cache, info, {.blocks = choice.blocks, .regions = choice.regions},
                  pipeline);
  }
  state.pipelines.insert(plain, std::move(pipeline));
  return VK_SUCCESS;
}

// Flags of pipelines that may be late: nothing that the application reads, or gives to the driver,
// depends on when they are made.
constexpr uint64_t kLateFlags =
    VK_PIPELINE_CREATE_DISABLE_OPTIMIZATION_BIT |
    VK_PIPELINE_CREATE_VIEW_INDEX_FROM_DEVICE_INDEX_BIT | VK_PIPELINE_CREATE_DISPATCH_BASE_BIT |
    VK_PIPELINE_CREATE_LINK_TIME_OPTIMIZATION_BIT_EXT |
    VK_PIPELINE_CREATE_DESCRIPTOR_BUFFER_BIT_EXT |
    VK_PIPELINE_CREATE_RENDERING_FRAGMENT_SHADING_RATE_ATTACHMENT_BIT_KHR |
    VK_PIPELINE_CREATE_RENDERING_FRAGMENT_DENSITY_MAP_ATTACHMENT_BIT_EXT |
    VK_PIPELINE_CREATE_COLOR_ATTACHMENT_FEEDBACK_LOOP_BIT_EXT |
    VK_PIPELINE_CREATE_DEPTH_STENCIL_ATTACHMENT_FEEDBACK_LOOP_BIT_EXT;

// Null unless the pipeline may be late.
template <typename Info>
std::shared_ptr<Pipeline> describe_late(ObjectState& state, const PlainInfos<Info>& infos,
                                        size_t i) {
  const Info& info = infos[i];
  const bool late = infos.wanted(i) && (pipeline_flags(info) & ~kLateFlags) == 0 &&
                    !has_binaries(info.pNext) &&
                    !vk::find_in_chain<VkBaseInStructure>(
                        info.pNext, VK_STRUCTURE_TYPE_PIPELINE_CREATION_FEEDBACK_CREATE_INFO) &&
                    infos.layout(i) && !infos.layout(i)->has_heaps() &&
                    !reason_against_counting(state, info, infos.layout(i).get());
  if (!late) return nullptr;
  auto pipeline = describe(state, infos, i, true);
  pipeline->plain_is_late = true;
  pipeline->maker = keep_source(state, variant_source(state, info),
                                choose_variants(state, true, has_fragments(info)));
  if (!pipeline->maker) return nullptr;
  note_alpha_to_coverage(state, info, *pipeline);
  return pipeline;
}

// Registers pipelines that the driver gets later. False if one of them has to be created now: then
// the call has had no effect.
template <typename Info>
bool create_late(ObjectState& state, const PlainInfos<Info>& infos, VkPipeline* pipelines) {
  std::vector<std::shared_ptr<Pipeline>> described;
  for (uint32_t i = 0; i < infos.count(); ++i) {
    if (!described.emplace_back(describe_late(state, infos, i))) return false;
  }
  std::fill_n(pipelines, infos.count(), VkPipeline{VK_NULL_HANDLE});
  const VkResult result = vk::guarded([&] {
    for (uint32_t i = 0; i < infos.count(); ++i) {
      TALLY_TRY(state.stand_ins.make(pipelines[i]));
      described[i]->handle = pipelines[i];
      state.pipelines.insert(pipelines[i], std::move(described[i]));
    }
    return VK_SUCCESS;
  });
  if (result == VK_SUCCESS) return true;
  state.device.report(vk::take_own_failure(result),
                      "vkCreate*Pipelines(): the driver gets pipelines at once");
  for (uint32_t i = 0; i < infos.count(); ++i) {
    if (pipelines[i] != VK_NULL_HANDLE) destroy_pipeline(state, pipelines[i], nullptr);
  }
  return false;
}

// Creates plain pipelines and registers them.
template <typename Info>
VkResult create_plain(ObjectState& state, VkPipelineCache cache, std::span<const Info> originals,
                      const VkAllocationCallbacks* allocator, VkPipeline* pipelines) {
  const PlainInfos<Info> infos(state, originals);
  if (state.needs.late && !allocator && create_late(state, infos, pipelines)) return VK_SUCCESS;
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

VkResult create_ray_tracing_pipelines(ObjectState& state, VkDeferredOperationKHR operation,
                                      VkPipelineCache cache, std::span<const Info> infos,
                                      const VkAllocationCallbacks* allocator,
                                      VkPipeline* pipelines) {
  Batch batch(state, cache, infos, allocator, pipelines);
  if (!batch.needed()) {
    return state.device.next.CreateRayTracingPipelinesKHR(state.device.handle, operation, cache,
                                                          static_cast<uint32_t>(infos.size()),
                                                          infos.data(), allocator, pipelines);
  }
  const VkResult result = batch.create();
  const bool asked_to_defer = operation != VK_NULL_HANDLE;
  return asked_to_defer && result == VK_SUCCESS ? VK_OPERATION_NOT_DEFERRED_KHR : result;
}

}  // namespace tally::counters
