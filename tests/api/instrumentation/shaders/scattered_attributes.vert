#version 450
#extension GL_GOOGLE_include_directive : require
#include "scattered.glsl"
layout(location = 0) in uint vertex;
layout(location = 1) in uint instance;

void main() {
  gl_Position = place(vertex, instance);
  gl_PointSize = 2.0;
}
