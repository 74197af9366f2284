// Computes for each span of transform feedback how many primitives its streams needed, and how many fit
// into the buffers. One invocation, since a span begins where the previous one ended.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "query.glsl"

layout(local_size_x = 1) in;

const uint kStreams = 4, kBuffers = 4;
const uint kFirst = 1;

struct FeedbackBuffer {
  uvec2 size;
  uint stride;
  uint stream;
};
struct QueryFeedback {
  uvec2 needs;
  uvec2 assembled;
  uvec2 capacity;
  uvec2 starts;
  uvec2 rows[kStreams];
  FeedbackBuffer buffers[kBuffers];
  uint flags;
  uint primitive_vertices;
};
layout(buffer_reference, std430, buffer_reference_align = 8) buffer Spans {
  uint count;
  uint reserved;
  QueryFeedback at[];
};

bool less(uvec2 a, uvec2 b) { return a.y < b.y || (a.y == b.y && a.x < b.x); }

// Long division: buffers may be larger than 4 GiB.
uvec2 divided(uvec2 number, uint divisor) {
  uvec2 quotient = uvec2(0);
  uvec2 rest = uvec2(0);
  for (int bit = 63; bit >= 0; --bit) {
    rest = uvec2(rest.x << 1, (rest.y << 1) | (rest.x >> 31));
    rest.x |= (bit >= 32 ? number.y >> (bit - 32) : number.x >> bit) & 1u;
    if (less(rest, uvec2(divisor, 0))) continue;
    rest = subtract(rest, uvec2(divisor, 0));
    if (bit >= 32) {
      quotient.y |= 1u << (bit - 32);
    } else {
      quotient.x |= 1u << bit;
    }
  }
  return quotient;
}

// The number of primitives that fit.
uvec2 capacity_of(FeedbackBuffer captured, uint start, uint vertices) {
  if (less(captured.size, uvec2(start, 0))) return uvec2(0);
  return divided(subtract(captured.size, uvec2(start, 0)), captured.stride * vertices);
}

void find_capacity(QueryFeedback span) {
  Numbers capacity = Numbers(span.capacity);
  for (uint stream = 0; stream < kStreams; ++stream) capacity.at[stream] = uvec2(~0u);
  for (uint i = 0; i < kBuffers; ++i) {
    const FeedbackBuffer captured = span.buffers[i];
    if (captured.stride == 0 || captured.stream >= kStreams) continue;
    const uint start = Words(span.starts).at[i];
    const uvec2 fits = capacity_of(captured, start, span.primitive_vertices);
    if (less(fits, capacity.at[captured.stream])) capacity.at[captured.stream] = fits;
  }
}

void main() {
  Spans spans = Spans(address);
  for (uint i = 0; i < spans.count; ++i) {
    const QueryFeedback span = spans.at[i];
    if ((span.flags & kFirst) != 0) find_capacity(span);
    Numbers needs = Numbers(span.needs);
    Numbers capacity = Numbers(span.capacity);
    for (uint stream = 0; stream < kStreams; ++stream) {
      uvec2 needed = needs.at[stream];
      needs.at[stream] = uvec2(0);
      if (stream == 0) needed = add(needed, span.assembled);
      const bool fits = !less(capacity.at[stream], needed);
      const uvec2 written = fits ? needed : capacity.at[stream];
      capacity.at[stream] = subtract(capacity.at[stream], written);
      if (span.rows[stream] == uvec2(0)) continue;
      add_to(span.rows[stream], 0, written);
      add_to(span.rows[stream], 1, needed);
    }
  }
}
