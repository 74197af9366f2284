// A crowd of characters, each vertex moved by up to four bones of a chain.
#version 450
layout(location = 0) out vec3 tint;
layout(set = 0, binding = 0) readonly buffer Vertices { vec4 vertices[]; };
layout(set = 0, binding = 1) readonly buffer Bones { vec4 bones[]; };
layout(push_constant) uniform Push { float time; int bone_count; int columns; uint vertex_count; };

vec4 product(vec4 a, vec4 b) {
  return vec4(a.w * b.xyz + b.w * a.xyz + cross(a.xyz, b.xyz), a.w * b.w - dot(a.xyz, b.xyz));
}

vec3 rotated(vec4 q, vec3 v) { return v + 2.0 * cross(q.xyz, cross(q.xyz, v) + q.w * v); }

vec4 pose(int bone) {
  const vec4 raw = bones[bone % bone_count];
  const float angle = 0.3 * sin(time + 6.0 * raw.w + float(gl_InstanceIndex));
  return vec4(normalize(raw.xyz + vec3(0, 2, 0)) * sin(angle), cos(angle));
}

// The pose of a bone after those that it hangs on.
vec4 chain(int bone) {
  vec4 q = pose(bone);
  while (bone > 0) {
    bone = (bone - 1) / 2;
    q = product(pose(bone), q);
  }
  return q;
}

// A corner of the body's mesh: a capsule of 50 rows of 10 quads.
vec3 body(uint index, out vec3 normal) {
  const uint quad = index / 6, corner = uint[](0, 1, 2, 2, 1, 3)[index % 6];
  const float angle = 0.62831853 * float(quad % 10 + (corner & 1)), along = float(quad / 10 + (corner >> 1)) / 50.0;
  const float radius = 0.3 * sqrt(max(1.0 - pow(abs(2.0 * along - 1.0), 6.0), 0.0));
  normal = vec3(cos(angle), 0.0, sin(angle));
  return vec3(normal.x * radius, along * 2.0 - 1.0, normal.z * radius);
}

void main() {
  const uint v = uint(gl_VertexIndex) % vertex_count;
  vec3 normal;
  const vec3 position = body(v, normal) * (1.0 + 0.02 * vertices[2 * v].x);
  vec3 moved = vec3(0.0), turned = vec3(0.0);
  float rest = 1.0;
  for (int i = 0; i < 4; ++i) {
    const float weight = i == 3 ? rest : rest * (0.5 + 0.25 * vertices[2 * v + 1].w);
    if (weight < 0.05) break;
    const int bone = (int((position.y + 1.0) * 25.0) + i * 5) % bone_count;
    const vec4 q = chain(bone);
    moved += rotated(q, position) * weight;
    turned += rotated(q, normal) * weight;
    rest -= weight;
  }
  const vec2 cell = vec2(gl_InstanceIndex % columns, gl_InstanceIndex / columns);
  tint = 0.5 + 0.5 * turned;
  gl_Position = vec4((cell + 0.5) / float(columns) * 2.0 - 1.0 + moved.xy * 0.9 / float(columns), 0.5, 1.0);
}
