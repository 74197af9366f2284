// Random programs with shader objects. They bind stages together and one by one, before and after
// state and queries, link and separate, and unbind them. A seed gives the same program on each
// device.
#pragma once

#include <vulkan/vulkan_core.h>

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "support/stages.h"

namespace tally::test {

inline constexpr std::array kGraphicsStages = {kVertex,   kControl, kEvaluation, kGeometry,
                                               kFragment, kTask,    kMesh};
inline constexpr int kNoShader = -1;

// kMode of shaders/object.glsl: a fragment shader with one of these may discard.
inline constexpr uint32_t kWritesMemory = 1, kUnevenNumbers = 4;

struct SceneShader {
  VkShaderStageFlagBits stage;
  uint32_t variant;   // of the stage's code
  uint32_t mode;      // kMode of the code
  int group;          // of the shaders that it is linked with; kNoShader: none
  bool instrumented;  // has the flag of VK_ARM_shader_instrumentation
  bool binary;        // is created from a binary
};

struct SceneStep {
  enum Kind : uint8_t {
    Bind,
    Push,
    Draw,
    DrawIndexed,
    DrawIndirect,
    DrawMeshTasks,
    Dispatch,
    SetState,
    EndPass,
    BeginRange,
    EndRange,
    Occlusion,   // begins or ends a query
    Statistics,  // the same
    Timestamp,
    Secondary  // the next `values[0]` steps are recorded in a secondary command buffer
  };
  Kind kind;
  std::array<uint32_t, 5> values{};
  std::vector<std::pair<VkShaderStageFlagBits, int>> binds;  // the shaders' indices, or kNoShader
};

struct ObjectScene {
  std::vector<SceneShader> shaders;
  std::vector<SceneStep> steps;
  VkExtent2D extent;
  bool discards;  // fragment shaders may discard, and draws may use alpha to coverage
  bool whole;     // one range for all commands, and all shaders have the flag
};

// The first value of SetState is below.
inline constexpr uint32_t kSceneStates = 16, kDepthTest = 4, kDepthWrite = 5, kDepthCompare = 6,
                          kAlphaToCoverage = 9;

ObjectScene make_object_scene(uint64_t seed, bool mesh_shaders);

}  // namespace tally::test
