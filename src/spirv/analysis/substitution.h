// Shaders that take the place of others in a pipeline.
#pragma once

#include <cstdint>
#include <string>

#include "spirv/ir/module.h"

namespace tally::spirv {

struct EntryPointOf {
  const Module& module;
  const EntryPoint& entry;
};

// Why `replacement` cannot take the place of `original`; empty if it can. Only variables that the
// functions use are compared. The replacement must not read an input, a descriptor or a push
// constant that the original does not use. It must write the same outputs, declare the same
// specialization constants, and have the same execution modes and workgroup size. It must need no
// capability and no extension that the original does not declare, and no version above the
// original's and `max_version`. Built-in variables may differ.
//
// Sound for every module that parse() accepts; meant for those that SPIRV-Tools accepts.
std::string why_not_interchangeable(const EntryPointOf& original, const EntryPointOf& replacement,
                                    uint32_t max_version);

}  // namespace tally::spirv
