// The types and constants of a module by what they are, so that an equal one is found instead of
// declared twice. Holds those of the original and those that an edit adds.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "spirv/ir/module.h"

namespace tally::spirv {

class Declarations {
 public:
  // Takes in what stands before the first function. Structs, arrays and whatever carries a
  // decoration are left out: another of the same shape is a different thing.
  explicit Declarations(const Module& module);

  // The id declared so, or 0. `type` is 0 for types.
  uint32_t find(spv::Op opcode, uint32_t type, std::span<const uint32_t> operands) const;
  void add(uint32_t id, spv::Op opcode, uint32_t type, std::span<const uint32_t> operands);

 private:
  struct Entry {
    uint32_t id;
    uint32_t first_word, word_count;  // of key_words_
  };

  std::vector<uint32_t> key_words_;
  std::unordered_multimap<uint64_t, Entry> entries_;
};

}  // namespace tally::spirv
