// Divides patches by their distance from the eye; those behind it are dropped.
#version 450
layout(vertices = 4) out;
layout(push_constant) uniform Push { float time; int columns; float detail; };

float level(vec4 a, vec4 b) {
  const vec2 middle = (a.xy + b.xy) * 0.5;
  const float away = distance(middle, vec2(sin(time), -0.8));
  return clamp(detail / (0.2 + away), 1.0, 32.0);
}

bool is_hidden() {
  for (int i = 0; i < 4; ++i) {
    if (gl_in[i].gl_Position.y > -0.95) return false;
  }
  return true;
}

void main() {
  gl_out[gl_InvocationID].gl_Position = gl_in[gl_InvocationID].gl_Position;
  if (gl_InvocationID != 0) return;
  if (is_hidden()) {
    for (int i = 0; i < 4; ++i) gl_TessLevelOuter[i] = 0.0;
    return;
  }
  for (int i = 0; i < 4; ++i) {
    const int pairs[8] = int[](2, 0, 0, 1, 1, 3, 3, 2);
    gl_TessLevelOuter[i] = level(gl_in[pairs[2 * i]].gl_Position, gl_in[pairs[2 * i + 1]].gl_Position);
  }
  gl_TessLevelInner[0] = max(gl_TessLevelOuter[1], gl_TessLevelOuter[3]);
  gl_TessLevelInner[1] = max(gl_TessLevelOuter[0], gl_TessLevelOuter[2]);
}
