#version 450
layout(location = 0) in vec2 position;
layout(location = 0) out vec4 color;

float hash(vec2 p) { return fract(sin(dot(p, vec2(127.1, 311.7))) * 43758.5453); }

float noise(vec2 p) {
  vec2 cell = floor(p);
  vec2 f = fract(p);
  float low = mix(hash(cell), hash(cell + vec2(1, 0)), f.x);
  float high = mix(hash(cell + vec2(0, 1)), hash(cell + vec2(1, 1)), f.x);
  return mix(low, high, f.y);
}

float clouds(vec2 p) {
  float sum = 0.0;
  float scale = 0.5;
  for (int octave = 0; octave < 4; ++octave) {
    sum += scale * noise(p);
    scale *= 0.5;
    p *= 2.0;
  }
  return sum;
}

void main() {
  float cover = clouds(position * 8.0);
  color = vec4(vec3(0.3, 0.5, 0.9) + cover, 1.0);
}
