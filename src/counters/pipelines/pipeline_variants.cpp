#include "counters/pipelines/pipeline_variants.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <optional>
#include <span>
#include <utility>

#include "counters/pipelines/kept_create_info.h"
#include "counters/pipelines/object_state.h"
#include "counters/pipelines/pipeline_contents.h"
#include "counters/pipelines/shader_layouts.h"
#include "counters/shaders/instrumenter.h"
#include "vk/own_call.h"

namespace tally::counters {

Pipeline::~Pipeline() {
  destroy_variants();
  if (owns_handle) next.DestroyPipeline(device, handle, nullptr);
}

bool Pipeline::make(Variant which) {
  const bool made = variants_.want(which, [&](PipelineVariant* ahead) {
    if (ahead) {
      maker->report(*this, std::exchange(ahead->notices, {}));
    } else if (maker) {
      maker->make(*this, which);
    }
  }) != nullptr;
  return made && (!which.by_driver || !plain_is_late || make(Variant::Plain));
}

void Pipeline::make_ahead(Variant which, VkPipelineCache cache) {
  variants_.make_ahead(which, [&] {
    if (maker) maker->make_ahead(*this, which, cache);
  });
}

std::optional<const PipelineVariant*> Pipeline::make_ahead(Variant which,
                                                           std::vector<std::string>& notices) {
  bool decided = true;
  const PipelineVariant* variant = nullptr;
  variants_.use_ahead(
      which,
      [&] {
        decided = false;
        decided = maker && maker->make_ahead(*this, which, VK_NULL_HANDLE);
      },
      [&](PipelineVariant* made) {
        if (!made) return;
        std::ranges::move(std::exchange(made->notices, {}), std::back_inserter(notices));
        if (*made) variant = made;
      });
  return decided ? std::optional(variant) : std::nullopt;
}

void Pipeline::destroy_variants() {
  variants_.close([&](PipelineVariant& variant) {
    const VkPipeline destroyed = std::exchange(variant.handle, VK_NULL_HANDLE);
    if (destroyed == VK_NULL_HANDLE || destroyed == handle) return;
    next.DestroyPipeline(device, destroyed, nullptr);
  });
  maker.reset();
}

namespace {

#ifndef VK_NV_DEVICE_GENERATED_COMMANDS_COMPUTE_EXTENSION_NAME  // newer than Debian 12's headers
constexpr auto VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_INDIRECT_BUFFER_INFO_NV =
    static_cast<VkStructureType>(1000428001);
#endif

void set_stages(VkGraphicsPipelineCreateInfo& info,
                const std::vector<VkPipelineShaderStageCreateInfo>& stages) {
  if (!stages.empty()) info.pStages = stages.data();
}
void set_stages(VkComputePipelineCreateInfo& info,
                const std::vector<VkPipelineShaderStageCreateInfo>& stages) {
  info.stage = stages.front();
}

// True if the draws of a pipeline may have packed draw indices.
template <typename Info>
bool may_pack_indices(ObjectState& state, const Info& info, const Pipeline& pipeline) {
  return state.instrumenter.options().packed_draw_index_locations != 0 && pipeline.layout &&
         pipeline.layout->path() == AddressPath::PushConstant && may_number_draws(info);
}

// Replaces the libraries of a pipeline by their variants and adds the programs of those.
class LibraryVariants {
 public:
  // `notices`: on a thread of the layer, which may send no message, takes those of the libraries.
  LibraryVariants(const std::vector<std::shared_ptr<Pipeline>>& known_libraries,
                  vk::ChainCopy& chain, Variant variant, Program& program,
                  std::vector<std::string>* notices) {
    auto* info = chain.find<VkPipelineLibraryCreateInfoKHR>(
        VK_STRUCTURE_TYPE_PIPELINE_LIBRARY_CREATE_INFO_KHR);
    if (!info) return;
    libraries_.assign(info->pLibraries, info->pLibraries + info->libraryCount);
    for (size_t i = 0; i < libraries_.size(); ++i) {
      if (!known_libraries[i]) continue;  // with heaps, its pipeline has no room for pointers
      Pipeline& known = *known_libraries[i];
      const PipelineVariant* best = nullptr;
      const Variant which =
          notices ? make_best_ahead(known, variant, *notices, best) : known.make_best(variant);
      if (which == Variant::Plain) {
        reads_slots_ = reads_slots_ || (known.layout && known.layout->moves_blocks());
        continue;
      }
      if (!notices) best = known.find(which);
      libraries_[i] = best->handle;
      changed_ = true;
      if (which.blocks) add_program(*best->program, program);
    }
    info->pLibraries = libraries_.data();
  }

