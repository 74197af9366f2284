#include "analysis/model/shader_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "catalogue/stages.h"

namespace tally::analysis {
namespace {

// Shaders written for the NV extensions use other names for the same stages.
spv::ExecutionModel as_written(const spirv::Module& module, spv::ExecutionModel wanted,
                               const std::string& entry_point) {
  if (module.find_entry_point(wanted, entry_point) != nullptr) return wanted;
  if (wanted == spv::ExecutionModel::TaskEXT) return spv::ExecutionModel::TaskNV;
  if (wanted == spv::ExecutionModel::MeshEXT) return spv::ExecutionModel::MeshNV;
  return wanted;
}

uint32_t first_block_of_entry(const ShaderCode& code, spv::ExecutionModel execution,
                              const std::string& name) {
  const spirv::EntryPoint* entry = code.module.find_entry_point(execution, name);
  if (entry == nullptr) return kNone;
  for (const spirv::MappedFunction& function : code.map.functions()) {
    if (function.id == entry->function_id && function.block_count != 0) return function.first_block;
  }
  return kNone;
}

Result<ShaderCode> load(const Model& model, uint32_t shader) {
  const store::ShaderRow& row = model.shaders[shader];
  if (!row.module) return Error{"the capture has no SPIR-V for this shader"};
  const catalogue::Stage* stage = catalogue::find_stage(row.stage);
  if (!stage) return Error{fmt::format("its stage 0x{:x} is unknown", row.stage)};
  auto words = model.reader.spirv(*row.module);
  if (!words) return words.error();
  auto module = spirv::Module::parse(*words);
  if (!module) return module.error();
  if (!row.constants.empty()) module = module->specialized(row.constants);
  const spv::ExecutionModel execution = as_written(
      *module, static_cast<spv::ExecutionModel>(stage->execution_model), row.entry_point);
  auto map = spirv::BlockMap::build(*module, execution, row.entry_point);
  if (!map) return map.error();
  ShaderCode code{std::move(*module), std::move(*map), kNone, execution};
  code.entry_block = first_block_of_entry(code, execution, row.entry_point);
  return code;
}

}  // namespace

bool ShaderCode::is_countable(size_t block) const {
  const auto& functions = map.functions();
  const auto next =
      std::ranges::upper_bound(functions, block, {}, &spirv::MappedFunction::first_block);
  return next == functions.begin() || std::prev(next)->is_countable;
}

ShaderCodes::ShaderCodes(const Model& model) : model_(model), codes_(model.shaders.size()) {}

const Result<ShaderCode>& ShaderCodes::of(uint32_t shader) {
  auto& code = codes_[shader];
  if (code == nullptr) code = std::make_unique<Result<ShaderCode>>(load(model_, shader));
  return *code;
}

uint32_t ShaderCodes::entry_block(uint32_t shader) {
  const auto& code = of(shader);
  return code.ok() ? code->entry_block : kNone;
}

namespace {

bool can_be_specialized(ShaderCodes& codes, uint32_t shader) {
  const auto& code = codes.of(shader);
  if (!code.ok()) return false;
  for (size_t i = 0; i < code->module.instruction_count(); ++i) {
    switch (code->module.instruction(i).opcode()) {
      case spv::Op::OpSpecConstantTrue:
      case spv::Op::OpSpecConstantFalse:
      case spv::Op::OpSpecConstant:
        return true;
      case spv::Op::OpFunction:
        return false;
      default:
        break;
    }
  }
  return false;
}

// Groups the used pipelines that have the same shaders but different hashes; they differ in their
// specialization.
std::vector<std::vector<uint32_t>> pipelines_with_same_shaders(const Model& model) {
  std::vector<bool> used(model.pipelines.size());
  for (const Command& command : model.commands) {
    if (command.pipeline != kNone) used[command.pipeline] = true;
  }
  std::map<std::vector<store::RowId>, std::vector<uint32_t>> alike;
  for (uint32_t p = 0; p < model.pipelines.size(); ++p) {
    if (used[p]) alike[model.pipelines[p].shaders].push_back(p);
  }
  std::vector<std::vector<uint32_t>> result;
  for (auto& [shaders, pipelines] : alike) {
    std::set<std::string> hashes;
    for (const uint32_t p : pipelines) hashes.insert(model.pipelines[p].hash);
    if (hashes.size() > 1) result.push_back(std::move(pipelines));
  }
  return result;
}

}  // namespace

Variants::Variants(const Model& model, ShaderCodes& codes) : is_split_(model.shaders.size()) {
  for (uint32_t shader = 0; shader < model.shaders.size(); ++shader)
    variants_.push_back({shader, kNone});
  constexpr int64_t kShadersAreSpecialized = 7;
  if (model.reader.version() >= kShadersAreSpecialized) return;
  for (const std::vector<uint32_t>& alike : pipelines_with_same_shaders(model)) {
    for (const store::RowId id : model.pipelines[alike.front()].shaders) {
      const uint32_t shader = model.shader_index.find(id);
      if (shader != kNone && can_be_specialized(codes, shader)) split(model, alike, shader);
    }
  }
}

void Variants::split(const Model& model, const std::vector<uint32_t>& alike, uint32_t shader) {
  is_split_[shader] = true;
  std::map<std::string, uint32_t> by_hash;
  for (const uint32_t pipeline : alike) {
    const auto [place, added] =
        by_hash.emplace(model.pipelines[pipeline].hash, static_cast<uint32_t>(variants_.size()));
    if (added) variants_.push_back({shader, pipeline});
    of_[{pipeline, shader}] = place->second;
  }
}

uint32_t Variants::of(uint32_t pipeline, uint32_t shader) const {
  if (!is_split_[shader]) return shader;
  const auto found = of_.find({pipeline, shader});
  return found == of_.end() ? shader : found->second;
}

bool Variants::is_selected(const Model& model, uint32_t variant) const {
  const uint32_t shader = variants_[variant].shader;
  if (!model.shader_selected[shader] || !model.selected_by_pipeline[shader] || !is_split_[shader])
    return model.shader_selected[shader];
  for (uint32_t pipeline = 0; pipeline < model.pipelines.size(); ++pipeline) {
    if (model.pipeline_selected[pipeline] && of(pipeline, shader) == variant) return true;
  }
  return false;
}

std::string variant_text(const Model& model, const Variant& variant) {
  return variant.pipeline == kNone ? std::string() : model.pipeline_names[variant.pipeline];
}

}  // namespace tally::analysis
