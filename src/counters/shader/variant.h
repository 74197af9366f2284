// What the shaders of a pipeline variant count.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tally::counters {

// Bits: 1 counts blocks, 2 counts regions, and with 4 no shader reads the packed draw index. Only
// pipelines whose Blocks may read it have the variant Unnumbered.
enum class Variant : uint8_t { Plain = 0, Blocks = 1, Regions = 2, Both = 3, Unnumbered = 5 };
inline constexpr size_t kVariants = 6;

constexpr bool counts_blocks(Variant variant) { return (static_cast<uint8_t>(variant) & 1) != 0; }
constexpr bool counts_regions(Variant variant) { return (static_cast<uint8_t>(variant) & 2) != 0; }
constexpr Variant make_variant(bool blocks, bool regions) {
  return static_cast<Variant>((blocks ? 1 : 0) | (regions ? 2 : 0));
}

// The best available variant of an object that has some of them.
template <typename Object>
constexpr Variant choose_variant(const Object& object, Variant wanted) {
  if (object.has(wanted)) return wanted;
  if (counts_blocks(wanted) && object.has(Variant::Blocks)) return Variant::Blocks;
  if (counts_regions(wanted) && object.has(Variant::Regions)) return Variant::Regions;
  return Variant::Plain;
}

}  // namespace tally::counters
