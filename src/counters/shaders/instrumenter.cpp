#include "counters/shaders/instrumenter.h"

#include <fmt/format.h>
#include <spirv-tools/libspirv.h>

#include <algorithm>
#include <cstdint>

#include "base/log.h"
#include "catalogue/catalogue.h"
#include "spirv/analysis/analyzed_module.h"
#include "spirv/analysis/interface.h"
#include "spirv/instrument/output_counting.h"
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
    Result<Shader> made = make(stage, options, declared.constants);
    if (!made) return made.error();
    shader = *made;
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
  Result<Blocks> blocks = find_blocks(*analyzed, *entry);
  if (!blocks) return blocks.error();
  Result<spirv::BlockCountResult> counted = spirv::add_block_counts(*analyzed, options);
  if (!counted) return counted.error();
  if (options.count_blocks && counted->plan.block_count != blocks->costs.size()) {
    return Error{fmt::format("internal error: {} blocks are mapped, {} are counted",
                             blocks->costs.size(), counted->plan.block_count)};
  }
  if (options_.validate) {
    const Status valid = validate_spirv(counted->words, options_.vulkan_version);
    if (!valid)
      return with_context(valid.error(), "internal error: the instrumented module is invalid");
  }
  if (!counted->left_out.empty()) {
    log(LogLevel::Warning, "a {} shader: {}", stage_name(stage.info->stage), counted->left_out);
  }
  auto info = std::make_shared<const StageInfo>(StageInfo{std::move(counted->plan),
                                                          std::move(blocks->costs), blocks->entry,
                                                          blocks->feedback, counted->tests_early});
  return Shader(std::make_shared<const InstrumentedShader>(
      InstrumentedShader{std::make_shared<const std::vector<uint32_t>>(std::move(counted->words)),
                         counted->record_spec_ids, std::move(info)}));
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

}  // namespace tally::counters
