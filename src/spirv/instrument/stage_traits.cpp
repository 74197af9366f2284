#include "spirv/instrument/stage_traits.h"

#include <algorithm>

namespace tally::spirv {
namespace {

using spv::BuiltIn;
using spv::ExecutionModel;

constexpr ShardTerm kVertexTerms[] = {{BuiltIn::VertexIndex, 1, 0, 5, 1},
                                      {BuiltIn::InstanceIndex, 1, 0, 0, 1}};
constexpr ShardTerm kPrimitiveTerms[] = {{BuiltIn::PrimitiveId, 1, 0, 2, 1}};
// Reading gl_FragCoord does not make the shader run for every sample.
constexpr ShardTerm kFragmentTerms[] = {{BuiltIn::FragCoord, 4, 0, 3, 1},
                                        {BuiltIn::FragCoord, 4, 1, 3, 5}};
// The same for all invocations of a workgroup: a processor then finds the shard but once.
constexpr ShardTerm kWorkgroupTerms[] = {{BuiltIn::WorkgroupId, 3, 0, 0, 1},
                                         {BuiltIn::WorkgroupId, 3, 1, 0, 1},
                                         {BuiltIn::WorkgroupId, 3, 2, 0, 1}};
constexpr ShardTerm kLaunchTerms[] = {{BuiltIn::LaunchIdKHR, 3, 0, 3, 1},
                                      {BuiltIn::LaunchIdKHR, 3, 1, 2, 7}};

constexpr StageTraits kStages[] = {
    {ExecutionModel::Vertex, "vertex", false, false, kVertexTerms},
    {ExecutionModel::TessellationControl, "tessellation control", false, false, kPrimitiveTerms},
    {ExecutionModel::TessellationEvaluation, "tessellation evaluation", false, false,
     kPrimitiveTerms},
    {ExecutionModel::Geometry, "geometry", false, false, kPrimitiveTerms},
    {ExecutionModel::Fragment, "fragment", true, true, kFragmentTerms},
    {ExecutionModel::GLCompute, "compute", false, true, kWorkgroupTerms},
    {ExecutionModel::TaskEXT, "task", false, true, kWorkgroupTerms},
    {ExecutionModel::MeshEXT, "mesh", false, true, kWorkgroupTerms},
    {ExecutionModel::RayGenerationKHR, "ray generation", false, true, kLaunchTerms},
    {ExecutionModel::IntersectionKHR, "intersection", false, true, kLaunchTerms},
    {ExecutionModel::AnyHitKHR, "any hit", false, true, kLaunchTerms},
    {ExecutionModel::ClosestHitKHR, "closest hit", false, true, kLaunchTerms},
    {ExecutionModel::MissKHR, "miss", false, true, kLaunchTerms},
    {ExecutionModel::CallableKHR, "callable", false, true, kLaunchTerms},
};

}  // namespace

const StageTraits* find_stage(ExecutionModel model) {
  const auto stage = std::ranges::find(kStages, model, &StageTraits::model);
  return stage == std::end(kStages) ? nullptr : stage;
}

}  // namespace tally::spirv
