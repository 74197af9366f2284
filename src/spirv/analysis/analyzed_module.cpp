#include "spirv/analysis/analyzed_module.h"

#include <utility>

#include "spirv/ir/module.h"

namespace tally::spirv {

Result<AnalyzedModule> AnalyzedModule::parse(std::span<const uint32_t> words) {
  Module module = TALLY_TRY(parse_without_groups(words));
  return AnalyzedModule(std::move(module));
}

AnalyzedModule::AnalyzedModule(Module module)
    : module_(std::move(module)),
      cfgs_(module_.functions().size()),
      integer_variables_(module_.functions().size()) {}

const Result<Cfg>& AnalyzedModule::cfg(uint32_t function) const {
  std::optional<Result<Cfg>>& cfg = cfgs_[function];
  if (!cfg) cfg = Cfg::build(module_, module_.functions()[function]);
  return *cfg;
}

const IntegerVariables& AnalyzedModule::integer_variables(uint32_t function) const {
  std::optional<IntegerVariables>& variables = integer_variables_[function];
  if (!variables) variables.emplace(module_, module_.functions()[function], *cfg(function));
  return *variables;
}

const Result<BlockMap>& AnalyzedModule::block_map(const EntryPoint& entry) const {
  const auto known = block_maps_.find(entry.instruction);
  if (known != block_maps_.end()) return known->second;
  return block_maps_.emplace(entry.instruction, BlockMap::build(module_, entry.model, entry.name))
      .first->second;
}

}  // namespace tally::spirv
