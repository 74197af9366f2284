// The driver's functions that our collectors call in the application's context. They bypass our
// stubs, so Tally's own calls are not counted.
#pragma once

#include <functional>
#include <string_view>

#include "egl/gl/functions.h"
#include "egl/gl/headers.h"

namespace tally::egl {

// X(function): looked up under this name, then with the suffixes EXT and ARB.
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

// A member is null if the driver lacks the function under every name. A function that exists may
// still fail in a context that does not support it.
struct RawGl {
#define X(function) decltype(&::function) function = nullptr;
  TALLY_RAW_GL(X)
#undef X

  static RawGl load(const std::function<AnyFunction(const char*)>& resolve);
};

// True if the current context lists this GL extension. A driver may crash in functions of an
// extension that it does not list.
bool has_gl_extension(const RawGl& gl, std::string_view name);

}  // namespace tally::egl
