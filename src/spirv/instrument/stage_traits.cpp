#include "spirv/instrument/stage_traits.h"

#include <algorithm>

#include "catalogue/stages.h"

namespace tally::spirv {
namespace {

using spv::BuiltIn;
using spv::ExecutionModel;

constexpr ShardTerm kVertexTerms[] = {{BuiltIn::VertexIndex, 1, 0, 5, 1},
                                      {BuiltIn::InstanceIndex, 1, 0, 0, 1}};
constexpr ShardTerm kPrimitiveTerms[] = {{BuiltIn::PrimitiveId, 1, 0, 2, 1}};
// Unlike SampleId, FragCoord does not cause sample shading. Its other components would take
// registers.
constexpr ShardTerm kFragmentTerms[] = {{BuiltIn::FragCoord, 4, 0, 3, 1}};
// Uniform in a workgroup, so that a scalar unit can compute it.
constexpr ShardTerm kWorkgroupTerms[] = {{BuiltIn::WorkgroupId, 3, 0, 0, 1},
                                         {BuiltIn::WorkgroupId, 3, 1, 0, 1},
                                         {BuiltIn::WorkgroupId, 3, 2, 0, 1}};
// NVIDIA's driver computes the other components with divisions.
constexpr ShardTerm kMeshTerms[] = {{BuiltIn::WorkgroupId, 3, 0, 0, 1}};
constexpr ShardTerm kLaunchTerms[] = {{BuiltIn::LaunchIdKHR, 3, 0, 3, 1},
                                      {BuiltIn::LaunchIdKHR, 3, 1, 2, 7}};

constexpr StageTraits kStages[] = {
    {ExecutionModel::Vertex, false, false, kVertexTerms},
    {ExecutionModel::TessellationControl, false, false, kPrimitiveTerms},
    {ExecutionModel::TessellationEvaluation, false, false, kPrimitiveTerms},
    {ExecutionModel::Geometry, false, false, kPrimitiveTerms},
    {ExecutionModel::Fragment, true, true, kFragmentTerms},
    {ExecutionModel::GLCompute, false, true, kWorkgroupTerms},
    {ExecutionModel::TaskEXT, false, true, kMeshTerms},
    {ExecutionModel::MeshEXT, false, true, kMeshTerms, false, true},
    {ExecutionModel::RayGenerationKHR, false, true, kLaunchTerms, true},
    {ExecutionModel::IntersectionKHR, false, true, kLaunchTerms, true},
    {ExecutionModel::AnyHitKHR, false, true, kLaunchTerms, true},
    {ExecutionModel::ClosestHitKHR, false, true, kLaunchTerms, true},
    {ExecutionModel::MissKHR, false, true, kLaunchTerms, true},
    {ExecutionModel::CallableKHR, false, true, kLaunchTerms, true},
};

}  // namespace

const char* stage_name(ExecutionModel model) {
  const catalogue::Stage* stage = catalogue::find_stage_of_model(static_cast<uint32_t>(model));
  return stage == nullptr ? "unknown" : stage->name;
}

const StageTraits* find_stage(ExecutionModel model) {
  const auto stage = std::ranges::find(kStages, model, &StageTraits::model);
  return stage == std::end(kStages) ? nullptr : stage;
}

}  // namespace tally::spirv
