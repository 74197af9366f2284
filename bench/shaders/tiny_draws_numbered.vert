// The first instance is the draw's number.
#version 460
#extension GL_GOOGLE_include_directive : require
#define RECORD gl_InstanceIndex
#include "tiny_draws_counted.glsl"
