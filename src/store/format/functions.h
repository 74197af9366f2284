// The Vulkan action commands that a capture can record: their names, kinds, and the names of the
// recorded parameters. The stream holds the enumerators' numbers: append new functions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "store/format/definition_rows.h"

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
  DrawIndirect2,
  DrawIndexedIndirect2,
  DrawIndirectCount2,
  DrawIndexedIndirectCount2,
  DrawIndirectByteCount2,
  DrawMeshTasksIndirect2,
  DrawMeshTasksIndirectCount2,
  DispatchIndirect2,
};

inline constexpr size_t kFunctionCount = 31;
inline constexpr size_t kMaxParameters = 6;

struct FunctionInfo {
  CallKind kind;
  const char* name;  // "vkCmdDraw"
  std::array<const char*, kMaxParameters>
      parameters;  // names of the specification; null after the last
};

const FunctionInfo& function_info(Function function);
size_t parameter_count(Function function);

}  // namespace tally::store
