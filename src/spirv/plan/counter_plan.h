// How the host derives the executions of every block from the counters of an instrumented module. A
// plain value: the pass makes it and the layer keeps it with the pipeline.
//
// Values are 64-bit numbers. The first counter_count values are the counters; each further value is
// derived from earlier ones. Arithmetic is modulo 2^64, so a derived count is exact if it is below
// 2^64.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "spirv/analysis/sites.h"

namespace tally::spirv {

// Indexed by block number (BlockMap).
struct BlockCounts {
  // How often a block's branch went to one of its targets (analysis/branches.h).
  struct Taken {
    uint32_t block;
    uint32_t target;
    uint64_t times;
  };
  // A number of a site (analysis/sites.h).
  struct SiteValue {
    uint32_t site;
    SiteSlot slot;
    uint64_t value;
  };
  std::vector<uint64_t> executions;  // by non-helper invocations
  std::vector<uint64_t> subgroups;   // empty unless they are counted
  std::vector<Taken> branches;       // by block and target; empty unless they are counted
  std::vector<SiteValue> sites;      // by site and slot; empty unless they are counted
};

// How many different lines of memory a stage touched, from 4 bytes for each of 512 rows: a sketch
// of Flajolet and Martin (Probabilistic Counting Algorithms for Data Base Applications, 1985), read
// by maximum likelihood. A line's hash chooses a row, and a bit of it: half of the hashes bit 0, a
// quarter bit 1 ... So setting bits that are set changes nothing, and rows of several executions
// are united by OR. The standard error is 0.649 / sqrt(rows) (by Fisher's information,
// sqrt(6 ln 2) / pi / sqrt(rows)): 2.9 %. Tested by counter_plan_test.cpp and site_count_gpu_test.
struct LineSketch {
  static constexpr uint32_t kRowsLog2 = 9;
  static constexpr uint32_t kRows = 1u << kRowsLog2;
  static constexpr uint32_t kCounters = kRows / 2;   // of 64 bits; the low word is the first row
  static constexpr uint32_t kBits = 32 - kRowsLog2;  // that the rest of a hash chooses from

  // The number of lines, at most 2^32 - 1: where all bits are set.
  static uint64_t estimate(std::span<const uint64_t> counters);
};

struct CounterPlan {
  static constexpr uint32_t kZero = ~0u;   // a value that is always 0
  static constexpr uint32_t kStreams = 4;  // at most, of vertices

  // A weighted sum of values, as positions in CounterPlan::terms.
  struct Sum {
    uint32_t begin = 0;
    uint32_t end = 0;
  };
  struct Term {
    uint32_t value = kZero;
    int32_t factor = 1;
  };
  // Two sums that are equal in every execution; `block` is one of their blocks.
  struct Balance {
    Sum inflow;
    Sum outflow;
    uint32_t block = 0;
  };

  uint32_t counter_count = 0;  // including the counters of subgroups, not those of sites
  uint32_t block_count = 0;
  std::vector<Sum> derived;               // value counter_count + i
  std::vector<uint32_t> block_values;     // value of each block's executions
  std::vector<uint32_t> subgroup_values;  // value of each block's subgroups, or kZero; or empty
  // Counters of the stage's outputs (BlockCountOptions::count_outputs), or kZero: one for each
  // vertex stream of a geometry shader; other stages use the first.
  std::array<uint32_t, kStreams> output_counters{kZero, kZero, kZero, kZero};
  // The value of each edge that leaves a branch, by block and target. Edges without one were not
  // taken.
  struct BranchValue {
    uint32_t block;
    uint32_t target;
    uint32_t value;
  };
  std::vector<BranchValue> branch_values;
  // The counters of sites, by site and slot. They follow the others, in any order. A number may be
  // the difference of two counters.
  struct SiteCounter {
    uint32_t site;
    SiteSlot slot;
    uint32_t counter;
    bool subtracts = false;
  };
  std::vector<SiteCounter> site_counters;
  bool has_maxima = false;        // some of them are no sums
  bool has_sketch = false;        // the counter of TouchedLines is the first of a LineSketch
  std::vector<Balance> balances;  // flow conservation, in the placement of every block only
  std::vector<Term> terms;

  // How many counters a shard of the record has.
  uint32_t record_counters() const {
    return counter_count + static_cast<uint32_t>(site_counters.size()) +
           (has_sketch ? LineSketch::kCounters - 1 : 0);
  }

  // How many sites have counters.
  size_t site_count() const;

  // `counters` holds the sum over the shards of each counter (probe::sum_shards); at least
  // record_counters() of them. A caller keeps `buffer` and `counts` for the next time.
  void derive(std::span<const uint64_t> counters, std::vector<uint64_t>& buffer,
              BlockCounts& counts) const;

  // Counters and derived values.
  uint32_t value_count() const { return counter_count + static_cast<uint32_t>(derived.size()); }

  // Expresses the weighted sum of all values by the counters alone: returns a factor for each
  // counter, modulo 2^32 (so -1 is 2^32 - 1). `weights` has one element for each value.
  std::vector<uint32_t> factors(std::vector<uint32_t> weights) const;

  // For debugging: a message for each violation of flow conservation (Placement::Every only), and
  // for each count above 2^63, which is a negative difference.
  std::vector<std::string> verify(std::span<const uint64_t> counters) const;
};

}  // namespace tally::spirv
