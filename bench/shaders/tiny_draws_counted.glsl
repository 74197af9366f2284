// tiny_draws.vert, counted by hand. A shader that includes this defines RECORD: the number of the draw's record.
#extension GL_EXT_buffer_reference : require
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_vote : require

layout(buffer_reference, std430, buffer_reference_align = 4) buffer Records { uint at[]; };
layout(push_constant) uniform Push {
  Records records;  // 8 words each: invocations of the vertex shader, of the fragment shader
  uint mask;        // of record numbers
};
layout(constant_id = 0) const bool kCounts = true;
layout(location = 0) flat out uint first_word;

void main() {
  const uint cell = gl_VertexIndex / 3, corner = gl_VertexIndex % 3;
  const vec2 at = vec2(cell % 100, cell / 100) + vec2(corner & 1, corner >> 1);
  gl_Position = vec4(at / 50.0 - 1.0, 0, 1);
  first_word = (RECORD & mask) * 8;
  if (!kCounts) return;
  if (!subgroupAllEqual(first_word)) {
    atomicAdd(records.at[first_word], 1);
  } else {
    const uint lanes = subgroupBallotBitCount(subgroupBallot(true));
    if (subgroupElect()) atomicAdd(records.at[first_word], lanes);
  }
}
