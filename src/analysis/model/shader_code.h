// The code of captured shaders, as their pipelines specialize it, parsed and mapped to blocks on
// first use and then cached.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analysis/model/model.h"
#include "spirv/analysis/block_map.h"
#include "spirv/ir/module.h"

namespace tally::analysis {

// The static costs of blocks: those that the capture file holds, and the metric `cost`.

// The cost of one execution of a block in a metric, whose row has this id.
struct BlockCost {
  uint32_t shader;
  uint32_t block;
  store::RowId metric;
  uint64_t per_execution;
};
// Visits the costs of the shaders that the model knows. `cost` is computed from a block's code, or
// from the classes in the file if the code is not known.
Status visit_block_costs(const Model& model, const std::function<void(const BlockCost&)>& visit);

// The cost of one execution of each block, by shader.
class BlockCosts {
 public:
  struct Cost {
    store::RowId metric;
    uint64_t per_execution;
  };

  // The costs in the metrics for which `wanted` returns true.
  template <typename Wanted>
  static Result<BlockCosts> load(const Model& model, Wanted&& wanted) {
    BlockCosts costs;
    TALLY_TRY(visit_block_costs(model, [&](const BlockCost& cost) {
      if (wanted(cost.metric))
        costs.costs_[{cost.shader, cost.block}].push_back({cost.metric, cost.per_execution});
    }));
    return costs;
  }

  std::span<const Cost> of(uint32_t shader, uint32_t block) const {
    const auto found = costs_.find({shader, block});
    return found == costs_.end() ? std::span<const Cost>() : std::span<const Cost>(found->second);
  }

 private:
  std::map<std::pair<uint32_t, uint32_t>, std::vector<Cost>> costs_;
};

struct ShaderCode {
  spirv::Module module;
  spirv::BlockMap map;
  // The first block of the entry point; its executions are the shader's invocations.
  uint32_t entry_block = kNone;
  spv::ExecutionModel execution_model = spv::ExecutionModel::Max;

  // Null if the entry point is unknown.
  const spirv::EntryPoint* entry(const std::string& name) const {
    return module.find_entry_point(execution_model, name);
  }

  // True if the block's function can be counted (spirv::MappedFunction).
  bool is_countable(size_t block) const;
};

class ShaderCodes {
 public:
  // The compiler whose result BlockMap::kept() counts (spirv/analysis/redundancy.h).
  enum class Compiler : uint8_t { Any, Gpu };
  explicit ShaderCodes(const Model& model, Compiler compiler = Compiler::Any);

  // The code of a shader, or an error for the user.
  const Result<ShaderCode>& of(uint32_t shader);

  // The block whose executions are the shader's invocations; kNone if unknown.
  uint32_t entry_block(uint32_t shader);

 private:
  const Model& model_;
  const Compiler compiler_;
  std::vector<std::unique_ptr<Result<ShaderCode>>> codes_;  // by shader
};

// Shader variants, as tables distinguish them. A shader has one variant. Captures before format 7
// have one shader for all pipelines that specialize it; there it has one variant for each
// specialization.
//
// Invariant: the first variants are the shaders in model order; they stand for all pipelines whose
// specialization is not distinguished. The others follow.

struct Variant {
  uint32_t shader;
  uint32_t pipeline;  // one pipeline with this specialization; kNone: any pipeline
};

// Executions of commands, and those that ran a shader in question without counting it.
struct Runs {
  uint64_t commands = 0;
  uint64_t uncounted = 0;
};

// "3 of 10 commands ran a shader that was not counted". Empty if all were.
std::string uncounted_text(const Runs& runs);

class Variants {
 public:
  Variants(const Model& model, ShaderCodes& codes);

  size_t size() const { return variants_.size(); }
  const Variant& operator[](size_t variant) const { return variants_[variant]; }
  // The variant of a shader that this pipeline uses.
  uint32_t of(uint32_t pipeline, uint32_t shader) const;
  bool is_split(uint32_t shader) const { return is_split_[shader]; }
  // True if it is selected, in one of its pipelines.
  bool is_selected(const Model& model, uint32_t variant) const;
  // The runs of the variant, and those of all selected shaders. Where some are uncounted, values do
  // not cover the whole, and there is no share of it.
  const Runs& runs(size_t variant) const { return runs_[variant]; }
  const Runs& selected_runs() const { return selected_runs_; }

 private:
  void add_runs(const Model& model);
  void split_all(const Model& model, ShaderCodes& codes);
  void split(const Model& model, const std::vector<uint32_t>& alike, uint32_t shader);

  std::vector<Variant> variants_;
  std::vector<Runs> runs_;  // by variant
  Runs selected_runs_;
  std::vector<bool> is_split_;                            // by shader
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> of_;  // split shaders, by pipeline and shader
};

// The name of the pipeline with the variant's specialization; empty if the shader has only one
// variant.
std::string variant_text(const Model& model, const Variant& variant);

}  // namespace tally::analysis
