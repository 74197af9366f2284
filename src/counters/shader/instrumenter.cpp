#include "counters/shader/instrumenter.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "counters/shader/validator.h"
#include "spirv/analysis/block_map.h"
#include "spirv/analysis/free_location.h"
#include "spirv/instrument/tessellation_counting.h"
#include "spirv/ir/decoration_groups.h"
#include "spirv/ir/module.h"

namespace tally::counters {
namespace {

// Games usually create all pipelines of a shader together: older results are rarely needed again.
constexpr size_t kMaxRememberedWords = 8 << 20;

struct StageRow {
  VkShaderStageFlagBits stage;
  spv::ExecutionModel model;
  const char* name;
};

constexpr StageRow kStages[] = {
    {VK_SHADER_STAGE_VERTEX_BIT, spv::ExecutionModel::Vertex, "vertex"},
    {VK_SHADER_STAGE_TESSELLATION_CONTROL_BIT, spv::ExecutionModel::TessellationControl,
     "tessellation control"},
    {VK_SHADER_STAGE_TESSELLATION_EVALUATION_BIT, spv::ExecutionModel::TessellationEvaluation,
     "tessellation evaluation"},
    {VK_SHADER_STAGE_GEOMETRY_BIT, spv::ExecutionModel::Geometry, "geometry"},
    {VK_SHADER_STAGE_FRAGMENT_BIT, spv::ExecutionModel::Fragment, "fragment"},
    {VK_SHADER_STAGE_COMPUTE_BIT, spv::ExecutionModel::GLCompute, "compute"},
    {VK_SHADER_STAGE_TASK_BIT_EXT, spv::ExecutionModel::TaskEXT, "task"},
    {VK_SHADER_STAGE_MESH_BIT_EXT, spv::ExecutionModel::MeshEXT, "mesh"},
    {VK_SHADER_STAGE_RAYGEN_BIT_KHR, spv::ExecutionModel::RayGenerationKHR, "ray generation"},
    {VK_SHADER_STAGE_ANY_HIT_BIT_KHR, spv::ExecutionModel::AnyHitKHR, "any-hit"},
    {VK_SHADER_STAGE_CLOSEST_HIT_BIT_KHR, spv::ExecutionModel::ClosestHitKHR, "closest-hit"},
    {VK_SHADER_STAGE_MISS_BIT_KHR, spv::ExecutionModel::MissKHR, "miss"},
    {VK_SHADER_STAGE_INTERSECTION_BIT_KHR, spv::ExecutionModel::IntersectionKHR, "intersection"},
    {VK_SHADER_STAGE_CALLABLE_BIT_KHR, spv::ExecutionModel::CallableKHR, "callable"},
};

const StageRow* find_stage(VkShaderStageFlagBits stage) {
  for (const StageRow& row : kStages) {
    if (row.stage == stage) return &row;
  }
  return nullptr;
}

std::string cache_key(const ShaderCode& code, const Instrumenter::Request& request) {
  const spirv::AddressSource& address = request.address;
  const auto& patches = request.tessellation;
  const int tessellation = patches ? 1 + static_cast<int>(patches->domain) +
                                         4 * static_cast<int>(patches->spacing) +
                                         16 * static_cast<int>(patches->points)
                                   : 0;
  // 0: not counted; 1: the shader has no outputs.
  const auto& numbers = request.packed_draw_indices;
  const uint32_t packed_draw_indices = !numbers            ? 0
                                       : numbers->location ? 2 + *numbers->location
                                                           : 1;
  return fmt::format("{}:{}:{}:{}:{}:{}:{}:{}:{}:{}:{}:{}:{}", to_string(code.hash),
                     static_cast<uint32_t>(request.stage), request.entry_point,
                     static_cast<int>(address.kind), address.push_constant_offset, address.set,
                     address.binding, request.alpha_to_coverage, static_cast<int>(request.variant),
                     request.multiview, request.primitive_ids, tessellation, packed_draw_indices);
}

struct Blocks {
  std::vector<spirv::InstructionMix> costs;
  uint32_t entry = 0;
  spirv::FeedbackLayout feedback;
};

Result<Blocks> find_blocks(const ShaderCode& code, spv::ExecutionModel model,
                           const std::string& entry_point) {
  const Result<spirv::Module> module = spirv::parse_without_groups(code.words);
  if (!module) return module.error();
  const Result<spirv::BlockMap> map = spirv::BlockMap::build(*module, model, entry_point);
  if (!map) return map.error();
  Blocks blocks;
  for (const spirv::Block& block : map->blocks()) blocks.costs.push_back(block.mix);
  const spirv::EntryPoint& entry = *module->find_entry_point(model, entry_point);
  const uint32_t function = entry.function_id;
  blocks.feedback = spirv::feedback_layout(*module, entry);
  for (const spirv::MappedFunction& mapped : map->functions()) {
    if (mapped.id == function) blocks.entry = mapped.first_block;
  }
  return blocks;
}

}  // namespace

const char* stage_name(VkShaderStageFlagBits stage) {
  const StageRow* row = find_stage(stage);
  return row ? row->name : "unknown";
}

std::optional<spirv::Tessellation> find_tessellation(const ShaderCode& control,
                                                     const std::string& control_entry,
                                                     const ShaderCode& evaluation,
                                                     const std::string& evaluation_entry) {
  spirv::Tessellation modes;
  const auto add = [&](const ShaderCode& code, spv::ExecutionModel model, const std::string& name) {
    const Result<spirv::Module> module = spirv::parse_without_groups(code.words);
    const spirv::EntryPoint* entry = module ? module->find_entry_point(model, name) : nullptr;
    if (entry) spirv::add_tessellation_modes(*module, *entry, modes);
    return entry != nullptr;
  };
  if (!add(control, spv::ExecutionModel::TessellationControl, control_entry) ||
      !add(evaluation, spv::ExecutionModel::TessellationEvaluation, evaluation_entry)) {
    return std::nullopt;
  }
  return modes;
}

std::optional<uint32_t> find_free_location(const ShaderCode& vertex,
                                           const std::string& vertex_entry,
                                           const ShaderCode& fragment,
                                           const std::string& fragment_entry) {
  const auto find = [](const ShaderCode& code, spv::ExecutionModel model, const std::string& name,
                       spv::StorageClass variables) -> std::optional<uint32_t> {
    const Result<spirv::Module> module = spirv::parse_without_groups(code.words);
    const spirv::EntryPoint* entry = module ? module->find_entry_point(model, name) : nullptr;
    if (!entry) return std::nullopt;
    return spirv::first_free_location(*module, *entry, variables);
  };
  const auto output =
      find(vertex, spv::ExecutionModel::Vertex, vertex_entry, spv::StorageClass::Output);
  const auto input =
      find(fragment, spv::ExecutionModel::Fragment, fragment_entry, spv::StorageClass::Input);
  if (!output || !input) return std::nullopt;
  return std::max(*output, *input);
}

Result<std::shared_ptr<const InstrumentedShader>> Instrumenter::instrument(const ShaderCode& code,
                                                                           const Request& request) {
  const std::string key = cache_key(code, request);
  if (Shader known = find(key)) return known;
  Result<Shader> made = make(code, request);
  if (made) remember(key, *made);
  return made;
}

Result<Instrumenter::Shader> Instrumenter::make(const ShaderCode& code,
                                                const Request& request) const {
  const StageRow* stage = find_stage(request.stage);
  if (!stage) return Error{"an unknown kind of shader stage"};
  Result<Blocks> blocks = find_blocks(code, stage->model, request.entry_point);
  if (!blocks) return blocks.error();
  spirv::BlockCountOptions options;
  options.stage = stage->model;
  options.entry_point = request.entry_point;
  options.address = request.address;
  options.placement = options_.placement;
  options.counting = options_.counting;
  options.int64 = options_.int64;
  options.int64_atomics = options_.int64_atomics;
  options.subgroup_operations = (options_.subgroup_stages & request.stage) != 0;
  options.max_shards_log2 = options_.max_shards_log2;
  options.count_subgroups = options_.count_subgroups;
  options.count_outputs = options_.count_outputs;
  options.tessellation = request.tessellation;
  options.max_tessellation_level = options_.max_tessellation_level;
  options.packed_draw_indices = request.packed_draw_indices;
  options.count_blocks = counts_blocks(request.variant);
  // A pipeline renders to views or to layers. Its shaders may not use the other built-in.
  if (counts_regions(request.variant)) {
    options.regions = options_.regions;
    options.regions->multiview &= request.multiview;
    options.regions->primitive_ids = request.primitive_ids;
    if (request.multiview) options.regions->layer_capability.reset();
  }
  options.driver = options_.driver;
  options.alpha_to_coverage = request.alpha_to_coverage;
  options.spirv_version_limit = options_.spirv_version_limit;
  Result<spirv::BlockCountResult> counted = spirv::add_block_counts(code.words, options);
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
    log(LogLevel::Warning, "a {} shader: {}", stage->name, counted->left_out);
  }
  auto info = std::make_shared<const StageInfo>(StageInfo{
      std::move(counted->plan), std::move(blocks->costs), blocks->entry, blocks->feedback});
  return Shader(std::make_shared<const InstrumentedShader>(
      InstrumentedShader{std::move(counted->words), counted->record_spec_ids, std::move(info)}));
}

Instrumenter::Shader Instrumenter::find(const std::string& key) {
  const std::lock_guard lock(mutex_);
  const auto found = shaders_.find(key);
  return found == shaders_.end() ? nullptr : found->second;
}

void Instrumenter::remember(const std::string& key, const Shader& shader) {
  const std::lock_guard lock(mutex_);
  if (!shaders_.emplace(key, shader).second) return;
  order_.push_back(key);
  words_ += shader->words.size();
  while (words_ > kMaxRememberedWords && order_.size() > 1) {
    const auto oldest = shaders_.find(order_.front());
    words_ -= oldest->second->words.size();
    shaders_.erase(oldest);
    order_.pop_front();
  }
}

}  // namespace tally::counters
