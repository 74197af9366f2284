#version 450
layout(location = 2) in vec2 at;
layout(set = 0, binding = 0) uniform sampler2D picture;
layout(location = 0) out vec4 color;

void main() { color = texture(picture, at); }
