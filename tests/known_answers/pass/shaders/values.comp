#version 450
// Each kind of instruction once, so that the test knows it by its opcode.
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) buffer Values {
  uint values[32];
  uint table[4];
  uint rest[];
};

void main() {
  const uint id = gl_GlobalInvocationID.x;
  const float x = uintBitsToFloat(values[id % 32]);
  const float product = x * 2.0;
  const float quotient = 1.0 / x;
  const float root = sqrt(x);
  const vec3 sum = vec3(x, 1.0, 0.0) + vec3(0.0, x, 1.0);
  const uint whole = 100 / (id % 4);
  const uint read = table[id % 8];
  const bool used = product + 0.0 > 1.0 || quotient > 2.0 || root > 3.0 || sum.x > 4.0 || sum.y > 5.0;
  rest[id] = whole + read + (used ? 1u : 0u);
}
