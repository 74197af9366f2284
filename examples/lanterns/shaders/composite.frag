#version 450
// Combines scene and bloom and maps them to display colours.
layout(location = 0) in vec2 position;
layout(location = 0) out vec4 color;
layout(set = 0, binding = 0, rgba16f) uniform readonly image2D scene;
layout(set = 0, binding = 1, rgba16f) uniform readonly image2D bloom;

void main() {
  const ivec2 at = ivec2(gl_FragCoord.xy);
  const vec3 light = imageLoad(scene, at).rgb + 1.4 * imageLoad(bloom, at).rgb;
  const vec3 tone = light * (2.51 * light + 0.03) / (light * (2.43 * light + 0.59) + 0.14);
  const float vignette = 1.0 - 0.25 * dot(position, position) * 0.5;
  color = vec4(pow(clamp(tone * vignette, 0.0, 1.0), vec3(1.0 / 2.2)), 1.0);
}
