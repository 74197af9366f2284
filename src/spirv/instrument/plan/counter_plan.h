// What the host needs to turn the counters of an instrumented module into executions of every
// block. A plain value: the pass makes it, the layer keeps it beside the pipeline; it refers to
// nothing.
//
// A value is a 64-bit number: the counters first (values 0 .. counter_count-1), then what is
// derived from earlier values, in order. All arithmetic is modulo 2^64, so a derived count is exact
// whenever the count itself is below 2^64.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tally::spirv {

// The public numbering of blocks indexes both.
struct BlockCounts {
  std::vector<uint64_t> executions;  // by non-helper invocations
  std::vector<uint64_t> subgroups;   // empty unless they are counted
};

struct CounterPlan {
  static constexpr uint32_t kZero = ~0u;   // a value that is always 0
  static constexpr uint32_t kStreams = 4;  // at most, of vertices

  // A sum of values, as positions in CounterPlan::terms.
  struct Sum {
    uint32_t begin = 0;
    uint32_t end = 0;
  };
  struct Term {
    uint32_t value = kZero;
    bool negative = false;
  };
  // Two sums that are equal in every execution; `block` is one of the blocks concerned.
  struct Balance {
    Sum inflow;
    Sum outflow;
    uint32_t block = 0;
  };

  uint32_t counter_count = 0;  // those of subgroups included
  uint32_t block_count = 0;
  std::vector<Sum> derived;                 // value counter_count + i
  std::vector<uint32_t> block_values;       // value of each block's executions
  std::vector<uint32_t> subgroup_counters;  // counter of each block's subgroups, or kZero; or empty
  // Counters of what the stage puts out (BlockCountOptions::count_outputs), or kZero: by the vertex
  // stream of a geometry shader, the first one of all others.
  std::array<uint32_t, kStreams> output_counters{kZero, kZero, kZero, kZero};
  std::vector<Balance> balances;  // flow conservation, in the placement of every block only
  std::vector<Term> terms;

  // `counters` holds the sum over the shards of each counter (probe::sum_shards); at least
  // counter_count of them.
  BlockCounts derive(std::span<const uint64_t> counters) const;
  // The same into `counts`. A caller keeps `buffer` and `counts` for the next time.
  void derive(std::span<const uint64_t> counters, std::vector<uint64_t>& buffer,
              BlockCounts& counts) const;

  // Counters and what is derived from them.
  uint32_t value_count() const { return counter_count + static_cast<uint32_t>(derived.size()); }

  // `weights` has one number for each value. What all values, each times its weight, add up to, as
  // a factor for each counter, modulo 2^32 (so -1 is 2^32 - 1).
  std::vector<uint32_t> factors(std::vector<uint32_t> weights) const;

  // The debug mode: one line for each place where what flows in does not flow out (placement
  // Every), and for each block whose count came out above 2^63, as a negative difference does (any
  // placement).
  std::vector<std::string> verify(std::span<const uint64_t> counters) const;
};

}  // namespace tally::spirv
