#version 450
// The left column of an image is white, the others are black.
layout(local_size_x = 4, local_size_y = 4) in;
layout(set = 0, binding = 0, rgba8) uniform writeonly image2D picture;

void main() {
  const ivec2 at = ivec2(gl_GlobalInvocationID.xy);
  if (at.x == 0) {
    imageStore(picture, at, vec4(1.0));
  } else {
    imageStore(picture, at, vec4(0.0, 0.0, 0.0, 1.0));
  }
}
