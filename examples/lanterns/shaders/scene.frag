#version 450
// A night street of paper lanterns over wet ground, ray-marched: the hot spot of the frame.
layout(location = 0) in vec2 position;
layout(location = 0) out vec4 color;
layout(push_constant) uniform Frame {
  float aspect;
  float time;
};

const int kMaxSteps = 96;
const float kFar = 24.0;

float hash(vec2 p) { return fract(sin(dot(p, vec2(127.1, 311.7))) * 43758.5453); }

vec3 lantern_color(vec2 cell) {
  const float hue = hash(cell + 7.0);
  return mix(vec3(1.0, 0.22, 0.05), hue > 0.8 ? vec3(0.25, 0.7, 0.9) : vec3(1.0, 0.62, 0.18), hue);
}

// A rounded, ribbed lantern around the origin.
float lantern(vec3 p) {
  const float radius = 0.30 + 0.012 * cos(p.y * 60.0);
  const float body = length(p * vec3(1.0, 0.8, 1.0)) - radius;
  const float cap = max(length(p.xz) - 0.10, abs(p.y) - 0.40);
  return min(body, cap);
}

// Distance to the nearest lantern; `cell` identifies it.
float lanterns(vec3 p, out vec2 cell) {
  cell = floor(p.xz / 2.0);
  const float sway = 0.15 * sin(time * 1.5 + 6.2831 * hash(cell));
  const vec3 middle = vec3((cell.x + 0.5) * 2.0 + sway, 1.5 + 0.7 * hash(cell + 3.0), (cell.y + 0.5) * 2.0);
  return lantern(p - middle);
}

float scene(vec3 p, out vec2 cell) {
  const float ground = p.y + 0.006 * sin(p.x * 6.0 + time) * sin(p.z * 9.0);
  return min(ground, lanterns(p, cell) * 0.8);
}

vec3 normal_at(vec3 p) {
  const vec2 e = vec2(0.002, 0.0);
  vec2 cell;
  return normalize(vec3(scene(p + e.xyy, cell) - scene(p - e.xyy, cell),
                        scene(p + e.yxy, cell) - scene(p - e.yxy, cell),
                        scene(p + e.yyx, cell) - scene(p - e.yyx, cell)));
}

// Distance at which the ray hits the scene, or kFar; accumulates the glow of what it passes nearby.
float march(vec3 from, vec3 along, inout vec3 glow) {
  float t = 0.05;
  for (int i = 0; i < kMaxSteps; ++i) {
    vec2 cell;
    const vec3 p = from + along * t;
    const float d = scene(p, cell);
    glow += lantern_color(cell) * 0.0009 / (0.02 + lanterns(p, cell));
    if (d < 0.002) return t;
    t += min(d, 0.6);
    if (t > kFar) break;
  }
  return kFar;
}

vec3 sky(vec3 along) { return mix(vec3(0.010, 0.012, 0.030), vec3(0.04, 0.02, 0.06), exp(-6.0 * max(along.y, 0.0))); }

vec3 shade(vec3 p, vec3 n, vec3 along) {
  vec2 cell;
  if (lanterns(p, cell) < 0.01) {
    return lantern_color(cell) * (0.35 + 0.9 * pow(max(0.0, -dot(n, along)), 2.0));
  }
  return vec3(0.015) + 0.25 * lantern_color(cell) * exp(-1.2 * lanterns(p, cell));
}

void main() {
  const vec3 eye = vec3(0.2 * sin(time * 0.4), 1.1, time * 0.5);
  const vec3 along = normalize(vec3(position.x * aspect, -position.y, 1.6));
  vec3 glow = vec3(0.0);
  const float t = march(eye, along, glow);
  vec3 light = sky(along);
  if (t < kFar) {
    const vec3 p = eye + along * t;
    const vec3 n = normal_at(p);
    light = shade(p, n, along);
    if (p.y < 0.1) {  // wet ground mirrors the street
      const vec3 mirrored = reflect(along, n);
      vec3 mirrored_glow = vec3(0.0);
      const float u = march(p + n * 0.02, mirrored, mirrored_glow);
      vec3 seen = sky(mirrored);
      if (u < kFar) seen = shade(p + mirrored * u, vec3(0.0, 1.0, 0.0), mirrored);
      light += (seen + mirrored_glow) * (0.25 + 0.5 * pow(1.0 - abs(dot(n, along)), 3.0));
    }
    light = mix(light, sky(along), smoothstep(10.0, kFar, t));
  }
  color = vec4(light + glow, 1.0);
}
