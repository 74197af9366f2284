#version 450
// A rectangle in pixels as a strip of four vertices, the same for each instance. Its corners are on pixel corners.
layout(push_constant) uniform Push {
  vec4 rectangle;  // left, top, right, bottom
  vec2 target;     // size of the target
  float depth;
};

void main() {
  const vec2 at = mix(rectangle.xy, rectangle.zw, vec2(gl_VertexIndex & 1, gl_VertexIndex >> 1));
  gl_Position = vec4(at / target * 2.0 - 1.0, depth, 1.0);
}
