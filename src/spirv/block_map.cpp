#include "spirv/block_map.h"

#include <fmt/format.h>

#include "spirv/cfg.h"

namespace tally::spirv {

Result<BlockMap> BlockMap::build(const Module& module, spv::ExecutionModel stage,
                                 std::string_view entry_point) {
  const EntryPoint* entry = module.find_entry_point(stage, entry_point);
  if (entry == nullptr) {
    return Error{fmt::format("the module has no entry point \"{}\" of execution model {}",
                             entry_point, static_cast<uint32_t>(stage))};
  }
  BlockMap map;
  const CostModel costs(module);
  for (const uint32_t index : CallGraph::build(module).reachable_from(entry->function_id)) {
    const Function& function = module.functions()[index];
    std::string name = module.name_of(function.id);
    if (name.empty()) name = fmt::format("%{}", function.id);
    map.functions_.push_back({function.id, std::move(name),
                              static_cast<uint32_t>(map.blocks_.size()), function.block_count});
    for (const BlockRange& range : module.blocks_of(function)) {
      Block block{};
      block.function_id = function.id;
      block.function = static_cast<uint32_t>(map.functions_.size() - 1);
      block.label_id = range.label_id;
      block.word_begin = module.word_offset(range.begin);
      block.word_end = module.word_offset(range.end);
      for (uint32_t at = range.begin; at < range.end; ++at) {
        costs.add(module.instruction(at), block.mix);
      }
      map.blocks_.push_back(block);
    }
  }
  return map;
}

}  // namespace tally::spirv
