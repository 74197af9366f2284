// The variants of shader objects: made when a recording first wants them, or all at once where the
// layer cannot keep what they are made of.
//
// Linked shaders have variants that are linked too, made in one call, with the stages that count
// nothing created again: the driver may bind linked shaders only together.
#pragma once

#include <vulkan/vulkan_core.h>

#include <tally/vulkan_newer.h>

#include <memory>
#include <optional>
#include <vector>

#include "counters/objects/set_layout.h"
#include "counters/objects/shader_object.h"

namespace tally::counters {

struct ObjectState;

// A shader object whose variants are wanted.
struct NewShader {
  VkShaderCreateInfoEXT info{};  // without the layer's flag, with the layer's constants and sets
  std::optional<KeptSetLayouts> sets;  // of the application; nothing if one cannot be kept
  std::shared_ptr<ShaderObject> shader;
};

// Call while the shaders are created: of one shader, or of all that are linked. Makes the variant
// of shaders with the flag, whose creation says what runs uninstrumented.
void set_up_variants(ObjectState& state, std::vector<NewShader> shaders);

}  // namespace tally::counters
