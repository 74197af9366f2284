#include "analysis/model/variants.h"

#include <set>
#include <string>

namespace tally::analysis {
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
