// Draws the textures that the shaders of the set read: colour, normal and roughness, position and depth, and a
// shadow map. They show a hall of columns and spheres on a chequered floor.
#version 450
layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 8, rgba8) uniform writeonly image2D colors;
layout(set = 0, binding = 9, rgba16f) uniform writeonly image2D normals;
layout(set = 0, binding = 10, rgba32f) uniform writeonly image2D positions;
layout(set = 0, binding = 11, r32f) uniform writeonly image2D shadows;

const vec3 kSun = normalize(vec3(0.5, 0.8, -0.3));

struct Hit {
  float t;
  vec3 normal;
  vec3 color;
};

void floor_plane(vec3 from, vec3 along, inout Hit hit) {
  if (along.y >= 0.0) return;
  const float t = -from.y / along.y;
  if (t >= hit.t) return;
  const vec3 p = from + along * t;
  const bool dark = ((int(floor(p.x)) + int(floor(p.z))) & 1) == 0;
  hit = Hit(t, vec3(0, 1, 0), dark ? vec3(0.25, 0.22, 0.2) : vec3(0.8, 0.78, 0.7));
}

void sphere(vec3 middle, float radius, vec3 color, vec3 from, vec3 along, inout Hit hit) {
  const vec3 away = from - middle;
  const float b = dot(away, along);
  const float d = b * b - dot(away, away) + radius * radius;
  if (d < 0.0) return;
  const float t = -b - sqrt(d);
  if (t < 0.001 || t >= hit.t) return;
  hit = Hit(t, (away + along * t) / radius, color);
}

void column(vec2 middle, float radius, vec3 from, vec3 along, inout Hit hit) {
  const vec2 away = from.xz - middle;
  const float a = dot(along.xz, along.xz);
  const float b = dot(away, along.xz);
  const float d = b * b - a * (dot(away, away) - radius * radius);
  if (d < 0.0 || a == 0.0) return;
  const float t = (-b - sqrt(d)) / a;
  if (t < 0.001 || t >= hit.t) return;
  const vec2 out_of = (away + along.xz * t) / radius;
  hit = Hit(t, vec3(out_of.x, 0, out_of.y), vec3(0.7, 0.4, 0.3));
}

Hit scene(vec3 from, vec3 along) {
  Hit hit = Hit(60.0, -along, vec3(0.4, 0.6, 0.9));
  floor_plane(from, along, hit);
  for (int i = 0; i < 6; ++i) {
    const float z = 4.0 + 4.0 * float(i);
    column(vec2(-3, z), 0.5, from, along, hit);
    column(vec2(3, z), 0.5, from, along, hit);
    sphere(vec3(sin(float(i) * 1.7) * 1.8, 0.7, z + 1.5), 0.7, vec3(0.2, 0.3 + 0.1 * float(i), 0.9), from, along, hit);
  }
  return hit;
}

void main() {
  const ivec2 at = ivec2(gl_GlobalInvocationID.xy);
  const ivec2 size = imageSize(colors);
  if (any(greaterThanEqual(at, size))) return;
  const vec2 uv = (vec2(at) + 0.5) / vec2(size);
  const vec3 eye = vec3(0, 1.7, 0);
  const vec3 along = normalize(vec3(uv.x * 2.0 - 1.0, (0.5 - uv.y) * 1.125, 1.0));
  const Hit hit = scene(eye, along);
  imageStore(colors, at, vec4(hit.color, 1));
  imageStore(normals, at, vec4(hit.normal, 0.2 + 0.6 * fract(hit.color.r * 7.0)));
  imageStore(positions, at, vec4(eye + along * hit.t, hit.t));
  const vec3 right = normalize(cross(vec3(0, 1, 0), kSun)), up = cross(kSun, right);
  const vec3 from = vec3(0, 0, 14) + right * (uv.x - 0.5) * 36.0 + up * (uv.y - 0.5) * 36.0 + kSun * 30.0;
  imageStore(shadows, at, vec4(scene(from, -kSun).t / 60.0));
}
