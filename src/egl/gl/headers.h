// Declarations of all GL functions, desktop and ES, from which signatures are deduced. Only the few
// files that build function tables include this; calls go through GlTable or RawGl, never through
// these symbols.
#pragma once

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
