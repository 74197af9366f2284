// The driver's functions that our collectors call in the application's context. They bypass our
// stubs, so Tally's own calls are not counted.
#pragma once

// The declarations of all GL functions, desktop and ES, from which signatures are deduced. Calls go
// through GlTable or RawGl, never through these symbols.
#define GL_GLEXT_PROTOTYPES 1
// The order matters: each header needs the previous one.
// clang-format off
#include <GL/gl.h>
#include <GL/glext.h>
#include <GLES/gl.h>
#include <GLES/glext.h>
#include <GLES3/gl32.h>
#include <GLES2/gl2ext.h>
// clang-format on

#include <functional>
#include <string_view>

#include "egl/gl/hot.h"

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

// True if the space-separated `list` contains `word`.
bool has_word(std::string_view list, std::string_view word);

// True if the current context lists this GL extension. A driver may crash in functions of an
// extension that it does not list.
bool has_gl_extension(const RawGl& gl, std::string_view name);

}  // namespace tally::egl
