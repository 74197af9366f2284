// Adds the counts of commands whose arguments are in a buffer, or whose indices may restart the
// primitive, to the rows of queries.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "query.glsl"

const uint kLanes = 64;
layout(local_size_x = 64) in;

const uint kDraw = 0, kGroups = 1, kTasks = 2, kByteCount = 3, kIndices = 4;
const uint kPatches = 1, kLast = 2, kClipped = 4, kMesh = 8;
const uint kVertices = 0, kPrimitives = 1, kPatchCount = 2, kLastPrimitives = 3;
const uint kClippedPrimitives = 4, kWorkgroups = 5, kMeshWorkgroups = 6, kMetrics = 7;

shared uint low[kMetrics];
shared uint high[kMetrics];

void count(uint metric, uvec2 number) {
  const uint old = atomicAdd(low[metric], number.x);
  const uint carry = old > ~number.x ? 1u : 0u;
  atomicAdd(high[metric], number.y + carry);
}

uvec2 product(uint a, uint b) {
  uvec2 result;
  umulExtended(a, b, result.y, result.x);
  return result;
}

void count_assembled(uint vertices, uint complete, uint instances, uint flags) {
  count(kVertices, product(vertices, instances));
  const uvec2 primitives = product(complete, instances);
  count(kPrimitives, primitives);
  if ((flags & kPatches) != 0) count(kPatchCount, primitives);
  if ((flags & kLast) != 0) count(kLastPrimitives, primitives);
  if ((flags & kClipped) != 0) count(kClippedPrimitives, primitives);
}

uint primitives_of(uint vertices, uint first, uint step) {
  return vertices < first ? 0 : (vertices - first) / step + 1;
}

void count_groups(uvec3 groups, uint flags) {
  const uvec2 plane = product(groups.x, groups.y);
  uvec2 all = product(plane.x, groups.z);
  all.y += plane.y * groups.z;
  count((flags & kMesh) != 0 ? kMeshWorkgroups : kWorkgroups, all);
}

#define COMMAND                                                                                     \
  Indirects(advanced(address, finishes_at() + kFinishBytes * BatchHeader(address).finishes))        \
      .at[operation()]

#include "query_indices.glsl"

void main() {
  BatchHeader batch = BatchHeader(address);
  if (operation() >= batch.indirects) return;
  if (gl_LocalInvocationIndex < kMetrics) {
    low[gl_LocalInvocationIndex] = 0;
    high[gl_LocalInvocationIndex] = 0;
  }
  barrier();
  const uint kind = COMMAND.kind;
  const uint flags = COMMAND.flags;
  const uint first = COMMAND.first;
  const uint step = COMMAND.step;
  uint draws = kind == kIndices ? 1 : COMMAND.max_draws;
  // llvmpipe of Mesa 26 reads before it tests the condition, so the address must not be null.
  const bool counted = COMMAND.count_at != uvec2(0);
  const uint count = Words(counted ? COMMAND.count_at : address).at[0];
  if (counted) draws = min(draws, count);
  // All lanes process the indices of one draw together. Without indices each lane processes other draws.
  const bool restarts = COMMAND.indices != uvec2(0);
  for (uint i = 0; restarts && i < draws; ++i) {
    Words arguments = Words(COMMAND.arguments);
    const uint at = i * (COMMAND.stride / 4);
    if (kind == kIndices) {
      count_indices(COMMAND.max_draws, COMMAND.instances, 0, flags);
    } else {
      count_indices(arguments.at[at], arguments.at[at + 1], arguments.at[at + 2], flags);
    }
  }
  for (uint i = gl_LocalInvocationIndex; !restarts && i < draws; i += kLanes) {
    if (kind == kIndices) {
      count_assembled(COMMAND.max_draws, primitives_of(COMMAND.max_draws, first, step), COMMAND.instances,
                      flags);
      continue;
    }
    Words arguments = Words(COMMAND.arguments);
    const uint at = kind == kByteCount ? 0 : i * (COMMAND.stride / 4);
    const uint number = arguments.at[at];
    if (kind == kDraw) {
      count_assembled(number, primitives_of(number, first, step), arguments.at[at + 1], flags);
    } else if (kind == kGroups) {
      count_groups(uvec3(number, arguments.at[at + 1], arguments.at[at + 2]), flags);
    } else if (kind == kTasks) {
      count_groups(uvec3(number, 1, 1), flags);
    } else {
      const uint bytes = number - min(number, COMMAND.first_bytes);
      const uint vertices = bytes / max(COMMAND.stride, 1u);
      count_assembled(vertices, primitives_of(vertices, first, step), COMMAND.instances, flags);
    }
  }
  barrier();
  for (uint t = 0; t < COMMAND.target_count; ++t) {
    const QueryTarget target = COMMAND.targets[t];
    if (target.pass != batch.pass) continue;
    Numbers pairs = Numbers(target.matrix);
    for (uint i = gl_LocalInvocationIndex; i < target.row_count; i += kLanes) {
      const uvec2 pair = pairs.at[i];
      add_to(target.rows, pair.x, uvec2(low[pair.y], high[pair.y]));
    }
  }
}
