// How often loops are executed, as far as constants tell: a test that every iteration executes
// compares an induction variable with a constant, as in for (i = first; i < 98; i += 64). That loop
// is bounded even if `first` is not known, because i is unsigned. If `first` is a constant, and
// only the test leaves the loop, the number of executions is known. It is also known if `first` is
// the invocation's number in its workgroup and all invocations iterate equally often.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "spirv/analysis/analyzed_module.h"
#include "spirv/analysis/loops.h"
#include "spirv/analysis/redundancy.h"

namespace tally::spirv {

inline constexpr uint32_t kUnbounded = ~0u;

constexpr uint32_t product_of_bounds(uint32_t a, uint32_t b) {
  const uint64_t product = uint64_t{a} * b;
  return product < kUnbounded ? static_cast<uint32_t>(product) : kUnbounded;
}

struct LoopBound {
  Loop loop;
  // How often the header is executed at most each time that the loop is entered, or kUnbounded.
  uint32_t executions = kUnbounded;
  // Present if the header is executed exactly that often, unless an invocation ends in a block of
  // the loop. Such a loop is entered by one edge and left by one.
  struct Constant {
    uint32_t before, exit;  // the only blocks before and after the loop
    uint32_t test;          // the block that leads to `exit`
    uint32_t latch;         // the only block that branches back, and to no other block of the loop
  };
  std::optional<Constant> constant;
  // An OpPhi of the header, or a variable, to which every iteration adds a constant, and which has
  // no value twice: the loop is left only where a test of it against something that the loop does
  // not change says so. 0 if there is none.
  uint32_t distinct = 0;
};

// Bounds of all loops of a function that has a Cfg, outer loops first. `entry` is the entry
// point that reaches the function.
std::vector<LoopBound> find_loop_bounds(const AnalyzedModule& analyzed, const EntryPoint& entry,
                                        uint32_t function);

// Short are loops of at most 32 known iterations and 2,048 instructions. Nothing is known if the
// module has no such entry point.
GpuCompiler gpu_compiler(const Module& module, spv::ExecutionModel stage,
                         std::string_view entry_point);

// How often a call of the function executes each of its blocks at most, or kUnbounded.
std::vector<uint32_t> block_bounds(std::span<const LoopBound> loops, size_t block_count);

}  // namespace tally::spirv
