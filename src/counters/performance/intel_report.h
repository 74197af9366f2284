// Writes the results of VK_INTEL_performance_query as the report that include/tally/intel_report.h
// describes and reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "counters/performance/counters.h"

namespace tally::counters {

struct IntelValue {
  uint32_t counter = 0;  // its number in the catalogue
  uint64_t value = 0;
};

struct IntelReport {
  std::optional<uint64_t> marker;
  std::optional<uint32_t> stream_marker;
  uint32_t uncounted_commands = 0;
  std::vector<IntelValue> values;
};

// Writes as many values as fit. False if the header does not fit; then nothing is written.
bool write_intel_report(const IntelReport& report, std::span<std::byte> target);

// The counters of a device's reports: all integer counters that do not need a whole command buffer.
// Counters of commands and invocations come before those of instructions, so that short reports
// have them.
std::vector<PerformanceCounter> intel_counters(const PhysicalDevice& gpu, const Options& options);

}  // namespace tally::counters
