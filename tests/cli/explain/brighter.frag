#version 450
layout(binding = 0, rgba8) readonly uniform image2D picture;
layout(location = 0) out vec4 colour;
void main() { colour = imageLoad(picture, ivec2(gl_FragCoord.xy)) * 2; }
