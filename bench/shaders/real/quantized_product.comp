// A matrix of 4-bit numbers in blocks of 32 with a scale each, times a vector: a layer of a language model.
#version 450
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer Vector { float values[]; };
layout(set = 0, binding = 1) readonly buffer Matrix { uint words[]; };  // a block: a scale, four words
layout(set = 0, binding = 3) writeonly buffer Output { float result[]; };
layout(push_constant) uniform Push { uint rows; uint columns; uint rows_a_group; };

shared float partial[64];

vec4 unpacked(uint word, uint shift) {
  return vec4((uvec4(word) >> (uvec4(0, 4, 8, 12) + shift)) & 15u) - 8.0;
}

float block_product(uint block, uint column) {
  const float scale = unpackHalf2x16(words[block * 5] & 0x3fff3fffu).x;
  float sum = 0.0;
  for (uint i = 0; i < 4; ++i) {
    const uint word = words[block * 5 + 1 + i];
    for (uint half_word = 0; half_word < 2; ++half_word) {
      const uint at = column + i * 8 + half_word * 4;
      sum += dot(unpacked(word, half_word * 16), vec4(values[at], values[at + 1], values[at + 2], values[at + 3]));
    }
  }
  return sum * scale;
}

void main() {
  const uint lane = gl_LocalInvocationIndex, blocks = columns / 32;
  for (uint r = 0; r < rows_a_group; ++r) {
    const uint row = gl_WorkGroupID.x * rows_a_group + r;
    if (row >= rows) return;
    float sum = 0.0;
    for (uint b = lane; b < blocks; b += 64) sum += block_product(row * blocks + b, b * 32);
    partial[lane] = sum;
    barrier();
    for (uint half_size = 32; half_size > 0; half_size /= 2) {
      if (lane < half_size) partial[lane] += partial[lane + half_size];
      barrier();
    }
    if (lane == 0) result[row] = partial[0];
  }
}
