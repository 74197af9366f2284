// The loops of a shader, and which of them run a block: those around it, and those around the calls
// of its function. The costs of functions and loops.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
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

// A function or a loop of a shader.
struct ShaderPart {
  uint32_t block;  // the first one of the function, or the header of the loop
  bool is_loop;
};

// Some functions and loops of a shader, and what their blocks cost. A block belongs to the
// innermost of them around it. A function that is none of them belongs to the parts that call it. A
// loop has the blocks that it reaches before its merge block, also those that leave it.
//
// Where functions have several callers, costs are apportioned as in CallCosts.
class ShaderParts {
 public:
  // `code` must outlive it.
  ShaderParts(const ShaderCode& code, std::vector<ShaderPart> parts);

  // The innermost part around a block, in its function: an index into the list, or kNone.
  uint32_t around(uint32_t block) const { return around_[block]; }
  // The same around a loop of the list.
  uint32_t outside(uint32_t part) const { return outside_[part]; }

  struct Cost {
    uint64_t self = 0;             // without the parts in it
    uint64_t all = 0;              // with the parts in it
    std::optional<uint64_t> runs;  // how often it began; nullopt: the blocks do not tell
  };
  // Indexed by part: the values of a metric.
  std::vector<Cost> costs(uint32_t variant, const BlockTotals& totals, size_t metric) const;
  // The names of functions that are no part, and whose costs `self` shares among parts without
  // knowing what each call took: some of their blocks ran in some calls alone.
  std::vector<std::string> divided(uint32_t variant, const BlockTotals& totals) const;

 private:
  uint32_t function_of(uint32_t block) const { return code_.map.blocks()[block].function; }
  // give(block of the call, share of `amount`) for each call of a function that ran.
  template <typename Give>
  void divide(uint32_t function, uint64_t amount, uint32_t variant, const BlockTotals& totals,
              const Give& give) const;

  const ShaderCode& code_;
  const ShaderLoops loops_;
  std::vector<ShaderPart> parts_;
  std::vector<uint32_t> order_;                   // functions, callees before their callers
  std::vector<std::vector<uint32_t>> called_in_;  // by function: the blocks of its calls
  std::vector<uint32_t> of_function_;             // parts, by function
  std::vector<uint32_t> inner_first_;             // parts that are loops
  std::vector<uint32_t> around_;                  // by block
  std::vector<uint32_t> outside_;                 // by part
};

}  // namespace tally::analysis
