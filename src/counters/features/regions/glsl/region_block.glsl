// src/probe/region.h for shaders.
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require

layout(buffer_reference, std430, buffer_reference_align = 4) buffer Words {
  uint at[];
};

struct RegionBlock {
  uvec2 self;
  uint draw;
  uint too_many;
  uvec2 accumulators;
  uint wanted;
  uint size_log2;
  uint offset;
  uint regions;
  uint layers;
  uint multiview;
  uint counter_count;
  uint subgroup_size;
  uint region_bytes, row_bytes;
  uint primitive_limit;
  uint primitive_slots_log2;
  uvec2 primitives;
  uint reserved[8];
};

layout(buffer_reference, std430, buffer_reference_align = 16) buffer BlockReference {
  RegionBlock block;
  uint counters[32];
  uvec2 addresses[];
};

const uint kAccumulators = 32;

// The layer sets the offset, which differs between devices (internal_objects.cpp): no other member may
// be at offset 96.
layout(push_constant) uniform Push {
  layout(offset = 96) uvec2 address;
};

uvec2 advanced(uvec2 start, uint bytes) {
  uint carry;
  const uint low = uaddCarry(start.x, bytes, carry);
  return uvec2(low, start.y + carry);
}
