// The parts that a pipeline must provide for an entry point of any module, derived from its
// declarations.
#pragma once

#include <vulkan/vulkan.h>

#include <map>
#include <string_view>
#include <vector>

#include "spirv/ir/module.h"

namespace tally::test {

// A user-defined input or output of a stage: one location, or several for a matrix or an array.
struct Varying {
  enum class Number { Float, Int, Uint };
  uint32_t location;
  Number number;
  uint32_t components;  // per location
  uint32_t locations;
};

struct ShaderInterface {
  // Keyed by set and binding: all of the module's, whether or not the entry point uses them.
  std::map<uint32_t, std::map<uint32_t, VkDescriptorSetLayoutBinding>> sets;
  std::vector<Varying> inputs, outputs;
  bool needs_render_pass = false;  // the shader reads input attachments
};

ShaderInterface interface_of(const spirv::Module& module, const spirv::EntryPoint& entry);

// A vertex shader that writes all of `varyings` with values unknown to the compiler, and a fragment
// shader that reads them all, as SPIR-V 1.0 words.
std::vector<uint32_t> vertex_shader_for(const std::vector<Varying>& varyings);
std::vector<uint32_t> fragment_shader_for(const std::vector<Varying>& varyings);

}  // namespace tally::test
