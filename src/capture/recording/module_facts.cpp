#include "capture/recording/module_facts.h"

#include <algorithm>
#include <array>
#include <optional>
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

std::vector<BlockCost> static_costs(std::span<const spirv::Block> blocks) {
  std::vector<BlockCost> costs;
  for (uint32_t block = 0; block < blocks.size(); ++block) {
    for (size_t i = 0; i < spirv::kCostClassCount; ++i) {
      const auto cost = static_cast<spirv::CostClass>(i);
      const uint64_t count = blocks[block].mix[cost];
      // Every block has an entry, so that its executions are known.
      if (count != 0 || cost == spirv::CostClass::Instruction)
        costs.push_back({block, cost, static_cast<uint32_t>(count)});
    }
  }
  costs.shrink_to_fit();
  return costs;
}

}  // namespace

ModuleFacts module_facts(std::span<const uint32_t> words, const Specialization& constants) {
  ModuleFacts found;
  auto module = spirv::Module::parse(words);
  if (!module) return found;
  if (!constants.empty()) module = module->specialized(constants);
  for (const auto& constant : module->declared_constants()) {
    found.spec_ids.push_back(constant.spec_id);
  }
  std::ranges::sort(found.spec_ids);
  for (const spirv::EntryPoint& entry : module->entry_points()) {
    const auto map = spirv::BlockMap::build(*module, entry.model, entry.name);
    if (!map) continue;
    if (found.source.empty()) found.source = map->source_name();
    const auto stage = stage_of(entry.model);
    if (!stage) continue;
    const auto function =
        std::ranges::find(map->functions(), entry.function_id, &spirv::MappedFunction::id);
    if (function != map->functions().end() && function->block_count != 0) {
      found.entry_points.push_back({*stage, entry.name, function->first_block,
                                    static_costs(map->blocks()),
                                    map->costs_depend_on_specialization()});
    }
  }
  return found;
}

Specialization ModuleFacts::declared(Specialization constants) const {
  std::erase_if(constants, [&](const SpecializationConstant& constant) {
    return !std::ranges::binary_search(spec_ids, constant.id);
  });
  return constants;
}

const EntryPointFacts* ModuleFacts::find(VkShaderStageFlagBits stage,
                                         const std::string& name) const {
  for (const EntryPointFacts& entry : entry_points) {
    if (entry.stage == stage && entry.name == name) return &entry;
  }
  return nullptr;
}

}  // namespace tally::capture
