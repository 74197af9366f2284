#version 450
#extension GL_GOOGLE_include_directive : require
#include "scattered.glsl"
out gl_PerVertex {
  vec4 gl_Position;
  float gl_PointSize;
  float gl_ClipDistance[1];
  float gl_CullDistance[1];
};

void main() {
  const vec4 position = place(gl_VertexIndex, gl_InstanceIndex);
  gl_Position = position;
  gl_PointSize = 1.0;
  gl_ClipDistance[0] = position.x + 0.5;
  gl_CullDistance[0] = position.y + 0.5;
}
