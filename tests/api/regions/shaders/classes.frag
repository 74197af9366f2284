#version 450
// A known number of operations of each class, more of them in the right half.
layout(set = 0, binding = 0) buffer Data { vec4 data[4]; uint counter; };
layout(location = 0) out vec4 color;

void main() {
  vec4 value = data[0];
  value = fma(value, data[1], vec4(1.0));
  const int loops = gl_FragCoord.x < 32.0 ? 1 : 3;
  for (int i = 0; i < loops; ++i) {
    value.x = sin(value.x) + sqrt(value.y) + float(i);
    data[2] = value;
  }
  atomicAdd(counter, 1);
  color = value;
}
