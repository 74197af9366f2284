// The layout of counters by region in GPU memory: the accumulators that fragment shaders add to,
// and the blocks that describe them. The pass, the layer and the shaders in
// src/counters/features/regions/glsl all take the layout from this header.
//
// A fragment shader finds its block through a 64-bit pointer, as it finds its record (record.h); 0
// disables counting. Its low four bits are tags. With kRegionOfDraw it is the address of a draw's
// header, which names the block. The layer keeps one block for each subpass of a capturing pass,
// and one for each secondary command buffer. The block of the pass that executes a secondary
// command buffer is copied into the block of the latter. A block is an array of 32-bit words:
//
//    0..27  RegionBlock, below; all that a fragment shader reads
//   28..59  accumulator of each enabled counter, in the application's order
//   60..    device address of the application's memory of each layer: low word, high word
//
// Accumulators are 32-bit words, one for each region counter of the catalogue, in catalogue order.
// They are zeroed when the pass begins:  accumulators[layer][row][column][kRegionAccumulators].
//
// If primitives are counted, each region has a table of 64-bit slots, zeroed as well. A used slot
// holds PrimitiveId in the low word and the draw's number, which is never 0, in the high word. If
// the table has no slot left for a primitive, the accumulator exceeds the limit.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tally::probe {

inline constexpr uint32_t kRegionAccumulators = 32;
inline constexpr uint32_t kRegionAccumulatorBytes = kRegionAccumulators * 4;
inline constexpr uint64_t kRegionBlockAlignment = 256;
// Tags of the region pointer.
inline constexpr uint32_t kRegionCounts = 1;  // the pass counts
inline constexpr uint32_t kRegionOfDraw = 2;  // the address points to a draw's header
inline constexpr uint32_t kRegionTags = 15;   // all bits that are not of the address

// Packs two 16-bit numbers into one word, the first in the low half. All fragments load these
// words.
constexpr uint32_t region_pair(uint32_t first, uint32_t second) { return first | second << 16; }

struct RegionHeader {
  uint32_t block_low = 0, block_high = 0;  // device address
  uint32_t draw = ~0u;                     // the draw's number
  uint32_t too_many = 0;                   // 1: a region exceeded the limit of primitives
};

struct RegionBlock {
  RegionHeader header;                                   // of this block
  uint32_t accumulators_low = 0, accumulators_high = 0;  // device address
  uint32_t wanted = 0;         // bit i enables accumulator i; 0: counting is disabled
  uint32_t size_log2 = 0;      // pair: width and height of a region, in pixels
  uint32_t offset = 0;         // pair: of the render area from the origin of region 0
  uint32_t regions = 0;        // pair: columns and rows
  uint32_t layers = 0;         // or views
  uint32_t multiview = 0;      // 1: the layer is the view index
  uint32_t counter_count = 0;  // number of counters that the application enabled
  uint32_t subgroup_size = 0;
  uint32_t region_bytes = 0, row_bytes = 0;  // strides in the application's memory
  uint32_t primitive_limit = 0;              // of a region, at most half of its slots
  uint32_t primitive_slots_log2 = 0;
  uint32_t primitives_low = 0, primitives_high = 0;  // device address of the tables
  uint32_t reserved[8] = {};
};

enum class RegionWord : uint32_t {
  BlockLow,
  BlockHigh,
  Draw,
  TooMany,
  AccumulatorsLow,
  AccumulatorsHigh,
  Wanted,
  SizeLog2,
  Offset,
  Regions,
  Layers,
  Multiview,
  PrimitiveLimit = 16,
  PrimitiveSlotsLog2,
  PrimitivesLow,
  PrimitivesHigh,
};

inline constexpr uint32_t kRegionBlockWords = 28;
inline constexpr uint32_t kRegionCounterWord = kRegionBlockWords;
inline constexpr uint32_t kRegionRecordPointer = kRegionCounterWord + kRegionAccumulators;

static_assert(sizeof(RegionBlock) == kRegionBlockWords * 4);
static_assert(offsetof(RegionBlock, wanted) == 4 * static_cast<uint32_t>(RegionWord::Wanted));
static_assert(offsetof(RegionBlock, primitives_low) ==
              4 * static_cast<uint32_t>(RegionWord::PrimitivesLow));
static_assert(offsetof(RegionBlock, primitives_low) % 8 == 0, "GLSL loads it as a uvec2");
static_assert(offsetof(RegionBlock, multiview) == 4 * static_cast<uint32_t>(RegionWord::Multiview));

// The size, in bytes, of a block with `layers` addresses.
constexpr uint64_t region_block_bytes(uint32_t layers) {
  const uint64_t bytes = (kRegionRecordPointer + uint64_t{2} * layers) * 4;
  return (bytes + kRegionBlockAlignment - 1) / kRegionBlockAlignment * kRegionBlockAlignment;
}

constexpr uint64_t region_accumulator_bytes(uint32_t columns, uint32_t rows, uint32_t layers) {
  return uint64_t{columns} * rows * layers * kRegionAccumulatorBytes;
}

}  // namespace tally::probe