  bool changed() const { return changed_; }
  // False if a recording has to try, and report, the variant of a library.
  bool complete() const { return complete_; }
  // True if the counters of all libraries are where those of no other library are.
  bool own_ranges() const { return own_ranges_; }
  // True if a plain library reads push data where the record pointers are.
  bool reads_slots() const { return reads_slots_; }

 private:
  // Makes the variants of the library on this thread of the layer.
  Variant make_best_ahead(Pipeline& library, Variant variant, std::vector<std::string>& notices,
                          const PipelineVariant*& best) {
    if (!library.by_alpha_to_coverage) variant.alpha_to_coverage = false;
    return best_variant(variant, [&](Variant which) {
      const auto made = library.make_ahead(which, notices);
      complete_ = complete_ && made;
      best = made.value_or(nullptr);
      return best != nullptr;
    });
  }

  void add_program(const Program& library, Program& program) {
    own_ranges_ = own_ranges_ && library.own_ranges;
    program.ranges.insert(program.ranges.end(), library.ranges.begin(), library.ranges.end());
    program.max_shards_log2 = std::min(program.max_shards_log2, library.max_shards_log2);
    for (const StageProgram& stage : library.stages) program.stages.push_back(stage);
    for (size_t slot = 0; slot < kPipelineSlots; ++slot) {
      program.capacities[slot] = std::max(program.capacities[slot], library.capacities[slot]);
    }
  }

  bool changed_ = false;
  bool complete_ = true;
  bool own_ranges_ = true;
  bool reads_slots_ = false;
  std::vector<VkPipeline> libraries_;
};

template <typename Info>
class VariantBuilder {
 public:
  // `later`: after the pipeline's creation, when compilation is allowed. `ahead`: on a thread of
  // the layer, and takes the notices of libraries.
  VariantBuilder(ObjectState& state, const VariantSource<Info>& source, const Pipeline& pipeline,
                 Variant variant, bool later, std::vector<std::string>* ahead = nullptr)
      : state_(state),
        source_(source),
        variant_(variant),
        later_(later),
        ahead_(ahead),
        pipeline_(pipeline),
        info_(source.info),
        chain_(source.info.pNext),
        stages_(state.device.handle, state.device.next) {}

  // Instruments the stages. Returns false if there is nothing to count.
  bool prepare() {
    build_stages();
    program_ = std::make_shared<Program>(stages_.program());
    // Other pipelines of a set have other strides between the shards.
    if (range_) {
      program_->max_shards_log2 = 0;
      program_->ranges.push_back(range_);
    }
    for (StageProgram& stage : program_->stages) {
      stage.reported = pipeline_.instrumented;
      stage.rasterized_stream = rasterized_stream_of(info_);
    }
    libraries_.emplace(source_.libraries, chain_,
                       variant_.with_alpha_to_coverage(alpha_to_coverage()), *program_, ahead_);
    if (!complete()) return false;
    program_->draw_size = pipeline_.draw_size;
    program_->own_ranges = may_be_in_sets() && libraries_->own_ranges();
    if (reads_slots()) return false;
    const bool counts =
        !program_->stages.empty() || stages_.counts_regions() || libraries_->changed();
    if (!counts) return false;
    std::ranges::sort(program_->stages, {}, &StageProgram::stage);
    note_uncounted(*program_, pipeline_.facts.facts.stages);
    finish_info();
    return true;
  }

  // Leaves the stages as the application made them.
  void prepare_plain() {
    const std::vector<Stage> sources = stages_with_code();
    if (!sources.empty()) {
      stages_.build(state_.instrumenter, sources, {.variant = Variant::Plain});
      set_stages(info_, stages_.infos());
    }
    finish_info();
  }

  // `made` stays as it is on failure.
  VkResult compile(VkPipelineCache cache, PipelineVariant& made) {
    if (stages_.lacks_module()) {
      return vk::own("vkCreateShaderModule", VK_ERROR_OUT_OF_HOST_MEMORY);
    }
    VkPipeline handle = VK_NULL_HANDLE;
    TALLY_TRY(create_pipelines(state_, cache, 1, &info_, nullptr, &handle));
    made.handle = handle;
    made.program = program_;
    return VK_SUCCESS;
  }
  // False if a recording has to try it, and report what fails.
  bool complete() const { return !libraries_ || libraries_->complete(); }

