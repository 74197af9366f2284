// The loops of a shader, and which of them run a block: those around it, and those around the calls
// of its function.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "analysis/cost/block_totals.h"
#include "analysis/model/shader_code.h"

namespace tally::analysis {

struct LoopCount {
  uint64_t entries = 0;
  uint64_t iterations = 0;  // how often the body began
};

class ShaderLoops {
 public:
  explicit ShaderLoops(const ShaderCode& code);

  size_t size() const { return loops_.size(); }
  // Its first block; the place of the loop is that block's.
  uint32_t header(size_t loop) const { return loops_[loop].header; }
  // The loops that run a block, the outermost first.
  std::vector<uint32_t> around(uint32_t block) const;
  // The blocks whose executions tell how often a loop ran: its body, and those whose executions
  // less those of `returns` are its entries. Nullopt where no blocks do.
  struct Blocks {
    uint32_t body;
    std::vector<uint32_t> entries, returns;
  };
  std::optional<Blocks> blocks(size_t loop) const;
  std::optional<LoopCount> count(size_t loop, uint32_t variant, const BlockTotals& totals) const;

 private:
  // Blocks whose executions add up to a number; nullopt: no blocks do.
  using Sum = std::optional<std::vector<uint32_t>>;
  struct FoundLoop {
    uint32_t header, body;
    Sum entries, back;             // edges into the header from outside and from inside
    std::vector<uint32_t> blocks;  // ascending
  };

  void find_loops(const ShaderCode& code, uint32_t function);
  void find_callers(const ShaderCode& code);
  std::vector<uint32_t> around_in_function(uint32_t block) const;

  std::vector<FoundLoop> loops_;                   // by function, outer ones before those in them
  std::vector<uint32_t> function_of_;              // by block
  std::vector<std::vector<uint32_t>> of_callers_;  // by function: the loops around its calls
};

}  // namespace tally::analysis
