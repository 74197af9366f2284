#include "counters/shaders/instrumenter.h"

#include <fmt/format.h>
#include <spirv-tools/libspirv.h>

#include <algorithm>
#include <cstdint>

#include "base/log.h"
#include "catalogue/catalogue.h"
#include "spirv/analysis/analyzed_module.h"
#include "spirv/analysis/early_tests.h"
#include "spirv/analysis/interface.h"
#include "spirv/instrument/output_counting.h"
#include "spirv/instrument/record_writer.h"
#include "vk/own_call.h"
#include "vk/pipeline.h"

namespace tally::counters {

std::shared_ptr<const ShaderCode> ShaderCodeStore::add(std::span<const uint32_t> words) {
  const Hash128 hash = hash_words(words);
  const std::lock_guard lock(mutex_);
  std::weak_ptr<const ShaderCode>& slot = codes_[hash];
  if (auto known = slot.lock(); known && std::ranges::equal(known->words, words)) return known;
  if (codes_.size() > 2 * alive_after_prune_ + 64) {
    std::erase_if(codes_,
                  [&](const auto& entry) { return entry.second.expired() && entry.first != hash; });
    alive_after_prune_ = codes_.size();
  }
  auto code = std::make_shared<const ShaderCode>(ShaderCode{hash, {words.begin(), words.end()}});
  slot = code;
  return code;
}

Stage::Stage(const VkPipelineShaderStageCreateInfo* stage_info,
             std::shared_ptr<const ShaderCode> stage_code)
    : info(stage_info), code(std::move(stage_code)) {}
Stage::Stage(Stage&&) noexcept = default;
Stage& Stage::operator=(Stage&&) noexcept = default;
Stage::~Stage() = default;

const Result<spirv::AnalyzedModule>& Stage::module() const {
  using Parsed = Result<spirv::AnalyzedModule>;
  if (!module_) {
    module_ = std::make_unique<const Parsed>(code ? spirv::AnalyzedModule::parse(code->words)
                                                  : Parsed(Error{"its SPIR-V is not known"}));
  }
  return *module_;
}

const spirv::EntryPoint* Stage::entry_point(spv::ExecutionModel model) const {
  const auto& parsed = module();
  return parsed ? parsed->module().find_entry_point(model, info->pName) : nullptr;
}

bool sets_primitive_id(const Stage& stage) {
  if (!stage.module()) return false;
  const spirv::Module& module = stage.module()->module();
  for (uint32_t i = 0; i < module.instruction_count(); ++i) {
    const spirv::Instruction instruction = module.instruction(i);
    if (instruction.opcode() != spv::Op::OpVariable) continue;
    if (instruction.operand(0) != static_cast<uint32_t>(spv::StorageClass::Output)) continue;
    const auto builtin = module.decoration(instruction.result_id(), spv::Decoration::BuiltIn);
    if (builtin == static_cast<uint32_t>(spv::BuiltIn::PrimitiveId)) return true;
  }
  return false;
}

bool keeps_fragments(const Stage& stage) {
  const spirv::EntryPoint* const entry = stage.entry_point(spv::ExecutionModel::Fragment);
  if (!entry) return false;
  const spirv::AnalyzedModule& analyzed = *stage.module();
  return spirv::may_test_early(analyzed, *entry) && spirv::has_effect(analyzed.module(), *entry);
}

std::optional<spirv::Tessellation> find_tessellation(const Stage& control,
                                                     const Stage& evaluation) {
  spirv::Tessellation modes;
  const auto add = [&](const Stage& stage, spv::ExecutionModel model) {
    const spirv::EntryPoint* entry = stage.entry_point(model);
    if (entry) spirv::add_tessellation_modes(stage.module()->module(), *entry, modes);
    return entry != nullptr;
  };
  if (!add(control, spv::ExecutionModel::TessellationControl) ||
      !add(evaluation, spv::ExecutionModel::TessellationEvaluation)) {
    return std::nullopt;
  }
  return modes;
}

bool has_primitive_ids(const std::vector<Stage>& stages) {
  bool known = false;
  for (const Stage& stage : stages) {
    const VkShaderStageFlagBits bit = stage.info->stage;
    known = known || bit == VK_SHADER_STAGE_VERTEX_BIT;
    if (bit == VK_SHADER_STAGE_MESH_BIT_EXT) return false;
    if (bit == VK_SHADER_STAGE_GEOMETRY_BIT && !sets_primitive_id(stage)) return false;
  }
  return known;
}

std::optional<spirv::Tessellation> tessellation_of(const std::vector<Stage>& stages) {
  const Stage* control = nullptr;
  const Stage* evaluation = nullptr;
  for (const Stage& stage : stages) {
    const VkShaderStageFlagBits bit = stage.info->stage;
    if (bit == VK_SHADER_STAGE_GEOMETRY_BIT) return std::nullopt;
    if (bit == VK_SHADER_STAGE_TESSELLATION_CONTROL_BIT) control = &stage;
    if (bit == VK_SHADER_STAGE_TESSELLATION_EVALUATION_BIT) evaluation = &stage;
  }
  if (!control || !evaluation) return std::nullopt;
  return find_tessellation(*control, *evaluation);
}

std::optional<uint32_t> first_free_location(const Stage& stage) {
  const bool vertex = stage.info->stage == VK_SHADER_STAGE_VERTEX_BIT;
  const spirv::EntryPoint* entry =
      stage.entry_point(vertex ? spv::ExecutionModel::Vertex : spv::ExecutionModel::Fragment);
  if (!entry) return std::nullopt;
  return spirv::first_free_location(stage.module()->module(), *entry,
                                    vertex ? spv::StorageClass::Output : spv::StorageClass::Input);
}

namespace {

spv_target_env environment(uint32_t vulkan_version) {
  if (vulkan_version >= VK_API_VERSION_1_3) return SPV_ENV_VULKAN_1_3;
  if (vulkan_version >= VK_API_VERSION_1_2) return SPV_ENV_VULKAN_1_2;
  return SPV_ENV_VULKAN_1_1_SPIRV_1_4;
}

// Validates SPIR-V with the library of spirv-val. `vulkan_version`: the environment to check
// against (VK_API_VERSION_*).
Status validate_spirv(std::span<const uint32_t> words, uint32_t vulkan_version) {
  const std::unique_ptr<spv_context_t, decltype(&spvContextDestroy)> context(
      spvContextCreate(environment(vulkan_version)), spvContextDestroy);
  const std::unique_ptr<spv_validator_options_t, decltype(&spvValidatorOptionsDestroy)> options(
      spvValidatorOptionsCreate(), spvValidatorOptionsDestroy);
  // Device features allow these. The target environment does not tell.
  spvValidatorOptionsSetScalarBlockLayout(options.get(), true);
  spvValidatorOptionsSetUniformBufferStandardLayout(options.get(), true);
  spvValidatorOptionsSetAllowLocalSizeId(options.get(), true);
  spv_const_binary_t binary{words.data(), words.size()};
  spv_diagnostic diagnostic = nullptr;
  const spv_result_t result =
      spvValidateWithOptions(context.get(), options.get(), &binary, &diagnostic);
  const std::unique_ptr<spv_diagnostic_t, decltype(&spvDiagnosticDestroy)> owner(
      diagnostic, spvDiagnosticDestroy);
  if (result == SPV_SUCCESS) return {};
  return Error{diagnostic && diagnostic->error ? diagnostic->error : "spirv-val gives no reason"};
}

// Applications create the pipelines of one shader in sequence and rarely need older ones again.
constexpr size_t kMaxRememberedWords = 8 << 20;
constexpr size_t kMaxRememberedLocations = 1 << 16;

struct Blocks {
  std::vector<spirv::InstructionMix> costs;
  uint32_t entry = 0;
  spirv::FeedbackLayout feedback;
};

Result<Blocks> find_blocks(const spirv::AnalyzedModule& analyzed, const spirv::EntryPoint& entry) {
  const Result<spirv::BlockMap>& map = analyzed.block_map(entry);
  if (!map) return map.error();
  Blocks blocks;
  for (const spirv::Block& block : map->blocks()) blocks.costs.push_back(block.mix);
  blocks.feedback = spirv::feedback_layout(analyzed.module(), entry);
  for (const spirv::MappedFunction& mapped : map->functions()) {
    if (mapped.id == entry.function_id) blocks.entry = mapped.first_block;
  }
  return blocks;
}

}  // namespace

const char* stage_name(VkShaderStageFlagBits stage) {
  const catalogue::Stage* known = catalogue::find_stage(stage);
  return known ? known->name : "unknown";
}

Result<Instrumenter::Shader> Instrumenter::instrument(const Stage& stage,
                                                      const spirv::BlockCountOptions& options) {
  Key key{stage.code->hash, options, vk::specialization_of(stage.info->pSpecializationInfo)};
  if (Shader known = find(key)) return known;
  if (!stage.module()) return stage.module().error();
  // An application may give constants that the module does not declare.
  Key declared = key;
  declared.constants = stage.module()->module().declared(key.constants);
  Shader shader = find(declared);
  if (!shader) {
    shader = TALLY_TRY(make(stage, options, declared.constants));
    remember(declared, shader);
  }
  if (!(declared == key)) remember(key, shader);
  return shader;
}

Result<Instrumenter::Shader> Instrumenter::make(const Stage& stage,
                                                const spirv::BlockCountOptions& options,
                                                const Specialization& constants) const {
  const spirv::AnalyzedModule* analyzed = &*stage.module();
  const spirv::EntryPoint* entry = stage.entry_point(options.stage);
  if (!entry) {
    return Error{fmt::format("it has no {} entry point \"{}\"", stage_name(stage.info->stage),
                             options.entry_point)};
  }
  std::optional<spirv::AnalyzedModule> fixed;
  if (!analyzed->module().declared_constants().empty()) {
    analyzed = &fixed.emplace(analyzed->module().fixed(constants));
  }
  Blocks blocks = TALLY_TRY(find_blocks(*analyzed, *entry));
  spirv::BlockCountResult counted = TALLY_TRY(spirv::add_block_counts(*analyzed, options));
  if (options.count_blocks && counted.plan.block_count != blocks.costs.size()) {
    return Error{fmt::format("internal error: {} blocks are mapped, {} are counted",
                             blocks.costs.size(), counted.plan.block_count)};
  }
  if (options_.validate) {
    TALLY_TRY(with_context(validate_spirv(counted.words, options_.vulkan_version),
                           "internal error: the instrumented module is invalid"));
  }
  if (!counted.left_out.empty()) {
    log(LogLevel::Warning, "a {} shader: {}", stage_name(stage.info->stage), counted.left_out);
  }
  auto info = std::make_shared<const StageInfo>(StageInfo{std::move(counted.plan),
                                                          std::move(blocks.costs), blocks.entry,
                                                          blocks.feedback, counted.tests_early});
  return Shader(std::make_shared<const InstrumentedShader>(
      InstrumentedShader{std::make_shared<const std::vector<uint32_t>>(std::move(counted.words)),
                         counted.record_spec_ids, std::move(info)}));
}

std::optional<uint32_t> Instrumenter::find_free_location(const Stage& vertex,
                                                         const Stage& fragment) {
  const std::optional<uint32_t> output = free_location_of(vertex);
  const std::optional<uint32_t> input = free_location_of(fragment);
  if (!output || !input) return std::nullopt;
  return std::max(*output, *input);
}

std::optional<uint32_t> Instrumenter::free_location_of(const Stage& stage) {
  EntryPoint key{stage.code->hash, stage.info->stage, stage.info->pName};
  {
    const std::lock_guard lock(mutex_);
    const auto known = free_locations_.find(key);
    if (known != free_locations_.end()) return known->second;
  }
  const std::optional<uint32_t> location = first_free_location(stage);
  const std::lock_guard lock(mutex_);
  if (free_locations_.size() >= kMaxRememberedLocations) free_locations_.clear();
  free_locations_.emplace(std::move(key), location);
  return location;
}

Instrumenter::Shader Instrumenter::find(const Key& key) {
  const std::lock_guard lock(mutex_);
  const auto found = shaders_.find(key);
  return found == shaders_.end() ? nullptr : found->second;
}

void Instrumenter::remember(const Key& key, const Shader& shader) {
  const std::lock_guard lock(mutex_);
  if (!shaders_.emplace(key, shader).second) return;
  order_.push_back(key);
  words_ += shader->words->size();
  while (words_ > kMaxRememberedWords && order_.size() > 1) {
    const auto oldest = shaders_.find(order_.front());
    words_ -= oldest->second->words->size();
    shaders_.erase(oldest);
    order_.pop_front();
  }
}

namespace {

// A pipeline with packed draw indices is not linked from libraries: its stages share a record.
AddressSlot slot_of(const Stage& stage, const StageVariants::Request& request,
                    bool uses_packed_draw_index) {
  const bool separate = request.addressing.separate_fragment && !uses_packed_draw_index;
  return separate && stage.info->stage == VK_SHADER_STAGE_FRAGMENT_BIT ? AddressSlot::Fragment
                                                                       : AddressSlot::Main;
}

// A pipeline may have several ray-tracing stages of a kind, so they keep their order.
bool is_ray_tracing(const Stage& stage) { return (stage.info->stage & vk::kRayTracingStages) != 0; }

bool moves_push_constants(const Stage& stage, const StageVariants::Request& request) {
  const catalogue::Stage* known = catalogue::find_stage(stage.info->stage);
  if (!request.addressing.main.block_address || !known || !stage.code) return false;
  const Result<spirv::AnalyzedModule>& analyzed = stage.module();
  const spirv::EntryPoint* entry =
      analyzed ? stage.entry_point(static_cast<spv::ExecutionModel>(known->execution_model))
               : nullptr;
  return entry && spirv::moves_push_constants(analyzed->module(), *entry, request.addressing.main);
}

// True if transform feedback may capture outputs of the shader.
bool captures(const spirv::FeedbackLayout& layout) {
  return std::ranges::any_of(layout.buffers, [](const auto& buffer) { return buffer.stride != 0; });
}

}  // namespace

StageVariants::~StageVariants() {
  for (const VkShaderModule module : modules_) next_.DestroyShaderModule(device_, module, nullptr);
}

void StageVariants::build(Instrumenter& instrumenter, const std::vector<Stage>& stages,
                          const Request& request) {
  for (const Stage& stage : stages) infos_.push_back(*stage.info);
  // In the order of the stage bits, as in the record.
  std::vector<size_t> order(stages.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, {}, [&](size_t i) {
    return is_ray_tracing(stages[i]) ? 0u : static_cast<uint32_t>(stages[i].info->stage);
  });
  if (request.number_draws) {
    const Result<spirv::PackedDrawIndices> numbers =
        choose_packed_draw_indices(instrumenter, stages, request);
    if (numbers) packed_draw_indices_ = *numbers;
    log(LogLevel::Debug, "the draws of a pipeline have {}",
        numbers ? "packed indices" : "a record pointer each: " + numbers.error().message);
  }
  for (const size_t i : order) {
    const bool has_regions =
        request.variant.regions && stages[i].info->stage == VK_SHADER_STAGE_FRAGMENT_BIT;
    Variant variant = has_regions ? request.variant : Variant{.blocks = request.variant.blocks};
    while (variant != Variant::Plain) {
      const Status added = add_instrumented(instrumenter, stages[i], request, variant, infos_[i]);
      if (added && is_ray_tracing(stages[i])) {
        program_.stages.back().sub_index = static_cast<uint32_t>(i);
      }
      if (added) break;
      infos_[i] = *stages[i].info;
      refuse(stages[i], added.error());
      variant = variant == Variant::Both ? Variant::Blocks : Variant::Plain;
    }
    if (variant.regions) counts_regions_ = true;
    // The vertex shader comes first. It reads the packed draw index.
    if (variant == Variant::Plain && stages[i].info->stage == VK_SHADER_STAGE_VERTEX_BIT) {
      packed_draw_indices_.reset();
    }
    if (variant == Variant::Plain && moves_push_constants(stages[i], request)) {
      const Status moved =
          add_instrumented(instrumenter, stages[i], request, Variant::Plain, infos_[i]);
      if (!moved) {
        refuse(stages[i], moved.error());
        reads_slots_ = true;
      }
    }
  }
  program_.uses_packed_draw_index = packed_draw_indices_.has_value();
  if (request.first_counter) {
    program_.move_behind(request.first_counter(std::ranges::max(program_.capacities)));
  }
  place_counters();
  for (size_t i = 0; i < stages.size(); ++i) provide_module(stages[i], infos_[i]);
}

// A stage that stays as it is needs a module, unless it still has the application's.
void StageVariants::provide_module(const Stage& stage, VkPipelineShaderStageCreateInfo& target) {
  const auto* chained = vk::find_in_chain<VkShaderModuleCreateInfo>(
      target.pNext, VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO);
  if (target.module != VK_NULL_HANDLE || chained || !stage.code) return;
  const Result<VkShaderModule> module = create_module(stage.code->words);
  if (module) {
    target.module = *module;
  } else {
    lacks_module_ = true;
  }
}

// The module's default values are those of a stage that is alone in its record. They need no
// specialization, which is then left out: validation layer 1.3.239 reads the specialization of a
// library's stages again when the library is linked.
void StageVariants::place_counters() {
  for (size_t i = 0; i < counted_.size(); ++i) {
    const auto& [info, spec_ids] = counted_[i];
    const StageProgram& stage = program_.stages[i];
    const probe::StageCounters counters = program_.counters(stage);
    const uint32_t alone =
        probe::shard_stride(probe::stage_capacity(stage.info->plan.record_counters()));
    if (spec_ids && (counters.first_counter != 0 || counters.stride != alone)) {
      specialize(*info, *spec_ids, counters);
    }
  }
}

void StageVariants::refuse(const Stage& stage, const Error& error) {
  refusals_.push_back(
      {stage.info->stage, stage.code ? stage.code->hash : Hash128{}, error.message});
}

Result<spirv::BlockCountOptions> StageVariants::make_options(
    const Instrumenter& instrumenter, const Stage& stage, const Request& request, Variant variant,
    const std::optional<spirv::PackedDrawIndices>& numbers) {
  const VkShaderStageFlagBits bit = stage.info->stage;
  const catalogue::Stage* known = catalogue::find_stage(bit);
  if (!known) return Error{"an unknown kind of shader stage"};
  const StageAddressing& addressing = request.addressing;
  const bool fragment = bit == VK_SHADER_STAGE_FRAGMENT_BIT;
  const AddressSlot slot = slot_of(stage, request, numbers.has_value());
  spirv::BlockCountOptions options = instrumenter.options().pass;
  options.stage = static_cast<spv::ExecutionModel>(known->execution_model);
  options.entry_point = stage.info->pName;
  options.address = slot == AddressSlot::Main ? addressing.main : addressing.fragment;
  options.subgroup_operations = (instrumenter.options().subgroup_stages & bit) != 0;
  options.alpha_to_coverage = fragment && request.alpha_to_coverage;
  if (bit == VK_SHADER_STAGE_TESSELLATION_CONTROL_BIT) options.tessellation = request.tessellation;
  // There is no location if the fragment shader cannot be instrumented.
  const bool numbered = variant != Variant::Plain && (!fragment || (numbers && numbers->location));
  if (numbered) options.packed_draw_indices = numbers;
  options.count_blocks = variant.blocks;
  if (!variant.regions) {
    options.regions.reset();
  } else if (options.regions) {
    // A pipeline renders to views or to layers. Its shaders may not use the other built-in.
    options.regions->multiview &= request.multiview;
    options.regions->primitive_ids = fragment && request.primitive_ids;
    options.regions->only_invocations = variant.only_invocations;
    options.regions->primitives &= !variant.only_invocations;
    if (request.multiview) options.regions->layer_capability.reset();
  }
  return options;
}

// An error if a shader could not be instrumented with packed draw indices, or if transform feedback
// captures outputs.
Result<spirv::PackedDrawIndices> StageVariants::choose_packed_draw_indices(
    Instrumenter& instrumenter, const std::vector<Stage>& stages, const Request& request) {
  const auto find = [&](VkShaderStageFlagBits bit) -> const Stage* {
    const auto found =
        std::ranges::find(stages, bit, [](const Stage& stage) { return stage.info->stage; });
    return found != stages.end() && found->code ? &*found : nullptr;
  };
  const auto instrument = [&](const Stage& stage,
                              const std::optional<spirv::PackedDrawIndices>& numbers)
      -> Result<std::shared_ptr<const InstrumentedShader>> {
    const auto options =
        TALLY_TRY(make_options(instrumenter, stage, request, request.variant, numbers));
    return instrumenter.instrument(stage, options);
  };
  const Stage* vertex = find(VK_SHADER_STAGE_VERTEX_BIT);
  if (!vertex) return Error{"the vertex shader's SPIR-V is not known"};
  spirv::PackedDrawIndices numbers;
  if (const Stage* fragment = find(VK_SHADER_STAGE_FRAGMENT_BIT)) {
    numbers.location = instrumenter.find_free_location(*vertex, *fragment);
    const bool fits =
        numbers.location && *numbers.location < instrumenter.options().packed_draw_index_locations;
    const auto counted = fits ? instrument(*fragment, numbers) : Error{"it has no free location"};
    if (!counted) {
      if (instrument(*fragment, std::nullopt)) {
        return with_context(counted.error(), "fragment shader");
      }
      numbers.location.reset();
    }
  }
  const auto counted = TALLY_TRY(with_context(instrument(*vertex, numbers), "vertex shader"));
  if (captures(counted->info->feedback)) return Error{"transform feedback captures its outputs"};
  return numbers;
}

Status StageVariants::add_instrumented(Instrumenter& instrumenter, const Stage& stage,
                                       const Request& request, Variant variant,
                                       VkPipelineShaderStageCreateInfo& target) {
  if (!stage.code) return Error{"its SPIR-V is not known"};
  const auto options =
      TALLY_TRY(make_options(instrumenter, stage, request, variant, packed_draw_indices_));
  const AddressSlot slot = slot_of(stage, request, packed_draw_indices_.has_value());
  const auto shader = TALLY_TRY(instrumenter.instrument(stage, options));
  const InstrumentedShader& instrumented = *shader;
  target.module = TALLY_TRY(create_module(*instrumented.words));
  vk::ChainCopy& chain = chains_.emplace_back(target.pNext);
  chain.remove(VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO);
  chain.remove(VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_MODULE_IDENTIFIER_CREATE_INFO_EXT);
  target.pNext = chain.head();
  if (variant.blocks) {
    program_.add(stage.info->stage, slot, instrumented.info);
    counted_.push_back({&target, instrumented.record_spec_ids});
  }
  return {};
}

Result<VkShaderModule> StageVariants::create_module(const std::vector<uint32_t>& words) {
  const VkShaderModuleCreateInfo info{.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                      .codeSize = words.size() * sizeof(uint32_t),
                                      .pCode = words.data()};
  VkShaderModule module = VK_NULL_HANDLE;
  modules_.reserve(modules_.size() + 1);
  const VkResult result = vk::own(
      "vkCreateShaderModule", next_.CreateShaderModule(device_, &info, nullptr, &module), module);
  if (result != VK_SUCCESS) {
    return Error{"the driver rejected the instrumented module: " +
                 vk::take_own_failure(result).text()};
  }
  modules_.push_back(module);
  return module;
}

void StageVariants::specialize(VkPipelineShaderStageCreateInfo& target,
                               const spirv::RecordSpecIds& ids,
                               const probe::StageCounters& counters) {
  Specialized& result = specializations_.emplace_back(target.pSpecializationInfo);
  result.constants.add(ids.first_byte, probe::counter_bytes(counters.first_counter));
  result.constants.add(ids.stride_bytes, probe::counter_bytes(counters.stride));
  result.info = result.constants.info();
  target.pSpecializationInfo = &result.info;
}

}  // namespace tally::counters
