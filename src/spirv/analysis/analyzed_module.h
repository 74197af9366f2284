// A module with its analyses: parsed once, each analysis made on first use and kept. Not
// thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "spirv/analysis/block_map.h"
#include "spirv/analysis/cfg.h"
#include "spirv/analysis/induction.h"
#include "spirv/ir/module.h"

namespace tally::spirv {

class AnalyzedModule {
 public:
  // Expands decoration groups.
  static Result<AnalyzedModule> parse(std::span<const uint32_t> words);
  explicit AnalyzedModule(Module module);

  const Module& module() const { return module_; }
  // `function`: index into Module::functions().
  const Result<Cfg>& cfg(uint32_t function) const;
  // Only for a function that has a Cfg.
  const IntegerVariables& integer_variables(uint32_t function) const;
  const Result<BlockMap>& block_map(const EntryPoint& entry) const;

 private:
  Module module_;
  mutable std::vector<std::optional<Result<Cfg>>> cfgs_;
  mutable std::vector<std::optional<IntegerVariables>> integer_variables_;
  mutable std::map<uint32_t, Result<BlockMap>> block_maps_;  // by index of the OpEntryPoint
};

}  // namespace tally::spirv
