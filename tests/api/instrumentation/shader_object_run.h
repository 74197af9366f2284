// Runs a program of shader_object_scene.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "api/instrumentation/shader_object_scene.h"
#include "support/context.h"

namespace tally::test {

struct ObjectOutcome {
  std::vector<std::byte> color, depth;
  std::vector<uint32_t> sums;  // what shaders added to memory
  std::vector<uint64_t> samples;
  std::vector<std::array<uint64_t, 11>> statistics;
  std::map<VkShaderStageFlags, uint64_t> invocations;  // that the ranges counted
};

struct ObjectRun {
  bool ranges = false;  // with the ranges and flags of VK_ARM_shader_instrumentation
  // Binds the shaders of each action again before it, and pushes the same constants again.
  bool repeats = true;
};

ObjectOutcome run_object_scene(Context& context, const ObjectScene& scene, const ObjectRun& run);

}  // namespace tally::test
