#version 450
// Its result and the blocks it executes depend on the instance index.
layout(std430, set = 0, binding = 0) buffer Values { uint values[]; };
layout(location = 0) out Block { vec4 color; float weights[2]; } block;
layout(location = 3) flat out uint seen;
uint own() { return uint(gl_InstanceIndex); }
void main() {
  uint instance = own(), vertex = uint(gl_VertexIndex), mixed = vertex;
  for (uint i = 0; i < (instance & 7u); ++i) {
    if (((i + vertex) & 1u) == 0) mixed = mixed * 5u + 1u;
    else mixed ^= instance;
  }
  atomicAdd(values[min(instance, values.length() - 1)], 1u + (mixed & 0xffu));
  block.color = vec4(instance & 255u, (instance >> 8) & 255u, instance >> 16, 255) / 255.0;
  block.weights = float[](0.5, 0.25);
  seen = uint(gl_InstanceIndex);
  vec2 corner = vec2(vertex % 3u == 1u ? 1 : 0, vertex % 3u == 2u ? 1 : 0);
  vec2 cell = vec2(instance % 9u, (vertex / 3u + instance / 9u) % 7u) * 0.2 - 0.9;
  gl_Position = vec4(cell + corner * 0.4, 0, 1);
}
