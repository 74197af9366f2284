#include "store/format/definition_rows.h"

namespace tally::store {
namespace {

using enum CallKind;

constexpr FunctionInfo kFunctions[] = {
    {Draw, "vkCmdDraw", {"vertexCount", "instanceCount", "firstVertex", "firstInstance"}},
    {Draw,
     "vkCmdDrawIndexed",
     {"indexCount", "instanceCount", "firstIndex", "vertexOffset", "firstInstance"}},
    {Draw, "vkCmdDrawIndirect", {"offset", "drawCount", "stride"}},
    {Draw, "vkCmdDrawIndexedIndirect", {"offset", "drawCount", "stride"}},
    {Draw, "vkCmdDrawIndirectCount", {"offset", "countBufferOffset", "maxDrawCount", "stride"}},
    {Draw,
     "vkCmdDrawIndexedIndirectCount",
     {"offset", "countBufferOffset", "maxDrawCount", "stride"}},
    {Draw,
     "vkCmdDrawIndirectByteCountEXT",
     {"instanceCount", "firstInstance", "counterBufferOffset", "counterOffset", "vertexStride"}},
    {Draw, "vkCmdDrawMultiEXT", {"drawCount", "instanceCount", "firstInstance"}},
    {Draw, "vkCmdDrawMultiIndexedEXT", {"drawCount", "instanceCount", "firstInstance"}},
    {Draw, "vkCmdDrawMeshTasksEXT", {"groupCountX", "groupCountY", "groupCountZ"}},
    {Draw, "vkCmdDrawMeshTasksIndirectEXT", {"offset", "drawCount", "stride"}},
    {Draw,
     "vkCmdDrawMeshTasksIndirectCountEXT",
     {"offset", "countBufferOffset", "maxDrawCount", "stride"}},
    {Draw, "vkCmdDrawMeshTasksNV", {"taskCount", "firstTask"}},
    {Draw, "vkCmdDrawMeshTasksIndirectNV", {"offset", "drawCount", "stride"}},
    {Draw,
     "vkCmdDrawMeshTasksIndirectCountNV",
     {"offset", "countBufferOffset", "maxDrawCount", "stride"}},
    {Dispatch, "vkCmdDispatch", {"groupCountX", "groupCountY", "groupCountZ"}},
    {Dispatch,
     "vkCmdDispatchBase",
     {"groupCountX", "groupCountY", "groupCountZ", "baseGroupX", "baseGroupY", "baseGroupZ"}},
    {Dispatch, "vkCmdDispatchIndirect", {"offset"}},
    {TraceRays, "vkCmdTraceRaysKHR", {"width", "height", "depth"}},
    {TraceRays, "vkCmdTraceRaysIndirectKHR", {}},
    {TraceRays, "vkCmdTraceRaysIndirect2KHR", {}},
    {TraceRays, "vkCmdTraceRaysNV", {"width", "height", "depth"}},
    {Generated, "vkCmdExecuteGeneratedCommandsEXT", {"isPreprocessed"}},
    {Draw, "vkCmdDrawIndirect2KHR", {"drawCount", "stride"}},
    {Draw, "vkCmdDrawIndexedIndirect2KHR", {"drawCount", "stride"}},
    {Draw, "vkCmdDrawIndirectCount2KHR", {"maxDrawCount", "stride"}},
    {Draw, "vkCmdDrawIndexedIndirectCount2KHR", {"maxDrawCount", "stride"}},
    {Draw,
     "vkCmdDrawIndirectByteCount2EXT",
     {"instanceCount", "firstInstance", "counterOffset", "vertexStride"}},
    {Draw, "vkCmdDrawMeshTasksIndirect2EXT", {"drawCount", "stride"}},
    {Draw, "vkCmdDrawMeshTasksIndirectCount2EXT", {"maxDrawCount", "stride"}},
    {Dispatch, "vkCmdDispatchIndirect2KHR", {}},
};
static_assert(std::size(kFunctions) == kFunctionCount);

}  // namespace

const FunctionInfo& function_info(Function function) {
  return kFunctions[static_cast<size_t>(function)];
}

size_t parameter_count(Function function) {
  size_t count = 0;
  for (const char* name : function_info(function).parameters) count += name != nullptr ? 1 : 0;
  return count;
}

}  // namespace tally::store
