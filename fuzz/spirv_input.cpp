#include "spirv_input.h"

#include <cstring>

namespace tally::fuzz {

SpirvInput split_input(const uint8_t* data, size_t size) {
  SpirvInput input;
  if (size < kChoiceBytes) return input;
  std::memcpy(input.choices.data(), data, kChoiceBytes);
  input.words.resize((size - kChoiceBytes) / sizeof(uint32_t));
  if (!input.words.empty()) {
    std::memcpy(input.words.data(), data + kChoiceBytes, input.words.size() * sizeof(uint32_t));
  }
  return input;
}

}  // namespace tally::fuzz
