// The input of the SPIR-V fuzzers: 8 bytes of options, then the words of a module. The reader and
// the graph fuzzers ignore the options, so that all targets can share one corpus.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tally::fuzz {

inline constexpr size_t kChoiceBytes = 8;

struct SpirvInput {
  std::array<uint8_t, kChoiceBytes> choices{};
  std::vector<uint32_t> words;  // trailing bytes of an incomplete word are dropped
};

SpirvInput split_input(const uint8_t* data, size_t size);

}  // namespace tally::fuzz
