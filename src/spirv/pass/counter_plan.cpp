#include "spirv/pass/counter_plan.h"

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

std::vector<std::vector<uint32_t>> CounterPlan::factors() const {
  std::vector<std::vector<uint32_t>> all;
  for (uint32_t i = 0; i < counter_count; ++i) {
    all.emplace_back(counter_count)[i] = 1;
  }
  for (const Sum& sum : derived) {
    std::vector<uint32_t> value(counter_count);
    for (uint32_t t = sum.begin; t < sum.end; ++t) {
      const Term& term = terms[t];
      if (term.value >= all.size()) continue;  // one that is always 0
      for (uint32_t i = 0; i < counter_count; ++i) {
        value[i] += term.negative ? -all[term.value][i] : all[term.value][i];
      }
    }
    all.push_back(std::move(value));
  }
  return all;
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
