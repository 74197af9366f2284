// What the SPIR-V fuzzers are fed with: 8 bytes of choices, then the words of a module. The reader
// and the graph ignore the choices, so that all targets share one corpus.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tally::fuzz {

inline constexpr size_t kChoiceBytes = 8;

struct SpirvInput {
  std::array<uint8_t, kChoiceBytes> choices{};
  std::vector<uint32_t> words;  // bytes beyond the last whole word are dropped
};

SpirvInput split_input(const uint8_t* data, size_t size);

}  // namespace tally::fuzz
