#include "support/stages.h"

#include <stdexcept>

namespace tally::test {

spv::ExecutionModel execution_model(VkShaderStageFlagBits stage) {
  switch (stage) {
    case VK_SHADER_STAGE_VERTEX_BIT:
      return spv::ExecutionModel::Vertex;
    case VK_SHADER_STAGE_TESSELLATION_CONTROL_BIT:
      return spv::ExecutionModel::TessellationControl;
    case VK_SHADER_STAGE_TESSELLATION_EVALUATION_BIT:
      return spv::ExecutionModel::TessellationEvaluation;
    case VK_SHADER_STAGE_GEOMETRY_BIT:
      return spv::ExecutionModel::Geometry;
    case VK_SHADER_STAGE_FRAGMENT_BIT:
      return spv::ExecutionModel::Fragment;
    case VK_SHADER_STAGE_COMPUTE_BIT:
      return spv::ExecutionModel::GLCompute;
    case VK_SHADER_STAGE_TASK_BIT_EXT:
      return spv::ExecutionModel::TaskEXT;
    case VK_SHADER_STAGE_MESH_BIT_EXT:
      return spv::ExecutionModel::MeshEXT;
    case VK_SHADER_STAGE_RAYGEN_BIT_KHR:
      return spv::ExecutionModel::RayGenerationKHR;
    case VK_SHADER_STAGE_ANY_HIT_BIT_KHR:
      return spv::ExecutionModel::AnyHitKHR;
    case VK_SHADER_STAGE_CLOSEST_HIT_BIT_KHR:
      return spv::ExecutionModel::ClosestHitKHR;
    case VK_SHADER_STAGE_MISS_BIT_KHR:
      return spv::ExecutionModel::MissKHR;
    case VK_SHADER_STAGE_INTERSECTION_BIT_KHR:
      return spv::ExecutionModel::IntersectionKHR;
    case VK_SHADER_STAGE_CALLABLE_BIT_KHR:
      return spv::ExecutionModel::CallableKHR;
    default:
      throw std::invalid_argument("no execution model for this stage");
  }
}

}  // namespace tally::test
