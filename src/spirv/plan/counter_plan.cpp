#include "spirv/plan/counter_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace tally::spirv {
namespace {

// The evaluated part of a plan.
class Values {
 public:
  Values(const CounterPlan& plan, std::vector<uint64_t>& values) : plan_(plan), values_(values) {}

  void evaluate(std::span<const uint64_t> counters) {
    values_.assign(plan_.value_count(), 0);
    const size_t known = std::min<size_t>(plan_.counter_count, counters.size());
    std::copy_n(counters.begin(), known, values_.begin());
    uint32_t value = plan_.counter_count;
    for (const auto& sum : plan_.derived) values_[value++] = of(sum);
  }
  uint64_t of(uint32_t value) const { return value < values_.size() ? values_[value] : 0; }
  uint64_t of(CounterPlan::Sum sum) const {
    uint64_t total = 0;
    for (uint32_t i = sum.begin; i < sum.end; ++i) {
      const auto& term = plan_.terms[i];
      total += of(term.value) * static_cast<uint64_t>(int64_t{term.factor});
    }
    return total;
  }

 private:
  const CounterPlan& plan_;
  std::vector<uint64_t>& values_;
};

}  // namespace

void CounterPlan::derive(std::span<const uint64_t> counters, std::vector<uint64_t>& buffer,
                         BlockCounts& counts) const {
  Values values(*this, buffer);
  values.evaluate(counters);
  const auto fill = [&](std::vector<uint64_t>& of_blocks, std::span<const uint32_t> positions) {
    of_blocks.resize(positions.size());
    for (size_t i = 0; i < positions.size(); ++i) of_blocks[i] = values.of(positions[i]);
  };
  fill(counts.executions, block_values);
  fill(counts.subgroups, subgroup_values);
  counts.branches.clear();
  for (const BranchValue& of : branch_values) {
    counts.branches.push_back({of.block, of.target, values.of(of.value)});
  }
  counts.sites.clear();
  for (const SiteCounter& of : site_counters) {
    const uint64_t value = of.counter < counters.size() ? counters[of.counter] : 0;
    if (of.slot == SiteSlot::TouchedLines) {
      const auto sketch = counters.subspan(std::min<size_t>(of.counter, counters.size()));
      counts.sites.push_back({of.site, of.slot,
                              LineSketch::estimate(sketch.first(
                                  std::min<size_t>(sketch.size(), LineSketch::kCounters)))});
    } else if (of.subtracts) {
      // It is larger than the sum only where accesses were missed.
      uint64_t& sum = counts.sites.back().value;
      sum -= std::min(sum, value);
    } else {
      counts.sites.push_back({of.site, of.slot, value});
    }
  }
}

// With n lines, bit b of a row is not set with the probability exp(-n share(b) / kRows). The slope
// of the likelihood's logarithm falls as n rises, so its zero is found by halving.
uint64_t LineSketch::estimate(std::span<const uint64_t> counters) {
  std::array<uint32_t, kBits + 1> rows_with{};  // by bit
  for (const uint64_t counter : counters) {
    for (uint32_t bit = 0; counter != 0 && bit <= kBits; ++bit)
      rows_with[bit] += static_cast<uint32_t>((counter >> bit & 1) + (counter >> (32 + bit) & 1));
  }
  const auto slope = [&](double lines_of_row) {
    double sum = 0;
    for (uint32_t bit = 0; bit <= kBits; ++bit) {
      const double share = std::ldexp(1.0, -static_cast<int>(std::min(bit + 1, kBits)));
      sum -= (kRows - rows_with[bit]) * share;
      if (rows_with[bit] != 0) sum += rows_with[bit] * share / std::expm1(lines_of_row * share);
    }
    return sum;
  };
  double low = 0, high = double{UINT32_MAX} / kRows;
  for (uint32_t step = 0; step < 50; ++step) {
    const double middle = (low + high) / 2;
    (slope(middle) > 0 ? low : high) = middle;
  }
  return static_cast<uint64_t>(std::llround(low * kRows));
}

size_t CounterPlan::site_count() const {
  size_t count = 0;
  for (size_t i = 0; i < site_counters.size(); ++i) {
    count += i == 0 || site_counters[i].site != site_counters[i - 1].site;
  }
  return count;
}

// From the last value to the first: each passes its weight on to the values it is derived from.
std::vector<uint32_t> CounterPlan::factors(std::vector<uint32_t> weights) const {
  for (size_t i = derived.size(); i-- > 0;) {
    const uint32_t weight = weights[counter_count + i];
    if (weight == 0) continue;
    for (uint32_t t = derived[i].begin; t < derived[i].end; ++t) {
      const Term& term = terms[t];
      if (term.value >= weights.size()) continue;  // kZero
      weights[term.value] += weight * static_cast<uint32_t>(term.factor);
    }
  }
  weights.resize(counter_count);
  return weights;
}

std::vector<std::string> CounterPlan::verify(std::span<const uint64_t> counters) const {
  std::vector<uint64_t> buffer;
  Values values(*this, buffer);
  values.evaluate(counters);
  std::vector<std::string> findings;
  for (const auto& balance : balances) {
    const uint64_t in = values.of(balance.inflow);
    const uint64_t out = values.of(balance.outflow);
    if (in != out) {
      findings.push_back(
          fmt::format("block {}: {} flow in and {} flow out", balance.block, in, out));
    }
  }
  for (uint32_t block = 0; block < block_values.size(); ++block) {
    const uint64_t count = values.of(block_values[block]);
    if (count >> 63) {
      findings.push_back(
          fmt::format("block {}: its count of {} is negative", block, static_cast<int64_t>(count)));
    }
  }
  for (const BranchValue& of : branch_values) {
    const uint64_t count = values.of(of.value);
    if (count >> 63) {
      findings.push_back(fmt::format("block {}: the count of {} of target {} is negative", of.block,
                                     static_cast<int64_t>(count), of.target));
    }
  }
  return findings;
}

}  // namespace tally::spirv
