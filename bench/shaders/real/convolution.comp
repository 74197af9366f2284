// A layer of a neural network: convolution with any kernel, stride and padding, bias, and a choice of activations.
#version 450
layout(local_size_x = 8, local_size_y = 8, local_size_z = 4) in;
layout(constant_id = 0) const int kKernel = 3;
layout(constant_id = 1) const int kStride = 1;
layout(constant_id = 2) const int kActivation = 2;
layout(constant_id = 3) const bool kBias = true;
layout(set = 0, binding = 0) readonly buffer Input { vec4 inputs[]; };
layout(set = 0, binding = 1) readonly buffer Weights { mat4 weights[]; };
layout(set = 0, binding = 2) readonly buffer Bias { vec4 biases[]; };
layout(set = 0, binding = 3) writeonly buffer Output { vec4 outputs[]; };
layout(push_constant) uniform Push { int width; int height; int input_depth; int output_depth; };

vec4 activation(vec4 v) {
  if (kActivation == 1) v = max(v, vec4(0.0));
  if (kActivation == 2) v = mix(v * 0.1, v, greaterThan(v, vec4(0.0)));
  if (kActivation == 3) v = clamp(v, vec4(-1.0), vec4(1.0));
  if (kActivation == 4) v = 1.0 / (1.0 + exp(-v));
  return v;
}

void main() {
  const ivec3 at = ivec3(gl_GlobalInvocationID);
  if (at.x >= width || at.y >= height || at.z >= output_depth) return;
  vec4 sum = kBias ? biases[at.z] : vec4(0.0);
  int w = at.z * input_depth * kKernel * kKernel;
  for (int z = 0; z < input_depth; ++z) {
    for (int y = 0; y < kKernel; ++y) {
      const int from_y = at.y * kStride + y - kKernel / 2;
      for (int x = 0; x < kKernel; ++x, ++w) {
        const int from_x = at.x * kStride + x - kKernel / 2;
        if (from_x < 0 || from_y < 0 || from_x >= width || from_y >= height) continue;
        sum += weights[w] * inputs[(z * height + from_y) * width + from_x];
      }
    }
  }
  outputs[(at.z * height + at.y) * width + at.x] = activation(sum);
}
