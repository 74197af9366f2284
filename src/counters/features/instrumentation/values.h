// Values that instrumented shaders counted: from the words of one record to the executions of every
// block.
#pragma once

#include <vulkan/vulkan_core.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "counters/memory/record_pool.h"
#include "counters/shaders/program.h"

namespace tally::counters {

// Keeps its memory from one record to the next.
class RecordReader {
 public:
  // `stage` is of the program; `record` belongs to the stage's slot and is written with
  // 2^shards_log2 shards. Where `findings` is not null, what cannot be true of the counts is added
  // to it (CounterPlan::verify).
  Status read(const Program& program, const StageProgram& stage, std::span<const uint64_t> record,
              uint32_t shards_log2, std::vector<std::string>* findings = nullptr);
  const spirv::BlockCounts& counts() const { return counts_; }  // of the last record

 private:
  std::vector<uint64_t> sums_;
  std::vector<uint64_t> values_;
  spirv::BlockCounts counts_;
};

// Converts records to the metric blocks of vkGetShaderInstrumentationValuesARM.

// The record of one action command.
struct InstrumentationRecord {
  uint32_t result_index = 0;
  uint32_t page = 0;    // index into the object's pages
  uint32_t offset = 0;  // in the page, in units of probe::kRecordAlignment
  uint32_t shards_log2 = 0;
  const Program* program = nullptr;

  bool operator==(const InstrumentationRecord&) const = default;
};

// Records of one program with consecutive result indices, at equal distances in one page.
struct RecordRun {
  InstrumentationRecord first;
  uint32_t distance = 0;  // as InstrumentationRecord::offset
  uint32_t count = 1;

  InstrumentationRecord at(uint32_t index) const {
    InstrumentationRecord record = first;
    record.result_index += index;
    record.offset += index * distance;
    return record;
  }
};

// The arguments of vkGetShaderInstrumentationValuesARM.
struct ValuesRequest {
  std::span<const Metric> metrics;
  uint64_t subgroup_size = 1;                    // the device's
  uint32_t* count = nullptr;                     // in: capacity in blocks; out: blocks written
  void* blocks = nullptr;                        // null: only count
  std::vector<std::string>* findings = nullptr;  // inconsistent counts; null: not checked
};

// `runs` must be sorted by result index. `pages`: what InstrumentationRecord::page is an index of.
uint32_t count_blocks(std::span<const RecordRun> runs);
VkResult write_blocks(std::span<const RecordRun> runs, std::span<const PageWords> pages,
                      const ValuesRequest& request);

}  // namespace tally::counters
