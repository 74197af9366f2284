#include "harness/rounds.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace tally::bench {
namespace {

// Combines samples[round][candidate][quantity], for one quantity and candidate, with the first
// candidate's value of the same round.
template <typename Combine>
Spread across_rounds(const std::vector<std::vector<Sample>>& samples, size_t candidate,
                     size_t quantity, Combine&& combine) {
  std::vector<double> values;
  for (const std::vector<Sample>& round : samples) {
    values.push_back(combine(round[candidate][quantity], round[0][quantity]));
  }
  return spread_of(std::move(values));
}

}  // namespace

Spread spread_of(std::vector<double> samples) {
  if (samples.empty()) return {};
  std::ranges::sort(samples);
  const auto at = [&](double part) {
    const double place = part * static_cast<double>(samples.size() - 1);
    const auto below = static_cast<size_t>(place);
    const size_t above = std::min(below + 1, samples.size() - 1);
    return std::lerp(samples[below], samples[above], place - static_cast<double>(below));
  };
  return {at(0.25), at(0.5), at(0.75)};
}

std::vector<Measured> measure_in_turn(std::span<const Candidate> candidates, int rounds) {
  for (const Candidate& candidate : candidates) candidate.measure();
  std::vector<std::vector<Sample>> samples;
  for (int round = 0; round < rounds; ++round) {
    samples.emplace_back();
    for (const Candidate& candidate : candidates) samples.back().push_back(candidate.measure());
  }
  std::vector<Measured> measured;
  for (size_t c = 0; c < candidates.size(); ++c) {
    Measured& result = measured.emplace_back();
    result.name = candidates[c].name;
    for (size_t q = 0; q < samples[0][c].size(); ++q) {
      result.values.push_back(across_rounds(samples, c, q, [](double a, double) { return a; }));
      result.ratios.push_back(
          across_rounds(samples, c, q, [](double a, double b) { return a / b; }));
      result.differences.push_back(
          across_rounds(samples, c, q, [](double a, double b) { return a - b; }));
    }
  }
  return measured;
}

double time_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace tally::bench
