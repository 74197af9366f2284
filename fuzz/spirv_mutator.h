// Changes a module by whole instructions and operands, so that most of what comes out is still
// parsed and some of it is still valid: random bytes hardly ever get past the reader.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

namespace tally::fuzz {

class SpirvMutator {
 public:
  // `donor` is a second module that instructions may be taken from; it may be empty.
  SpirvMutator(std::vector<uint32_t>& words, std::span<const uint32_t> donor, uint32_t seed);

  // One random change. Words that are no module (no instruction after a header) are left alone.
  void mutate();

 private:
  struct Range {
    size_t begin, end;
  };
  static std::vector<Range> instructions_of(std::span<const uint32_t> words);
  size_t pick(size_t count) { return std::uniform_int_distribution<size_t>(0, count - 1)(random_); }

  void change_operand();
  void swap_neighbours();
  void duplicate();
  void erase();
  void take_from_donor();
  void change_opcode();
  // A bound that is near the limit or beyond it.
  void change_bound();
  // A decoration, by way of a group.
  void group_decoration();
  // Another built-in where one is decorated.
  void change_builtin();

  std::vector<uint32_t>& words_;
  std::span<const uint32_t> donor_;
  std::vector<Range> instructions_;
  std::mt19937 random_;
};

}  // namespace tally::fuzz
