// The values that an application gives the specialization constants of a shader.
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tally {

// `bits` are the bytes of the value as a little-endian number; those beyond `size` are 0.
struct SpecializationConstant {
  uint32_t id = 0;    // the SpecId
  uint32_t size = 0;  // 1, 2, 4 or 8 bytes
  uint64_t bits = 0;

  static constexpr bool is_size(uint64_t bytes) {
    return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
  }
  template <typename Archive>
  void fields(Archive& archive) {
    archive(id, size, bits);
  }
  auto operator<=>(const SpecializationConstant&) const = default;  // NOLINT(modernize-use-nullptr)
};

// Ascending ids, each once.
using Specialization = std::vector<SpecializationConstant>;

// Makes any list a Specialization: of equal ids the first one stays, and a value is cut to its
// size. Constants without a valid size are dropped.
inline void make_valid(Specialization& constants) {
  std::erase_if(constants,
                [](const auto& one) { return !SpecializationConstant::is_size(one.size); });
  for (SpecializationConstant& one : constants) {
    if (one.size < sizeof one.bits) one.bits &= (uint64_t{1} << 8 * one.size) - 1;
  }
  std::ranges::stable_sort(constants, {}, &SpecializationConstant::id);
  const auto same_id = [](const auto& one, const auto& other) { return one.id == other.id; };
  constants.erase(std::unique(constants.begin(), constants.end(), same_id), constants.end());
}

// Null: the application did not give it.
inline const SpecializationConstant* find_constant(const Specialization& constants, uint32_t id) {
  const auto found = std::ranges::lower_bound(constants, id, {}, &SpecializationConstant::id);
  return found != constants.end() && found->id == id ? &*found : nullptr;
}

}  // namespace tally
