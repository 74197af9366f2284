// The driver's own functions that our collectors call in the application's context. They never pass
// through our stubs, so nothing that Tally does is counted.
#pragma once

#include <functional>
#include <string_view>

#include "egl/gl/functions.h"
#include "egl/gl/headers.h"

namespace tally::egl {

// X(function): looked for under this name and, where the driver has it only there, with EXT or ARB
// behind it.
// clang-format off
#define TALLY_RAW_GL(X)                                                                         \
  X(glGetError) X(glGetString) X(glGetStringi) X(glGetIntegerv) X(glFinish) X(glBindBuffer)     \
  X(glGenQueries) X(glDeleteQueries) X(glBeginQuery) X(glEndQuery) X(glQueryCounter)            \
  X(glGetQueryiv) X(glGetQueryObjectuiv) X(glGetQueryObjectui64v)                               \
  X(glGetProgramiv) X(glGetProgramPipelineiv)                                                   \
  X(glGetPerfMonitorGroupsAMD) X(glGetPerfMonitorCountersAMD) X(glGetPerfMonitorGroupStringAMD) \
  X(glGetPerfMonitorCounterStringAMD) X(glGetPerfMonitorCounterInfoAMD) X(glGenPerfMonitorsAMD) \
  X(glDeletePerfMonitorsAMD) X(glSelectPerfMonitorCountersAMD) X(glBeginPerfMonitorAMD)         \
  X(glEndPerfMonitorAMD) X(glGetPerfMonitorCounterDataAMD)                                      \
  X(glGetFirstPerfQueryIdINTEL) X(glGetNextPerfQueryIdINTEL) X(glGetPerfQueryInfoINTEL)         \
  X(glGetPerfCounterInfoINTEL) X(glCreatePerfQueryINTEL) X(glDeletePerfQueryINTEL)              \
  X(glBeginPerfQueryINTEL) X(glEndPerfQueryINTEL) X(glGetPerfQueryDataINTEL)
// clang-format on

// Members are null where the driver has no such function under any name; one that is there may
// still fail in a context that does not offer it.
struct RawGl {
#define X(function) decltype(&::function) function = nullptr;
  TALLY_RAW_GL(X)
#undef X

  static RawGl load(const std::function<AnyFunction(const char*)>& resolve);
};

// Whether the current context lists this extension of GL. A driver may crash in functions of one
// that it does not list.
bool has_gl_extension(const RawGl& gl, std::string_view name);

}  // namespace tally::egl
