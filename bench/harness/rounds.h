// Measurements that stay valid on a machine with other load. Each round measures every candidate
// once, one after another. The result is the median over the rounds of the ratio to the first
// candidate of the same round. Times of different runs are never compared.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace tally::bench {

// One value (usually in nanoseconds) per measured quantity.
using Sample = std::vector<double>;

struct Candidate {
  std::string name;
  std::function<Sample()> measure;  // returns as many values as every other candidate
};

struct Spread {
  double low = 0, median = 0, high = 0;  // quartiles
};

struct Measured {
  std::string name;
  std::vector<Spread> values;       // per quantity
  std::vector<Spread> ratios;       // to the first candidate of the same round
  std::vector<Spread> differences;  // from the first candidate of the same round
};

Spread spread_of(std::vector<double> samples);

// Runs each candidate once as a warm-up, then `rounds` rounds.
std::vector<Measured> measure_in_turn(std::span<const Candidate> candidates, int rounds);

// The wall-clock duration of `work` in nanoseconds (steady clock).
double time_of(const std::function<void()>& work);

}  // namespace tally::bench
