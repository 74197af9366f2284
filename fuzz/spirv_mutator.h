// Mutates a module by whole instructions and operands, so that most results still parse and some
// are still valid: random bytes rarely get past the reader.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

namespace tally::fuzz {

class SpirvMutator {
 public:
  // `donor` is a second module from which instructions may be copied; it may be empty.
  SpirvMutator(std::vector<uint32_t>& words, std::span<const uint32_t> donor, uint32_t seed);

  // Applies one random mutation. Leaves words that are not a module (no instruction after a header)
  // unchanged.
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
  // Sets an id bound close to the limit or above it.
  void change_bound();
  // Applies a decoration through a decoration group.
  void group_decoration();
  // Changes the built-in of a decorated variable.
  void change_builtin();
  // Puts many copies of an instruction behind it, each the operand of the next one.
  void make_chain();
  // Makes an instruction use itself, or one that comes later.
  void make_cycle();

  std::vector<uint32_t>& words_;
  std::span<const uint32_t> donor_;
  std::vector<Range> instructions_;
  std::mt19937 random_;
};

}  // namespace tally::fuzz
