// Selects what the shaders of a pipeline variant count.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tally::counters {

// Bits: 1 counts blocks, 2 counts regions, 4 counts a subset. Unnumbered: the shaders do not read
// the packed draw index; only pipelines whose Blocks may read it have this variant. Invocations:
// only invocations are counted by region.
enum class Variant : uint8_t {
  Plain = 0,
  Blocks = 1,
  Regions = 2,
  Both = 3,
  Unnumbered = 5,
  Invocations = 6
};
inline constexpr size_t kVariants = 7;

constexpr bool counts_blocks(Variant variant) { return (static_cast<uint8_t>(variant) & 1) != 0; }
constexpr bool counts_regions(Variant variant) { return (static_cast<uint8_t>(variant) & 2) != 0; }
constexpr Variant make_variant(bool blocks, bool regions) {
  return static_cast<Variant>((blocks ? 1 : 0) | (regions ? 2 : 0));
}

// The variant for objects that lack the one that counts a subset.
constexpr Variant full_variant(Variant variant) {
  return make_variant(counts_blocks(variant), counts_regions(variant));
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
