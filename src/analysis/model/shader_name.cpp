#include "analysis/model/shader_name.h"

#include <fmt/format.h>

#include <array>
#include <map>
#include <set>
#include <utility>

#include "catalogue/stages.h"
#include "spirv/analysis/block_map.h"

namespace tally::analysis {
namespace {

const store::ModuleRow* module_of(const Model& model, uint32_t shader) {
  const uint32_t module = model.module_index.find(model.shaders[shader].module);
  return module == kNone ? nullptr : &model.modules[module];
}

std::string source_name(const Model& model, store::RowId module_id) {
  const auto words = model.reader.spirv(module_id);
  if (!words) return {};
  const auto module = spirv::Module::parse(*words);
  if (!module || module->entry_points().empty()) return {};
  const spirv::EntryPoint& entry = module->entry_points().front();
  const auto map = spirv::BlockMap::build(*module, entry.model, entry.name);
  return map ? map->source_name() : std::string();
}

}  // namespace

std::string stage_name(uint32_t stage) {
  if (const catalogue::Stage* known = catalogue::find_stage(stage)) return known->short_name;
  return fmt::format("stage 0x{:x}", stage);
}

std::string short_hash(const std::string& hash) { return hash.substr(0, 8); }

std::string shader_hash(const Model& model, uint32_t shader) {
  const store::ModuleRow* module = module_of(model, shader);
  return module != nullptr ? module->hash : std::string();
}

std::vector<std::string> name_shaders(const Model& model) {
  std::map<store::RowId, std::string> names;  // by module
  for (const store::ModuleRow& module : model.modules) {
    std::string name = module.name.empty() ? source_name(model, module.id) : module.name;
    names[module.id] = name.empty() ? short_hash(module.hash) : std::move(name);
  }
  std::vector<std::string> result;
  for (const store::ShaderRow& shader : model.shaders) {
    const auto name = shader.module ? names.find(*shader.module) : names.end();
    result.push_back(name == names.end() ? "(no SPIR-V)" : name->second);
  }
  return result;
}

std::vector<std::string> tell_shaders_apart(const Model& model) {
  struct Namesakes {
    std::set<std::string> hashes;
    std::set<std::pair<std::string, std::string>> entry_points;  // with the hash
  };
  std::map<std::pair<std::string, uint32_t>, Namesakes> namesakes;  // by name and stage
  const auto namesakes_of = [&](uint32_t shader) -> Namesakes& {
    return namesakes[{model.shader_names[shader], model.shaders[shader].stage}];
  };
  for (uint32_t shader = 0; shader < model.shaders.size(); ++shader) {
    const std::string hash = shader_hash(model, shader);
    namesakes_of(shader).hashes.insert(hash);
    namesakes_of(shader).entry_points.emplace(hash, model.shaders[shader].entry_point);
  }
  std::vector<std::string> names = model.shader_names;
  for (uint32_t shader = 0; shader < model.shaders.size(); ++shader) {
    const Namesakes& others = namesakes_of(shader);
    const std::string hash = shader_hash(model, shader);
    if (others.entry_points.size() > others.hashes.size())
      names[shader] += ":" + model.shaders[shader].entry_point;
    if (others.hashes.size() > 1 && !hash.empty())
      names[shader] += fmt::format(" ({})", short_hash(hash));
  }
  return names;
}

std::vector<std::string> name_pipelines(const Model& model) {
  std::map<std::string, std::set<std::string>> hashes;  // by name
  for (const store::PipelineRow& row : model.pipelines) hashes[row.name].insert(row.hash);
  std::vector<std::string> names;
  for (const store::PipelineRow& row : model.pipelines) {
    const std::string hash = short_hash(row.hash);
    const bool alone = hashes[row.name].size() == 1;
    names.push_back(row.name.empty() ? hash
                    : alone          ? row.name
                                     : fmt::format("{} ({})", row.name, hash));
  }
  return names;
}

std::string pipeline_name(const Model& model, uint32_t pipeline) {
  return pipeline == kNone ? "(none)" : model.pipeline_names[pipeline];
}

bool shader_matches(const Model& model, uint32_t shader, const std::string& pattern) {
  if (pattern.empty()) return true;
  const store::ShaderRow& row = model.shaders[shader];
  const std::string& name = model.shader_names[shader];
  const std::string hash = shader_hash(model, shader);
  constexpr size_t kMinDigits = 4;
  const bool is_hash = name == short_hash(hash);
  return (!is_hash && matches_pattern(pattern, name)) ||
         matches_pattern(pattern, stage_name(row.stage)) || pattern == row.entry_point ||
         (pattern.size() >= kMinDigits && hash.starts_with(pattern));
}

}  // namespace tally::analysis
