// The types and constants of a module and of its edits, by content: each is declared once.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "spirv/ir/module.h"

namespace tally::spirv {

class Declarations {
 public:
  // Without structs, arrays and anything decorated: equal content does not make these equal.
  explicit Declarations(const Module& module);

  // The id of the declaration, or 0. `type` is 0 for types.
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
