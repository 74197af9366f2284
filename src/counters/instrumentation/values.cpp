#include "counters/instrumentation/values.h"

#include <cstring>

#include <tally/vulkan_arm.h>

#include "base/log.h"
#include "counters/instrumentation/instrumented_record.h"

namespace tally::counters {
namespace {

// Appends blocks to the application's array until it is full. The array may be unaligned.
class BlockWriter {
 public:
  explicit BlockWriter(const ValuesRequest& request)
      : request_(request),
        target_(static_cast<std::byte*>(request.blocks)),
        capacity_(*request.count) {}

  bool full() const { return written_ == capacity_; }
  uint32_t written() const { return written_; }

  void write(const VkShaderInstrumentationMetricDataHeaderARM& header,
             const spirv::BlockCounts& counts, const spirv::InstructionMix& mix) {
    put(&header, sizeof header);
    const uint64_t executions = counts.executions[header.basicBlockIndex];
    for (const Metric& metric : request_.metrics) {
      uint64_t value = 0;
      switch (metric.kind) {
        case Metric::Kind::Executions:
          value = executions;
          break;
        case Metric::Kind::Subgroups:
          value = header.basicBlockIndex < counts.subgroups.size()
                      ? counts.subgroups[header.basicBlockIndex]
                      : 0;
          break;
        case Metric::Kind::Cost:
          value = executions * mix[metric.cost];
          break;
      }
      put(&value, sizeof value);
    }
    ++written_;
  }

 private:
  void put(const void* data, size_t size) {
    std::memcpy(target_, data, size);
    target_ += size;
  }

  const ValuesRequest& request_;
  std::byte* target_;
  uint32_t capacity_;
  uint32_t written_ = 0;
};

// The part of the page with the record of one slot.
std::span<const uint64_t> slot_words(const InstrumentationRecord& record, AddressSlot slot,
                                     std::span<const uint64_t> page) {
  uint64_t begin = uint64_t{record.offset} * probe::kRecordAlignment;
  if (slot == AddressSlot::Fragment)
    begin += slot_bytes(*record.program, AddressSlot::Main, record.shards_log2);
  const uint64_t size = slot_bytes(*record.program, slot, record.shards_log2);
  if (begin + size > page.size_bytes()) return {};
  return page.subspan(begin / sizeof(uint64_t), size / sizeof(uint64_t));
}

// False if the array is full before all blocks of the stage are written.
bool write_stage(const InstrumentationRecord& record, const StageProgram& stage,
                 std::span<const uint64_t> page, std::vector<std::string>* findings,
                 BlockWriter& writer) {
  const Result<spirv::BlockCounts> counts = read_stage(
      *record.program, stage, slot_words(record, stage.slot, page), record.shards_log2, findings);
  if (!counts) {
    log_once(LogLevel::Error, "{}", counts.error().message);
    return true;
  }
  for (uint32_t block = 0; block < stage.info->blocks.size(); ++block) {
    if (writer.full()) return false;
    writer.write({record.result_index, 0, static_cast<VkShaderStageFlags>(stage.stage), block},
                 *counts, stage.info->blocks[block]);
  }
  return true;
}

}  // namespace

uint32_t count_blocks(std::span<const InstrumentationRecord> records) {
  uint64_t count = 0;
  for (const InstrumentationRecord& record : records) {
    for (const StageProgram& stage : record.program->stages) {
      if (stage.reported) count += stage.info->blocks.size();
    }
  }
  return static_cast<uint32_t>(std::min<uint64_t>(count, UINT32_MAX));
}

VkResult write_blocks(std::span<const InstrumentationRecord> records,
                      const RecordSnapshot& snapshot, const ValuesRequest& request) {
  BlockWriter writer(request);
  bool complete = true;
  for (const InstrumentationRecord& record : records) {
    for (const StageProgram& stage : record.program->stages) {
      if (!stage.reported) continue;
      complete = complete &&
                 write_stage(record, stage, snapshot.page(record.page), request.findings, writer);
    }
    if (!complete) break;
  }
  *request.count = writer.written();
  return complete ? VK_SUCCESS : VK_INCOMPLETE;
}

}  // namespace tally::counters
