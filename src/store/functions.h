// The action commands of Vulkan that a capture knows: how they are called, what they are, and the
// names of the parameters that are kept. The numbers travel in the stream: new functions go to the
// end.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "store/rows.h"

namespace tally::store {

enum class Function : uint8_t {
  Draw,
  DrawIndexed,
  DrawIndirect,
  DrawIndexedIndirect,
  DrawIndirectCount,
  DrawIndexedIndirectCount,
  DrawIndirectByteCount,
  DrawMulti,
  DrawMultiIndexed,
  DrawMeshTasks,
  DrawMeshTasksIndirect,
  DrawMeshTasksIndirectCount,
  DrawMeshTasksNv,
  DrawMeshTasksIndirectNv,
  DrawMeshTasksIndirectCountNv,
  Dispatch,
  DispatchBase,
  DispatchIndirect,
  TraceRays,
  TraceRaysIndirect,
  TraceRaysIndirect2,
  TraceRaysNv,
  ExecuteGeneratedCommands,
};

inline constexpr size_t kFunctionCount = 23;
inline constexpr size_t kMaxParameters = 6;

struct FunctionInfo {
  CallKind kind;
  const char* name;  // "vkCmdDraw"
  std::array<const char*, kMaxParameters>
      parameters;  // as the specification calls them; null after the last
};

const FunctionInfo& function_info(Function function);
size_t parameter_count(Function function);

}  // namespace tally::store
