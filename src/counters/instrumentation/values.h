// Converts records to the metric blocks of vkGetShaderInstrumentationValuesARM.
#pragma once

#include <vulkan/vulkan_core.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "counters/memory/record_pool.h"
#include "counters/shader/metrics.h"
#include "counters/shader/program.h"

namespace tally::counters {

// The record of one action command.
struct InstrumentationRecord {
  uint32_t result_index = 0;
  uint32_t page = 0;    // index into the object's pages
  uint32_t offset = 0;  // in the page, in units of probe::kRecordAlignment
  uint32_t shards_log2 = 0;
  const Program* program = nullptr;

  bool operator==(const InstrumentationRecord&) const = default;
};

// The arguments of vkGetShaderInstrumentationValuesARM.
struct ValuesRequest {
  std::span<const Metric> metrics;
  uint64_t subgroup_size = 1;                    // the device's
  uint32_t* count = nullptr;                     // in: capacity in blocks; out: blocks written
  void* blocks = nullptr;                        // null: only count
  std::vector<std::string>* findings = nullptr;  // inconsistent counts; null: not checked
};

// `records` must be sorted by result index.
uint32_t count_blocks(std::span<const InstrumentationRecord> records);
VkResult write_blocks(std::span<const InstrumentationRecord> records,
                      const RecordSnapshot& snapshot, const ValuesRequest& request);

}  // namespace tally::counters
