// Writes results of queries in the layout of vkCmdCopyQueryPoolResults. One invocation per query.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "query.glsl"

layout(local_size_x = 64) in;

struct QueryCopy {
  uvec2 slots;
  uvec2 result;
  uint slot_bytes, output_words;
  uint count;
  uint flags;
  uint results;
  uint all_passes;
  uvec2 reserved;
};
struct QueryConversion {
  uint row;
  uint divisor;
  float scale;
  uint storage;
};
layout(buffer_reference, std430, buffer_reference_align = 8) buffer Copies {
  QueryCopy copy;
  QueryConversion conversions[];
};

const uint k64Bit = 1, kAvailability = 2, kStatus = 4, kTyped = 8, kWraps = 16;
const uint kNoDivisor = ~0u;
const uint kInt32 = 0, kInt64 = 1, kUint32 = 2, kUint64 = 3, kFloat32 = 4, kFloat64 = 5;

float to_float(uvec2 value) { return float(value.y) * 4294967296.0 + float(value.x); }

uvec2 from_float(float value) {
  const float high = floor(value / 4294967296.0);
  return uvec2(uint(value - high * 4294967296.0), uint(high));
}

// The bits of the number as a double, rounded down; exact up to 2^53.
uvec2 double_bits(uvec2 value) {
  if (value == uvec2(0)) return uvec2(0);
  const int top = value.y != 0 ? 32 + findMSB(value.y) : findMSB(value.x);
  // Shift the leading one to bit 52.
  const int shift = 52 - top;
  uvec2 mantissa;
  if (shift >= 32) {
    mantissa = uvec2(0, value.x << (shift - 32));
  } else if (shift > 0) {
    mantissa = uvec2(value.x << shift, (value.y << shift) | (value.x >> (32 - shift)));
  } else if (shift == 0) {
    mantissa = value;
  } else {
    mantissa = uvec2((value.x >> -shift) | (value.y << (32 + shift)), value.y >> -shift);
  }
  return uvec2(mantissa.x, (mantissa.y & 0xfffffu) | (uint(1023 + top) << 20));
}

// Converts the bits of a float to those of a double.
uvec2 widened(float value) {
  const uint bits = floatBitsToUint(value);
  const uint exponent = (bits >> 23) & 0xffu;
  if (exponent == 0) return uvec2(0, bits & 0x80000000u);
  const uint mantissa = bits & 0x7fffffu;
  return uvec2(mantissa << 29, (bits & 0x80000000u) | ((exponent + 896u) << 20) | (mantissa >> 3));
}

uvec2 typed(Numbers rows, QueryConversion conversion) {
  const uvec2 value = rows.at[conversion.row];
  const bool exact = conversion.divisor == kNoDivisor && conversion.scale == 1.0;
  float scaled = to_float(value) * conversion.scale;
  if (conversion.divisor != kNoDivisor) {
    const float divisor = to_float(rows.at[conversion.divisor]);
    scaled = divisor == 0.0 ? 0.0 : scaled / divisor;
  }
  switch (conversion.storage) {
    case kFloat32:
      return uvec2(floatBitsToUint(scaled), 0);
    case kFloat64:
      return exact ? double_bits(value) : widened(scaled);
    default:
      break;
  }
  const uvec2 whole = exact ? value : from_float(scaled);
  if (conversion.storage == kInt64 || conversion.storage == kUint64) return whole;
  const uint most = conversion.storage == kInt32 ? 0x7fffffffu : ~0u;
  return uvec2(whole.y != 0 ? most : min(whole.x, most), 0);
}

void main() {
  Copies parameters = Copies(address);
  const QueryCopy copy = parameters.copy;
  const uint query = operation() * 64 + gl_LocalInvocationIndex;
  if (query >= copy.count) return;
  // A pool may be larger than 4 GiB.
  uvec2 slot_offset, result_offset;
  umulExtended(query, copy.slot_bytes, slot_offset.y, slot_offset.x);
  umulExtended(query, copy.output_words * 4, result_offset.y, result_offset.x);
  const uvec2 slot = add(copy.slots, slot_offset);
  Numbers rows = Numbers(advanced(slot, kSlotHeader));
  Words result = Words(add(copy.result, result_offset));
  const bool available = (Words(slot).at[0] & copy.all_passes) == copy.all_passes;
  uint at = 0;
  for (uint i = 0; i < copy.results; ++i) {
    const QueryConversion conversion = parameters.conversions[i];
    if ((copy.flags & kTyped) != 0) {
      const uvec2 value = typed(rows, conversion);
      result.at[at++] = value.x;
      result.at[at++] = value.y;
    } else {
      const uvec2 value = rows.at[conversion.row];
      if ((copy.flags & k64Bit) != 0) {
        result.at[at++] = value.x;
        result.at[at++] = value.y;
      } else {
        const bool saturates = (copy.flags & kWraps) == 0 && value.y != 0;
        result.at[at++] = saturates ? ~0u : value.x;
      }
    }
  }
  uint state = available ? 1u : 0u;
  uint sign = 0;
  if ((copy.flags & kStatus) != 0 && available && Words(slot).at[1] != 0) {
    state = ~0u;  // VK_QUERY_RESULT_STATUS_ERROR_KHR
    sign = ~0u;
  }
  if ((copy.flags & (kAvailability | kStatus)) == 0) return;
  result.at[at++] = state;
  if ((copy.flags & k64Bit) != 0) result.at[at++] = sign;
}
