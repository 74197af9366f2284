// The metric blocks of a recording's instrumentation objects, sorted to its commands and stages.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "capture/block_costs.h"
#include "capture/recording.h"

namespace tally::capture {

class ValueReader {
 public:
  ValueReader(const Recording& recording, const MetricLayout& layout);

  // Blocks as vkGetShaderInstrumentationValuesARM gives them; their result indices count from
  // `first_result`.
  void take(uint32_t first_result, std::span<const uint64_t> words);

  // By result. A command's stage that gave no block is not there.
  std::vector<std::vector<stream::StageValues>> result();

 private:
  void open(uint32_t result, uint32_t sub, uint32_t stage);
  void close();

  const Recording& recording_;
  const MetricLayout& layout_;
  std::vector<uint32_t> command_of_result_;
  std::vector<std::vector<stream::StageValues>> stages_;
  std::optional<StageSum> sum_;
  uint32_t sum_result_ = 0;
  BlockCosts* costs_ = nullptr;
};

}  // namespace tally::capture
