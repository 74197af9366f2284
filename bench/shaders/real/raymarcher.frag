// Distance fields under three lights with soft shadows and ambient occlusion.
#version 450
layout(location = 0) in vec2 at;
layout(location = 0) out vec4 color;
layout(push_constant) uniform Push { float time; float aspect; int bounces; };

struct Light {
  vec3 position;
  vec3 tint;
};

float box(vec3 p, vec3 size) {
  const vec3 q = abs(p) - size;
  return length(max(q, 0.0)) + min(max(q.x, max(q.y, q.z)), 0.0);
}

float torus(vec3 p, vec2 radii) { return length(vec2(length(p.xz) - radii.x, p.y)) - radii.y; }

float blend(float a, float b, float k) {
  const float h = clamp(0.5 + 0.5 * (b - a) / k, 0.0, 1.0);
  return mix(b, a, h) - k * h * (1.0 - h);
}

vec2 nearer(vec2 a, vec2 b) { return a.x < b.x ? a : b; }

// Distance and material.
vec2 scene(vec3 p) {
  vec2 nearest = vec2(p.y + 1.0, 0.0);
  nearest = nearer(nearest, vec2(blend(length(p - vec3(0, 0.2 * sin(time), 0)) - 0.8,
                                       box(p - vec3(0.9, -0.4, 0.2), vec3(0.4)), 0.4), 1.0));
  nearest = nearer(nearest, vec2(torus(p - vec3(-1.8, -0.3, 1.0), vec2(0.7, 0.2)), 2.0));
  const vec3 repeated = vec3(mod(p.x + 2.0, 4.0) - 2.0, p.y, mod(p.z, 5.0) - 2.5);
  if (abs(p.x) > 3.0) nearest = nearer(nearest, vec2(box(repeated, vec3(0.25, 1.8, 0.25)) - 0.05, 3.0));
  return nearest;
}

vec3 normal_at(vec3 p) {
  const vec2 e = vec2(1.0, -1.0) * 0.0015;
  return normalize(e.xyy * scene(p + e.xyy).x + e.yyx * scene(p + e.yyx).x + e.yxy * scene(p + e.yxy).x +
                   e.xxx * scene(p + e.xxx).x);
}

bool march(vec3 from, vec3 along, float limit, out float t, out float material) {
  t = 0.02;
  for (int i = 0; i < 80; ++i) {
    const vec2 found = scene(from + along * t);
    if (found.x < 0.001 * t) {
      material = found.y;
      return true;
    }
    t += found.x;
    if (t > limit) break;
  }
  material = -1.0;
  return false;
}

float shadow(vec3 from, vec3 to_light, float distance_to_light) {
  float lit = 1.0;
  float t = 0.03;
  for (int i = 0; i < 32 && t < distance_to_light; ++i) {
    const float d = scene(from + to_light * t).x;
    if (d < 0.001) return 0.0;
    lit = min(lit, 10.0 * d / t);
    t += clamp(d, 0.02, 0.4);
  }
  return lit;
}

float occlusion(vec3 p, vec3 n) {
  float sum = 0.0, weight = 1.0;
  for (int i = 1; i <= 5; ++i) {
    const float reach = 0.08 * float(i);
    sum += (reach - scene(p + n * reach).x) * weight;
    weight *= 0.7;
  }
  return clamp(1.0 - 1.5 * sum, 0.0, 1.0);
}

vec3 material_color(float material, vec3 p) {
  switch (int(material)) {
    case 0: return mod(floor(p.x) + floor(p.z), 2.0) < 1.0 ? vec3(0.3) : vec3(0.7);
    case 1: return vec3(0.9, 0.3, 0.2);
    case 2: return vec3(0.2, 0.6, 0.9);
    default: return vec3(0.5, 0.5, 0.4);
  }
}

vec3 shade(vec3 p, vec3 n, vec3 along, float material) {
  const Light lights[3] = Light[](Light(vec3(3.0, 4.0, -2.0), vec3(9.0, 8.0, 6.0)),
                                  Light(vec3(-4.0, 3.0, 1.0 + sin(time)), vec3(2.0, 4.0, 7.0)),
                                  Light(vec3(0.0, 5.0, 6.0), vec3(5.0, 3.0, 5.0)));
  const vec3 base = material_color(material, p);
  vec3 sum = base * 0.05 * occlusion(p, n);
  for (int i = 0; i < 3; ++i) {
    const vec3 away = lights[i].position - p;
    const float d = length(away);
    const vec3 l = away / d;
    const float facing = dot(n, l);
    if (facing <= 0.0) continue;
    const float shine = pow(max(dot(reflect(-l, n), -along), 0.0), 24.0);
    sum += lights[i].tint * (base * facing + shine) * shadow(p + n * 0.004, l, d) / (d * d);
  }
  return sum;
}

vec3 sky(vec3 along) { return mix(vec3(0.6, 0.7, 0.9), vec3(0.1, 0.2, 0.5), clamp(along.y, 0.0, 1.0)); }

void main() {
  vec3 from = vec3(0.0, 0.6, -4.5);
  vec3 along = normalize(vec3((at.x * 2.0 - 1.0) * aspect, 1.0 - at.y * 2.0, 1.8));
  vec3 sum = vec3(0.0);
  float share = 1.0;
  for (int bounce = 0; bounce <= bounces; ++bounce) {
    float t, material;
    if (!march(from, along, 30.0, t, material)) {
      sum += share * sky(along);
      break;
    }
    const vec3 p = from + along * t;
    const vec3 n = normal_at(p);
    sum += share * mix(shade(p, n, along, material), sky(along), smoothstep(15.0, 30.0, t));
    if (material > 1.5) break;
    share *= 0.3;
    from = p + n * 0.01;
    along = reflect(along, n);
  }
  color = vec4(pow(sum, vec3(0.4545)), 1.0);
}
