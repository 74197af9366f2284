#include "capture/recording/module_facts.h"

#include <algorithm>
#include <array>
#include <utility>

#include "catalogue/stages.h"
#include "spirv/analysis/block_map.h"

namespace tally::capture {
namespace {

std::optional<VkShaderStageFlagBits> stage_of(spv::ExecutionModel model) {
  const auto* stage = catalogue::find_stage_of_model(static_cast<uint32_t>(model));
  if (stage == nullptr) return std::nullopt;
  return static_cast<VkShaderStageFlagBits>(stage->bit);
}

}  // namespace

ModuleFacts module_facts(std::span<const uint32_t> words) {
  ModuleFacts found;
  const auto module = spirv::Module::parse(words);
  if (!module) return found;
  for (const spirv::EntryPoint& entry : module->entry_points()) {
    const auto map = spirv::BlockMap::build(*module, entry.model, entry.name);
    if (!map) continue;
    if (found.source.empty()) found.source = map->source_name();
    const auto stage = stage_of(entry.model);
    if (!stage) continue;
    const auto function =
        std::ranges::find(map->functions(), entry.function_id, &spirv::MappedFunction::id);
    if (function != map->functions().end() && function->block_count != 0) {
      found.entry_blocks.push_back({*stage, entry.name, function->first_block});
    }
  }
  return found;
}

std::optional<uint32_t> entry_block_of(std::span<const EntryBlock> blocks,
                                       VkShaderStageFlagBits stage,
                                       const std::string& entry_point) {
  for (const EntryBlock& entry : blocks) {
    if (entry.stage == stage && entry.entry_point == entry_point) return entry.block;
  }
  return std::nullopt;
}

}  // namespace tally::capture
