#include "spirv/instrument/plan/counter_plan.h"

#include <fmt/format.h>

namespace tally::spirv {
namespace {

class Values {
 public:
  explicit Values(const CounterPlan& plan) : plan_(plan) {}

  void push(uint64_t value) { values_.push_back(value); }
  uint64_t of(uint32_t value) const { return value < values_.size() ? values_[value] : 0; }
  uint64_t of(CounterPlan::Sum sum) const {
    uint64_t total = 0;
    for (uint32_t i = sum.begin; i < sum.end; ++i) {
      const auto& term = plan_.terms[i];
      total += term.negative ? -of(term.value) : of(term.value);
    }
    return total;
  }

 private:
  const CounterPlan& plan_;
  std::vector<uint64_t> values_;
};

Values evaluate(const CounterPlan& plan, std::span<const uint64_t> counters) {
  Values values(plan);
  for (uint32_t i = 0; i < plan.counter_count; ++i) {
    values.push(i < counters.size() ? counters[i] : 0);
  }
  for (const auto& sum : plan.derived) values.push(values.of(sum));
  return values;
}

}  // namespace

BlockCounts CounterPlan::derive(std::span<const uint64_t> counters) const {
  const Values values = evaluate(*this, counters);
  BlockCounts counts;
  counts.executions.reserve(block_count);
  for (const uint32_t value : block_values) counts.executions.push_back(values.of(value));
  for (const uint32_t value : subgroup_counters) counts.subgroups.push_back(values.of(value));
  return counts;
}

// From the last value to the first: each passes its weight on to the values it is derived from.
std::vector<uint32_t> CounterPlan::factors(std::vector<uint32_t> weights) const {
  for (size_t i = derived.size(); i-- > 0;) {
    const uint32_t weight = weights[counter_count + i];
    if (weight == 0) continue;
    for (uint32_t t = derived[i].begin; t < derived[i].end; ++t) {
      const Term& term = terms[t];
      if (term.value >= weights.size()) continue;  // kZero
      weights[term.value] += term.negative ? -weight : weight;
    }
  }
  weights.resize(counter_count);
  return weights;
}

std::vector<std::string> CounterPlan::verify(std::span<const uint64_t> counters) const {
  const Values values = evaluate(*this, counters);
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
  return findings;
}

}  // namespace tally::spirv
