#version 450
// Each instance covers the whole viewport: from depth 0.1 to the back where `level` is 0, otherwise from
// depth 0.4 to the front.
layout(push_constant) uniform Push { float level; };

void main() {
  const vec2 corner = vec2(gl_VertexIndex & 1, gl_VertexIndex >> 1) * 4.0 - 1.0;
  const float step = 0.1 * float(gl_InstanceIndex);
  gl_Position = vec4(corner, level == 0.0 ? 0.1 + step : 0.4 - step, 1.0);
}
