// The pipeline that stands for shader objects which are bound together.
#pragma once

#include <vulkan/vulkan_core.h>

#include <memory>

#include "counters/objects/shader_set.h"

namespace tally::counters {

struct ObjectState;

// It is made when they are first bound together. Null if none of the shaders is known.
std::shared_ptr<Pipeline> pipeline_of(ObjectState& state, const BoundShaders& bound);

}  // namespace tally::counters
