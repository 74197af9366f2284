#version 450
// Accesses to memory of every pattern. The test knows which bytes each lane touches.
layout(local_size_x = 64) in;
struct Pair { float a; vec3 b; };
layout(set = 0, binding = 0) buffer Values {
  uint order[64];
  uint sink[64];
  uint words[4096];
  vec4 wide[64];
  Pair pairs[64];
  mat3 matrices[16];
};
shared uint line[4096];
shared uint tile[32][32];
shared uint padded[32][33];
shared vec4 vectors[64];

void main() {
  const uint id = gl_LocalInvocationID.x;
  const uint at = order[id];             // unit stride
  uint sum = 0;
  sum += words[0];                       // broadcast
  sum += words[id * 2];
  sum += words[id * 4];
  sum += words[id * 8];
  sum += words[id * 64];
  sum += words[at];                      // random
  sum += uint(wide[id].y);               // one of four
  sum += uint(dot(wide[id], vec4(1)));
  sum += uint(pairs[id].b.z);
  sum += uint(matrices[id % 16][1][2]);
  sum += uint((matrices[id % 16] * vec3(1)).x);
  sum += uint((matrices[at % 16] * vec3(1)).y);  // parts of the same sectors, in any order
  if (id % 3 == 0) sum += words[id];
  line[id * 2] = at;
  line[id * 32] = at;
  tile[id % 32][id / 32] = at;
  padded[id % 32][id / 32] = at;
  vectors[id] = vec4(at);
  atomicAdd(line[at % 4], 1u);
  sink[id] = sum;
}