  // Names what runs uninstrumented.
  std::vector<std::string> notices() const {
    std::vector<std::string> notices;
    if (reads_slots()) {
      notices.emplace_back(
          "a pipeline runs uninstrumented: a shader that cannot be changed reads push data where "
          "the "
          "record pointer is");
    }
    const bool in_sets = may_be_in_sets() && !pipeline_.library;
    if (in_sets && program_ && !program_->stages.empty() && !program_->own_ranges) {
      notices.emplace_back(
          "a pipeline runs uninstrumented in execution sets: one of its libraries was created "
          "without VK_PIPELINE_CREATE_2_INDIRECT_BINDABLE_BIT_EXT");
    }
    for (const StageVariants::Refusal& refusal : stages_.refusals()) {
      notices.push_back(fmt::format("a {} shader ({}) runs uninstrumented: {}",
                                    stage_name(refusal.stage), to_string(refusal.hash),
                                    refusal.reason));
    }
    return notices;
  }

 private:
  bool alpha_to_coverage() const {
    return pipeline_.alpha_to_coverage || variant_.alpha_to_coverage;
  }
  bool reads_slots() const {
    return stages_.reads_slots() || (libraries_ && libraries_->reads_slots());
  }

  std::vector<Stage> stages_with_code() const {
    std::vector<Stage> sources;
    const std::span infos = stages_of(info_);
    for (size_t i = 0; i < infos.size(); ++i) sources.emplace_back(&infos[i], source_.codes[i]);
    return sources;
  }

  void build_stages() {
    const std::vector<Stage> sources = stages_with_code();
    if (sources.empty()) return;
    const bool in_sets = may_be_in_sets();
    const bool two_slots = state_.layout_rules.address_slots == kPipelineSlots;
    const PipelineLayout& layout = *pipeline_.layout;
    const Variant counted = variant_.with_alpha_to_coverage(false);
    const bool number_draws =
        counted == Variant::Blocks && may_pack_indices(state_, info_, pipeline_);
    StageVariants::Request request{counted,
                                   layout.addressing(two_slots),
                                   alpha_to_coverage(),
                                   source_.multiview && counted.regions,
                                   has_primitive_ids(sources),
                                   tessellation_of(sources),
                                   number_draws};
    if (in_sets) {
      request.first_counter = [this](uint32_t counters) {
        range_ = state_.counter_ranges.take(counters);
        return range_->first;
      };
    }
    stages_.build(state_.instrumenter, sources, request);
    set_stages(info_, stages_.infos());
  }

  // True if it may be in an execution set, or is a library of such a pipeline.
  bool may_be_in_sets() const {
    return variant_.blocks && (pipeline_flags(info_) & kIndirectBindable) != 0;
  }

  // A variant is neither a base nor a derivative, and a plain pipeline that is late is none of what
  // follows. Creation feedback and statistics describe the plain pipeline. Binaries are those of
  // the plain shaders, and so are the binaries to capture. Commands of
  // VK_NV_device_generated_commands bind the plain pipeline and its groups.
  void finish_info() {
    uint64_t dropped = VK_PIPELINE_CREATE_ALLOW_DERIVATIVES_BIT |
                       VK_PIPELINE_CREATE_DERIVATIVE_BIT |
                       VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR |
                       VK_PIPELINE_CREATE_CAPTURE_INTERNAL_REPRESENTATIONS_BIT_KHR |
                       VK_PIPELINE_CREATE_INDIRECT_BINDABLE_BIT_NV | kCaptureData;
    if (later_) {
      dropped |= VK_PIPELINE_CREATE_FAIL_ON_PIPELINE_COMPILE_REQUIRED_BIT |
                 VK_PIPELINE_CREATE_EARLY_RETURN_ON_FAILURE_BIT;
    }
    info_.pNext = chain_.head();
    chain_.remove(VK_STRUCTURE_TYPE_PIPELINE_CREATION_FEEDBACK_CREATE_INFO);
    chain_.remove(VK_STRUCTURE_TYPE_PIPELINE_BINARY_INFO_KHR);
    chain_.remove(VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_SHADER_GROUPS_CREATE_INFO_NV);
    chain_.remove(VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_INDIRECT_BUFFER_INFO_NV);
    set_pipeline_flags(info_, chain_, pipeline_flags(info_) & ~dropped);
    if (pipeline_.layout) info_.layout = pipeline_.layout->handle();
    info_.basePipelineHandle = VK_NULL_HANDLE;
    info_.basePipelineIndex = -1;
  }

