// Every GL function's declaration, desktop and ES, for deducing signatures. Included by the few
// files that make tables of them; calls go through GlTable or RawGl, never to these symbols.
#pragma once

#define GL_GLEXT_PROTOTYPES 1
// Each needs the one before.
// clang-format off
#include <GL/gl.h>
#include <GL/glext.h>
#include <GLES/gl.h>
#include <GLES/glext.h>
#include <GLES3/gl32.h>
#include <GLES2/gl2ext.h>
// clang-format on
