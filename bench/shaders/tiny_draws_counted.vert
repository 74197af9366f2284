// The cell is the draw's number, so nothing else has to name the record.
#version 460
#extension GL_GOOGLE_include_directive : require
#define RECORD cell
#include "tiny_draws_counted.glsl"
