// Creation of shader objects: the application's own, as it asked for them. Their variants:
// shader_object_variants.h. A failure of a variant costs the counts, not the shader.
#pragma once

#include <tally/vulkan_newer.h>
#include <vulkan/vulkan_core.h>

#include <span>

#include "counters/memory/word_pool.h"

namespace tally::counters {

struct ObjectState;

VkResult create_shader_objects(ObjectState& state, WordPool& words,
                               std::span<const VkShaderCreateInfoEXT> infos,
                               const VkAllocationCallbacks* allocator, VkShaderEXT* shaders);

void destroy_shader_object(ObjectState& state, VkShaderEXT shader,
                           const VkAllocationCallbacks* allocator);

// Remembers what a binary was made of that the application received.
void note_shader_binary(ObjectState& state, VkShaderEXT shader, std::span<const std::byte> binary);

}  // namespace tally::counters
