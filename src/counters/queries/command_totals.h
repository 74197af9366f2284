// Counts of commands that the host makes while they are recorded: how many of each kind there are,
// and what their arguments say.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "counters/shader/query_source.h"

namespace tally::counters {

struct CommandTotals {
  std::array<uint64_t, kCommandMetrics> metrics{};
  uint64_t errors = 0;  // commands that a query should have counted and did not
  // For occlusion queries, in addition: fewer where the driver counts samples of such commands,
  // more where nothing counts them exactly.
  int64_t sample_errors = 0;
  uint64_t unread = 0;  // commands whose arguments are not known
  // VK_INTEL_performance_query: the last marker of each kind.
  std::optional<uint64_t> marker;
  std::optional<uint32_t> stream_marker;

  void count(CommandMetric metric, uint64_t number) {
    metrics[static_cast<size_t>(metric)] += number;
  }
  uint64_t of(CommandMetric metric) const { return metrics[static_cast<size_t>(metric)]; }
  // Adds the totals of an executed secondary command buffer.
  void add(const CommandTotals& executed) {
    for (size_t i = 0; i < kCommandMetrics; ++i) metrics[i] += executed.metrics[i];
    errors += executed.errors;
    sample_errors += executed.sample_errors;
    unread += executed.unread;
    if (executed.marker) marker = executed.marker;
    if (executed.stream_marker) stream_marker = executed.stream_marker;
  }
};

}  // namespace tally::counters
