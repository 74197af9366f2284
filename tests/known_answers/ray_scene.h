// A scene whose rays are known: 64 rays look along +z at four quarters of 4 x 4 pixels: at nothing
// (top left), at an opaque rectangle (top right), at one with an any-hit shader (bottom left), at a
// box (bottom right). The pipeline has all six stages.
#pragma once

#include <vector>

#include "box.rahit.h"
#include "box.rchit.h"
#include "box.rint.h"
#include "even.rcall.h"
#include "leaf.rahit.h"
#include "lit.rmiss.h"
#include "odd.rcall.h"
#include "rays.rgen.h"
#include "sky.rmiss.h"
#include "support/ray_tracing.h"
#include "surface.rchit.h"

namespace tally::test {

inline constexpr uint32_t kSide = 8;
inline constexpr Rectangle kRectangles[] = {{4, 0, 8, 4, 1, true}, {0, 4, 4, 8, 2, false}};
inline constexpr VkAabbPositionsKHR kBox = {4, 4, 3, 8, 8, 4};

// Indices into the pipeline's stages.
enum StageIndex : uint32_t {
  kRays,
  kSky,
  kLit,
  kSurface,
  kLeaf,
  kBoxHit,
  kBoxIntersection,
  kBoxAnyHit,
  kEven,
  kOdd,
  kStages
};
inline const std::vector<Stage> kAllStages = {{VK_SHADER_STAGE_RAYGEN_BIT_KHR, rays_rgen},
                                              {VK_SHADER_STAGE_MISS_BIT_KHR, sky_rmiss},
                                              {VK_SHADER_STAGE_MISS_BIT_KHR, lit_rmiss},
                                              {VK_SHADER_STAGE_CLOSEST_HIT_BIT_KHR, surface_rchit},
                                              {VK_SHADER_STAGE_ANY_HIT_BIT_KHR, leaf_rahit},
                                              {VK_SHADER_STAGE_CLOSEST_HIT_BIT_KHR, box_rchit},
                                              {VK_SHADER_STAGE_INTERSECTION_BIT_KHR, box_rint},
                                              {VK_SHADER_STAGE_ANY_HIT_BIT_KHR, box_rahit},
                                              {VK_SHADER_STAGE_CALLABLE_BIT_KHR, even_rcall},
                                              {VK_SHADER_STAGE_CALLABLE_BIT_KHR, odd_rcall}};
// Two hit groups share the closest-hit shader.
inline const std::vector<RayGroup> kAllGroups = {
    {.general = kRays},
    {.general = kSky},
    {.general = kLit},
    {.closest_hit = kSurface},
    {.closest_hit = kSurface, .any_hit = kLeaf},
    {.closest_hit = kBoxHit, .any_hit = kBoxAnyHit, .intersection = kBoxIntersection},
    {.general = kEven},
    {.general = kOdd}};
inline const BindingTable::Parts kParts = {0, {1, 2}, {3, 4, 5}, {6, 7}};

}  // namespace tally::test
