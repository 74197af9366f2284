#version 450
#extension GL_GOOGLE_include_directive : require
#include "light.glsl"
#include "noise.glsl"

layout(set = 0, binding = 0) uniform sampler2D albedo;
layout(set = 0, binding = 1) uniform samplerCubeShadow shadow;
layout(set = 0, binding = 2) uniform texture2D image;
layout(set = 0, binding = 3) uniform sampler smooth_sampler;
layout(set = 0, binding = 4, rgba8) uniform image2D history;
layout(set = 0, binding = 5) uniform Lights {
  mat4 view;
  vec4 position[4];
  int count;
} lights;
layout(push_constant) uniform Push { vec2 scale; float threshold; } push;

layout(location = 0) in vec3 normal;
layout(location = 1) in vec2 uv;
layout(location = 2) flat in int kind;
layout(location = 0) out vec4 color;

vec4 pick(int which) {
  switch (which) {
    case 0:
      return texture(albedo, uv);
    case 1:
      return textureGather(albedo, uv);
    case 2:
    case 3:
      return texelFetch(albedo, ivec2(uv * 16.0), 0);
    default:
      return textureLod(sampler2D(image, smooth_sampler), uv, 1.0);
  }
}

void main() {
  vec4 base = pick(kind);
  if (base.a < push.threshold) discard;
  vec3 sum = vec3(0.0);
  for (int i = 0; i < lights.count; ++i) {
    vec3 to_light = normalize((lights.view * lights.position[i]).xyz);
    float lit = diffuse(normal, to_light);
    if (lit <= 0.0) continue;
    if (sum.x > 4.0) break;
    sum += lit * texture(shadow, vec4(to_light, 0.5));
  }
  sum += noise(uv * push.scale) * fwidth(uv.x);
  sum += interpolateAtOffset(normal, vec2(0.25));
  imageStore(history, ivec2(gl_FragCoord.xy), imageLoad(history, ivec2(gl_FragCoord.xy)) * 0.5);
  color = vec4(tone_map(sum * base.rgb), base.a);
}
