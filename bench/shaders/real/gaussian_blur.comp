// One direction of a Gaussian blur of any width, plane by plane, with mirrored borders: a video filter.
#version 450
layout(local_size_x = 32, local_size_y = 8) in;
layout(set = 0, binding = 1) readonly buffer Kernel { float coefficients[]; };
layout(set = 0, binding = 3) writeonly buffer Output { vec4 result[]; };
layout(set = 0, binding = 4) uniform sampler2D frame;
layout(push_constant) uniform Push { int radius; int planes; int vertical; };

ivec2 mirrored(ivec2 at, ivec2 size) {
  if (at.x < 0) at.x = -at.x;
  if (at.y < 0) at.y = -at.y;
  if (at.x >= size.x) at.x = 2 * size.x - 2 - at.x;
  if (at.y >= size.y) at.y = 2 * size.y - 2 - at.y;
  return at;
}

vec4 blur(ivec2 at, ivec2 size) {
  vec4 sum = texelFetch(frame, at, 0) * coefficients[0];
  const ivec2 along = vertical != 0 ? ivec2(0, 1) : ivec2(1, 0);
  for (int i = 1; i <= radius; ++i) {
    sum += texelFetch(frame, mirrored(at - along * i, size), 0) * coefficients[i];
    sum += texelFetch(frame, mirrored(at + along * i, size), 0) * coefficients[i];
  }
  return sum;
}

void main() {
  const ivec2 size = textureSize(frame, 0), at = ivec2(gl_GlobalInvocationID.xy);
  if (any(greaterThanEqual(at, size))) return;
  for (int plane = 0; plane < 4; ++plane) {
    const int index = at.y * size.x + at.x;
    if ((planes & (1 << plane)) != 0) {
      result[index][plane] = blur(at, size)[plane];
    } else {
      result[index][plane] = texelFetch(frame, at, 0)[plane];
    }
  }
}
