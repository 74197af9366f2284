// src/probe/query.h for shaders. 64-bit numbers are pairs of words.
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require

layout(buffer_reference, std430, buffer_reference_align = 4) buffer Words {
  uint at[];
};
layout(buffer_reference, std430, buffer_reference_align = 8) buffer Numbers {
  uvec2 at[];
};

const uint kQueryTargets = 10;

struct QueryTarget {
  uvec2 rows;
  uvec2 matrix;
  uint row_count;
  uint pass;
  uvec2 reserved;
};
struct QueryRecord {
  uvec2 counters;
  uvec2 previous;
  uvec2 kept;
  uint counter_count;
  uint stride;
  uint shards_log2;
  uint target_count;
  uint first_target;
  uint reserved;
};
struct QueryFinish {
  uvec2 slot;
  uvec2 constants;
  uint rows;
  uint pass;
  uint time_row;
  uint time_pass;
  uint views;
  uint slot_bytes;
  uint errors;
  uint all_passes;
};

struct QueryIndirect {
  uvec2 arguments;
  uvec2 count_at;
  uvec2 indices;
  uint max_draws;
  uint stride;
  uint kind;
  uint first, step;
  uint instances;
  uint flags;
  uint target_count;
  uint first_bytes;
  uint index_bytes, index_count;
  uint restart;  // the index that restarts the primitive
  QueryTarget targets[kQueryTargets];
};

layout(buffer_reference, std430, buffer_reference_align = 8) buffer BatchHeader {
  uint pass;
  uint records;
  uint small_records;
  uint finishes;
  uint indirects;
  uint targets_at;
  uvec2 reserved;
};
layout(buffer_reference, std430, buffer_reference_align = 8) buffer Records {
  QueryRecord at[];
};
layout(buffer_reference, std430, buffer_reference_align = 8) buffer Targets {
  QueryTarget at[];
};
layout(buffer_reference, std430, buffer_reference_align = 8) buffer Finishes {
  QueryFinish at[];
};
layout(buffer_reference, std430, buffer_reference_align = 8) buffer Indirects {
  QueryIndirect at[];
};

const uint kBatchBytes = 32;
const uint kRecordBytes = 48;
const uint kFinishBytes = 48;
const uint kSlotHeader = 32;
const uint kMaxGroups = 65535;

// The layer sets the offset, which differs between devices (internal_objects.cpp).
layout(push_constant) uniform Push {
  layout(offset = 96) uvec2 address;
};

uvec2 add(uvec2 a, uvec2 b) {
  uint carry;
  const uint low = uaddCarry(a.x, b.x, carry);
  return uvec2(low, a.y + b.y + carry);
}

uvec2 subtract(uvec2 a, uvec2 b) {
  uint borrow;
  const uint low = usubBorrow(a.x, b.x, borrow);
  return uvec2(low, a.y - b.y - borrow);
}

uvec2 times(uvec2 a, int factor) {
  const uint magnitude = uint(abs(factor));
  uint high, low;
  umulExtended(a.x, magnitude, high, low);
  const uvec2 product = uvec2(low, high + a.y * magnitude);
  return factor < 0 ? subtract(uvec2(0), product) : product;
}

uvec2 advanced(uvec2 start, uint bytes) { return add(start, uvec2(bytes, 0)); }

// Where the finish operations of the batch begin.
uint finishes_at() {
  BatchHeader batch = BatchHeader(address);
  return kBatchBytes + kRecordBytes * (batch.records + batch.small_records);
}

// The operation of the batch that this workgroup executes.
uint operation() { return gl_WorkGroupID.y * kMaxGroups + gl_WorkGroupID.x; }

// Several workgroups may add to one row.
void add_to(uvec2 rows, uint row, uvec2 value) {
  if (value == uvec2(0)) return;
  Words words = Words(rows);
  const uint old = atomicAdd(words.at[2 * row], value.x);
  const uint carry = old > ~value.x ? 1u : 0u;
  const uint high = value.y + carry;
  if (high != 0) atomicAdd(words.at[2 * row + 1], high);
}
