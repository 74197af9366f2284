#version 450
layout(local_size_x = 32) in;
layout(set = 0, binding = 0, r32ui) uniform readonly uimage2D image;
layout(set = 0, binding = 1) buffer Values { uint values[]; };

void main() {
  const uint loops = uint(imageSize(image).x) + values.length();
  for (uint k = 0; k < loops; ++k) values[gl_LocalInvocationIndex] += imageLoad(image, ivec2(0)).x;
}
