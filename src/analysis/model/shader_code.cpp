#include "analysis/model/shader_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

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

}  // namespace tally::analysis
