#version 450
// The words of 256 bytes of push data behind those of rectangle.vert make the colour.
struct Part {
  uvec4 words;
};
layout(push_constant) uniform Push {
  layout(offset = 32) Part parts[14];
};
layout(location = 0) out vec4 color;

void main() {
  uvec4 sum = uvec4(0);
  for (uint part = 0; part < 14; ++part) {
    sum += parts[part].words;
  }
  color = vec4(sum) / 255.0;
}
