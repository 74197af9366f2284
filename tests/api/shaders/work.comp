#version 450
// Eight invocations per group; the odd ones do more work. Adds the push constant to every value.
layout(local_size_x = 8) in;
layout(constant_id = 3) const uint kTwice = 2;
layout(set = 0, binding = 0) buffer Values { uint values[]; };
layout(push_constant) uniform Push { uint add; };

void main() {
  const uint i = gl_GlobalInvocationID.x;
  if ((i & 1) != 0) {
    values[i] += kTwice * add;
  }
  values[i] += add;
}
