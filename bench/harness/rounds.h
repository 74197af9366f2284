// Measurements that hold on a machine that does other things too: every candidate is measured once
// in each round, in turn, and what is reported is the median over the rounds of the ratio to the
// first candidate of the same round. Times of different runs are never compared.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace tally::bench {

// One number (usually nanoseconds) for each quantity that is measured.
using Sample = std::vector<double>;

struct Candidate {
  std::string name;
  std::function<Sample()> measure;  // as many numbers as every other candidate
};

struct Spread {
  double low = 0, median = 0, high = 0;  // quartiles
};

struct Measured {
  std::string name;
  std::vector<Spread> values;       // of each quantity
  std::vector<Spread> ratios;       // to the first candidate of the same round
  std::vector<Spread> differences;  // from the first candidate of the same round
};

Spread spread_of(std::vector<double> samples);

// Each candidate once unmeasured, then `rounds` rounds.
std::vector<Measured> measure_in_turn(std::span<const Candidate> candidates, int rounds);

// Nanoseconds that `work` took by the steady clock.
double time_of(const std::function<void()>& work);

}  // namespace tally::bench