  ObjectState& state_;
  const VariantSource<Info>& source_;
  Variant variant_;
  bool later_;
  std::vector<std::string>* ahead_;
  const Pipeline& pipeline_;
  Info info_;
  vk::ChainCopy chain_;
  StageVariants stages_;
  std::shared_ptr<const CounterRanges::Range> range_;
  std::shared_ptr<Program> program_;
  std::optional<LibraryVariants> libraries_;
};

void report_notices(const ObjectState& state, const Pipeline& pipeline,
                    const std::vector<std::string>& notices) {
  for (const std::string& text : notices) {
    state.device.messages.notice(kUninstrumentedNotice, VK_OBJECT_TYPE_PIPELINE,
                                 vk::handle_bits(pipeline.handle), text);
  }
}

template <typename Info>
VkResult create_variant(ObjectState& state, VkPipelineCache cache,
                        const VariantSource<Info>& source, Variant variant, bool later,
                        Pipeline& pipeline) {
  VariantBuilder<Info> builder(state, source, pipeline, variant, later);
  VkResult result = VK_SUCCESS;
  if (builder.prepare()) {
    PipelineVariant made;
    result = builder.compile(cache, made);
    if (result == VK_SUCCESS) pipeline.keep(variant, std::move(made));
  }
  report_notices(state, pipeline, builder.notices());
  if (result == VK_SUCCESS || result == VK_PIPELINE_COMPILE_REQUIRED) return result;
  if (variant != variant.full()) {
    state.device.report(vk::take_own_failure(),
                        "the driver rejected a pipeline's faster variant; the variant that counts "
                        "everything replaces it");
    return VK_SUCCESS;  // which is tried next
  }
  report_notices(
      state, pipeline,
      {fmt::format("a pipeline runs uninstrumented: the driver rejected its instrumented "
                   "variant: {}",
                   vk::take_own_failure().text())});
  return VK_SUCCESS;
}

// The program of a plain pipeline whose draws the driver counts: its shaders are at most a vertex
// and a fragment shader, each of which only needs a counter of its invocations.
class DriverProgram {
 public:
  template <typename Info>
  DriverProgram(ObjectState& state, const VariantSource<Info>& source, const Pipeline& pipeline) {
    const auto program = std::make_shared<Program>();
    if (source.multiview) return;
    // It drops samples, and fragments, behind the shader.
    const bool alpha_to_coverage = pipeline.alpha_to_coverage || pipeline.by_alpha_to_coverage;
    if (alpha_to_coverage && !pipeline.library) return;
    const std::span infos = stages_of(source.info);
    for (size_t i = 0; i < infos.size(); ++i) {
      if (!add(state, Stage(&infos[i], source.codes[i]), pipeline, *program)) return;
    }
    for (const auto& library : source.libraries) {
      if (library->facts.facts.stages == 0) continue;
      if (!library->make(Variant::ByDriver)) return;
      const Program& known = *library->program(Variant::ByDriver);
      program->stages.insert(program->stages.end(), known.stages.begin(), known.stages.end());
    }
    const auto all = static_cast<size_t>(std::popcount(pipeline.facts.facts.stages));
    if (all == 0 || program->stages.size() != all) return;
    for (StageProgram& stage : program->stages) stage.reported = pipeline.instrumented;
    std::ranges::sort(program->stages, {}, &StageProgram::stage);
    program->capacities[static_cast<size_t>(AddressSlot::Main)] = kDriverCounters;
    program->max_shards_log2 = 0;
    program->draw_size = pipeline.draw_size;
    program_ = program;
  }

  const std::shared_ptr<const Program>& get() const { return program_; }

