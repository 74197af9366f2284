// Raises the surface by a sum of ridged noises.
#version 450
layout(quads, fractional_odd_spacing, ccw) in;
layout(location = 0) out vec3 tint;
layout(push_constant) uniform Push { float time; int columns; float detail; };

float hash(ivec2 p) {
  uint h = uint(p.x) * 747796405u + uint(p.y) * 2891336453u;
  h = ((h >> ((h >> 28u) + 4u)) ^ h) * 277803737u;
  return float(h >> 8) / float(1 << 24);
}

float noise(vec2 p) {
  const ivec2 cell = ivec2(floor(p));
  const vec2 f = smoothstep(0.0, 1.0, fract(p));
  return mix(mix(hash(cell), hash(cell + ivec2(1, 0)), f.x), mix(hash(cell + ivec2(0, 1)), hash(cell + ivec2(1, 1)), f.x),
             f.y);
}

float elevation(vec2 p) {
  float sum = 0.0, weight = 0.5;
  for (int octave = 0; octave < 7; ++octave) {
    const float ridge = 1.0 - abs(2.0 * noise(p) - 1.0);
    sum += ridge * ridge * weight;
    if (sum < 0.02) break;
    p = mat2(1.6, 1.2, -1.2, 1.6) * p;
    weight *= 0.5;
  }
  return sum;
}

void main() {
  const vec2 p = mix(mix(gl_in[0].gl_Position.xy, gl_in[1].gl_Position.xy, gl_TessCoord.x),
                     mix(gl_in[2].gl_Position.xy, gl_in[3].gl_Position.xy, gl_TessCoord.x), gl_TessCoord.y);
  const float h = elevation(p * 6.0 + time);
  tint = mix(vec3(0.2, 0.4, 0.1), vec3(0.9), smoothstep(0.3, 0.8, h));
  gl_Position = vec4(p.x, p.y * 0.7 - 0.3 * h, 0.5, 1.0);
}
