#include "spirv/instrument/context.h"

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

using spv::Op;

PhysicalMemory::PhysicalMemory(PassContext& context)
    : editor_(context.editor),
      scope_(editor_.constant_u32(
          word(context.vulkan_memory_model ? spv::Scope::QueueFamily : spv::Scope::Device))),
      use_int64_(context.use_int64),
      relaxed_(editor_.constant_u32(word(spv::MemorySemanticsMask::MaskNone))) {}

uint32_t PhysicalMemory::add(InstructionBuilder& code, uint32_t type, uint32_t pointer,
                             uint32_t value) const {
  return code.emit(Op::OpAtomicIAdd, type, {pointer, scope_, relaxed_, value});
}

uint32_t PhysicalMemory::advance_64(InstructionBuilder& code, uint32_t address,
                                    uint32_t bytes) const {
  const uint32_t u64 = editor_.type_int(64);
  const uint32_t from = code.emit(Op::OpBitcast, u64, {address});
  const uint32_t distance = code.emit(Op::OpUConvert, u64, {bytes});
  const uint32_t sum = code.emit(Op::OpIAdd, u64, {from, distance});
  return code.emit(Op::OpBitcast, editor_.type_vector(editor_.type_int(32), 2), {sum});
}

uint32_t PhysicalMemory::advance(InstructionBuilder& code, uint32_t address, uint32_t bytes) const {
  const uint32_t u32 = editor_.type_int(32);
  if (use_int64_) return advance_64(code, address, bytes);
  const uint32_t low = code.emit(Op::OpCompositeExtract, u32, {address, 0});
  const uint32_t high = code.emit(Op::OpCompositeExtract, u32, {address, 1});
  const uint32_t sum = code.emit(Op::OpIAdd, u32, {low, bytes});
  const uint32_t overflows = code.emit(Op::OpULessThan, editor_.type_bool(), {sum, low});
  const uint32_t carry =
      code.emit(Op::OpSelect, u32, {overflows, editor_.constant_u32(1), editor_.constant_u32(0)});
  const uint32_t sum_high = code.emit(Op::OpIAdd, u32, {high, carry});
  return code.emit(Op::OpCompositeConstruct, editor_.type_vector(u32, 2), {sum, sum_high});
}

}  // namespace tally::spirv
