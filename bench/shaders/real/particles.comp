// Particles that attractors pull, that bounce off a floor and a sphere, and that are born again.
#version 450
layout(local_size_x = 256) in;
layout(set = 0, binding = 0) readonly buffer Seeds { vec4 seeds[]; };
layout(set = 0, binding = 2) readonly buffer State { vec4 state[]; };
layout(set = 0, binding = 3) writeonly buffer Next { vec4 next[]; };
layout(push_constant) uniform Push { uint count; float step_size; int attractors; int steps; };

vec3 acceleration(vec3 p) {
  vec3 sum = vec3(0.0, -1.5, 0.0);
  for (int i = 0; i < attractors; ++i) {
    const vec3 away = seeds[i].xyz * 2.0 - p;
    const float d2 = dot(away, away);
    if (d2 > 4.0) continue;
    sum += away * (seeds[i].w + 1.2) / (d2 + 0.05);
  }
  return sum;
}

void bounce(inout vec3 p, inout vec3 v) {
  if (p.y < -1.0) {
    p.y = -2.0 - p.y;
    v.y = -0.6 * v.y;
  }
  const float r = length(p);
  if (r < 0.4) {
    const vec3 n = p / r;
    p = n * 0.4;
    v -= 1.7 * min(dot(v, n), 0.0) * n;
  }
}

void main() {
  const uint i = gl_GlobalInvocationID.x;
  if (i >= count) return;
  vec4 place = state[2 * i], speed = state[2 * i + 1];
  float age = place.w + 1.0;
  for (int s = 0; s < steps; ++s) {
    age += step_size;
    if (age > 2.0) {
      age = 0.0;
      place.xyz = seeds[i].xyz * 0.5 + vec3(0, 0.5, 0);
      speed.xyz = seeds[i].yzx;
      continue;
    }
    speed.xyz += acceleration(place.xyz) * step_size;
    speed.xyz *= 0.995;
    place.xyz += speed.xyz * step_size;
    bounce(place.xyz, speed.xyz);
  }
  next[2 * i] = vec4(place.xyz, age - 1.0);
  next[2 * i + 1] = speed;
}