 private:
  static bool add(ObjectState& state, const Stage& stage, const Pipeline& pipeline,
                  Program& program) {
    const bool fragment = stage.info->stage == VK_SHADER_STAGE_FRAGMENT_BIT;
    if ((!fragment && stage.info->stage != VK_SHADER_STAGE_VERTEX_BIT) || !stage.code ||
        !pipeline.layout) {
      return false;
    }
    StageVariants::Request request;
    request.addressing =
        pipeline.layout->addressing(state.layout_rules.address_slots == kPipelineSlots);
    const auto options = StageVariants::make_options(state.instrumenter, stage, request,
                                                     Variant::Blocks, std::nullopt);
    if (!options) return false;
    const auto shader = state.instrumenter.instrument(stage, *options);
    if (!shader || !counts_only_invocations(*(*shader)->info)) return false;
    if (fragment && !keeps_fragments(stage)) return false;
    StageProgram added;
    added.stage = stage.info->stage;
    added.first_counter = fragment ? 1 : 0;  // in the order of the query's results
    added.info = (*shader)->info;
    program.stages.push_back(std::move(added));
    return true;
  }

  static bool counts_only_invocations(const StageInfo& info) {
    const spirv::CounterPlan& plan = info.plan;
    return plan.record_counters() == 1 && plan.block_values[info.entry_block] == 0 &&
           std::ranges::all_of(plan.output_counters, [](uint32_t counter) {
             return counter == spirv::CounterPlan::kZero;
           });
  }

  std::shared_ptr<const Program> program_;
};

template <typename Info>
class KeptSource : public VariantMaker {
 public:
  KeptSource(ObjectState& state, const VariantSource<Info>& source, VariantChoice choice)
      : state_(state), choice_(choice), source_(source) {}

  // Returns whether everything is kept.
  bool keep() {
    const std::span stages = stages_of(source_.info);
    const bool known =
        std::ranges::none_of(source_.codes, [](const auto& code) { return !code; }) &&
        std::ranges::all_of(source_.libraries,
                            [](const auto& library) { return library && library->keepable; });
    return known && stages.size() == source_.codes.size() && keep_info(source_.info);
  }

  void make(Pipeline& pipeline, Variant variant) override {
    if (variant == Variant::Plain) return make_plain(pipeline);
    if (variant != variant.full() && may_be_in_set()) return;
    if (variant.by_driver) return make_by_driver(pipeline);
    if (variant.no_draw_index && !may_pack_indices(state_, source_.info, pipeline)) return;
    if (!choice_.has(variant) || !can_count(state_, source_.info, pipeline)) return;
    create_variant(state_, VK_NULL_HANDLE, source_, variant, true, pipeline);
  }

  bool make_ahead(Pipeline& pipeline, Variant variant, VkPipelineCache cache) override {
    if (!choice_.has(variant)) return true;
    if (const char* reason = reason_against_counting(state_, source_.info, pipeline.layout.get())) {
      return *reason == '\0';
    }
    std::vector<std::string> notices;
    VariantBuilder<Info> builder(state_, source_, pipeline, variant, true, &notices);
    const bool counts = builder.prepare();
    std::ranges::move(builder.notices(), std::back_inserter(notices));
    if (!counts) return builder.complete() && notices.empty();
    PipelineVariant made;
    if (builder.compile(cache, made) != VK_SUCCESS) return false;
    made.notices = std::move(notices);
    pipeline.keep(variant, std::move(made), true);
    return true;
  }

  void report(const Pipeline& pipeline, const std::vector<std::string>& notices) override {
    report_notices(state_, pipeline, notices);
  }

 private:
  // The application expects no failure while it records, so a call that fails is repeated.
  void make_plain(Pipeline& pipeline) {
    VkResult result = VK_SUCCESS;
    for (const bool repeats : {false, true}) {
      VariantBuilder<Info> builder(state_, source_, pipeline, Variant::Plain, true);
      builder.prepare_plain();
      PipelineVariant made;
      result = builder.compile(VK_NULL_HANDLE, made);
      if (result != VK_SUCCESS) continue;
      pipeline.keep(Variant::Plain, std::move(made));
      if (repeats) state_.device.report(vk::take_own_failure(), "the layer repeated the call");
      return;
    }
    state_.device.messages.notice(
        "TALLY-late-pipeline", VK_OBJECT_TYPE_PIPELINE, vk::handle_bits(pipeline.handle),
        fmt::format("the driver rejected a pipeline when it was first bound: {}",
                    vk::take_own_failure(result).text()));
  }

