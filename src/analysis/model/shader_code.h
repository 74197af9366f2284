// The code of captured shaders: parsed, with its block map, made when first asked for and kept.
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
  uint32_t entry_block =
      kNone;  // first block of the entry point: its executions are the shader's invocations

  // Whether the function that the block belongs to can be counted (spirv::MappedFunction).
  bool is_countable(size_t block) const;
};

class ShaderCodes {
 public:
  explicit ShaderCodes(const Model& model);

  // The reason why there is none is for the user.
  const Result<ShaderCode>& of(uint32_t shader);

  // The block whose executions are the shader's invocations; kNone where it is not known.
  uint32_t entry_block(uint32_t shader);

 private:
  const Model& model_;
  std::vector<std::unique_ptr<Result<ShaderCode>>> codes_;  // by shader
};

}  // namespace tally::analysis
