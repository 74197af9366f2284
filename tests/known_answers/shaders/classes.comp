#version 450
// A known number of operations of each class.
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer Data { vec4 data[64]; uint counter; };
layout(push_constant) uniform Push { vec4 scale; };
shared vec2 exchange[64];

void main() {
  const uint i = gl_LocalInvocationIndex;
  vec4 value = data[i];
  value = fma(value, scale, vec4(1.0));
  value.x = sin(value.x) + sqrt(value.y);
  exchange[i] = value.xy;
  barrier();
  value.zw = exchange[63 - i];
  atomicAdd(counter, 1);
  data[i] = value;
}
