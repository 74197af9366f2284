// The code of captured shaders, as their pipelines specialize it, parsed and mapped to blocks on
// first use and then cached.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "analysis/model/model.h"
#include "spirv/analysis/block_map.h"
#include "spirv/ir/module.h"

namespace tally::analysis {

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
  explicit ShaderCodes(const Model& model);

  // The code of a shader, or an error for the user.
  const Result<ShaderCode>& of(uint32_t shader);

  // The block whose executions are the shader's invocations; kNone if unknown.
  uint32_t entry_block(uint32_t shader);

 private:
  const Model& model_;
  std::vector<std::unique_ptr<Result<ShaderCode>>> codes_;  // by shader
};

}  // namespace tally::analysis