  // Needs no code of the driver, and reports nothing: the variant whose shaders count does. Binding
  // it binds the plain pipeline, whatever its handle.
  void make_by_driver(Pipeline& pipeline) {
    const DriverProgram program(state_, source_, pipeline);
    if (program.get()) pipeline.keep(Variant::ByDriver, {pipeline.handle, program.get(), {}});
  }
  // Execution sets have copies for full variants alone, and the pipeline that a set begins with has
  // to be bound as it is in the set.
  bool may_be_in_set() const { return (pipeline_flags(source_.info) & kIndirectBindable) != 0; }
  bool keep_info(VkComputePipelineCreateInfo& info) { return tally::counters::keep(memory_, info); }
  bool keep_info(VkGraphicsPipelineCreateInfo& info) {
    if (!uses_render_pass(info)) info.renderPass = VK_NULL_HANDLE;
    if (info.renderPass != VK_NULL_HANDLE) {
      render_pass_ = state_.render_passes.find(info.renderPass).kept;
      if (!render_pass_) return false;
    }
    return tally::counters::keep(memory_, info, render_pass_.get());
  }

  ObjectState& state_;
  VariantChoice choice_;
  vk::CopyMemory memory_;
  VariantSource<Info> source_;
  std::shared_ptr<KeptRenderPass> render_pass_;
};

const VkPipelineLibraryCreateInfoKHR* libraries_of(const void* chain) {
  return vk::find_in_chain<VkPipelineLibraryCreateInfoKHR>(
      chain, VK_STRUCTURE_TYPE_PIPELINE_LIBRARY_CREATE_INFO_KHR);
}

}  // namespace

VkResult create_pipelines(ObjectState& state, VkPipelineCache cache, uint32_t count,
                          const VkGraphicsPipelineCreateInfo* infos,
                          const VkAllocationCallbacks* allocator, VkPipeline* pipelines) {
  return vk::own("vkCreateGraphicsPipelines",
                 state.device.next.CreateGraphicsPipelines(state.device.handle, cache, count, infos,
                                                           allocator, pipelines));
}
VkResult create_pipelines(ObjectState& state, VkPipelineCache cache, uint32_t count,
                          const VkComputePipelineCreateInfo* infos,
                          const VkAllocationCallbacks* allocator, VkPipeline* pipelines) {
  return vk::own("vkCreateComputePipelines",
                 state.device.next.CreateComputePipelines(state.device.handle, cache, count, infos,
                                                          allocator, pipelines));
}

template <typename Info>
VariantSource<Info> variant_source(ObjectState& state, const Info& info) {
  VariantSource<Info> source{info, {}, {}, false};
  for (const VkPipelineShaderStageCreateInfo& stage : stages_of(info)) {
    source.codes.push_back(find_code(state, stage));
  }
  const VkPipelineLibraryCreateInfoKHR* libraries = libraries_of(info.pNext);
  for (uint32_t i = 0; libraries && i < libraries->libraryCount; ++i) {
    source.libraries.push_back(state.pipelines.find(libraries->pLibraries[i]));
  }
  if (state.needs.driver_counts || state.needs.regions) {
    const VkRenderPass render_pass = render_pass_of(info);
    source.multiview = render_pass != VK_NULL_HANDLE
                           ? state.render_passes.find(render_pass).views != 0
                           : view_mask_of(info) != 0;
  }
  return source;
}

template <typename Info>
std::shared_ptr<VariantMaker> keep_source(ObjectState& state, const VariantSource<Info>& source,
                                          VariantChoice choice) {
  auto kept = std::make_shared<KeptSource<Info>>(state, source, choice);
  return kept->keep() ? std::move(kept) : nullptr;
}

template <typename Info>
VkResult make_variant(ObjectState& state, VkPipelineCache cache, const VariantSource<Info>& source,
                      Variant variant, Pipeline& pipeline) {
  return create_variant(state, cache, source, variant, false, pipeline);
}

#define TALLY_INSTANTIATE(Info)                                                                \
  template VariantSource<Info> variant_source(ObjectState&, const Info&);                      \
  template std::shared_ptr<VariantMaker> keep_source(ObjectState&, const VariantSource<Info>&, \
                                                     VariantChoice);                           \
  template VkResult make_variant(ObjectState&, VkPipelineCache, const VariantSource<Info>&,    \
                                 Variant, Pipeline&);
TALLY_INSTANTIATE(VkGraphicsPipelineCreateInfo)
TALLY_INSTANTIATE(VkComputePipelineCreateInfo)
#undef TALLY_INSTANTIATE

}  // namespace tally::counters
