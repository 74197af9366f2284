// Streaming: each invocation reads 8 bytes, writes 4 and does almost no arithmetic; the usual bounds check and one
// data-dependent branch.
#version 450
layout(local_size_x = 256) in;
layout(set = 0, binding = 0) writeonly buffer Result { float result[]; };
layout(set = 0, binding = 1) readonly buffer A { float a[]; };
layout(set = 0, binding = 2) readonly buffer B { float b[]; };
layout(push_constant) uniform Push { uint count; float scale; };

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i >= count) return;
  float sum = a[i] * scale + b[i];
  if (sum < 0.0) sum = sum * 0.5 + 1.0;
  result[i] = sum;
}
