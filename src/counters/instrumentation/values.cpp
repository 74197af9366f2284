#include "counters/instrumentation/values.h"

#include <tally/vulkan_arm.h>

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "base/log.h"
#include "counters/instrumentation/instrumented_record.h"

namespace tally::counters {
namespace {

// What one execution of each of a stage's blocks adds to each metric: [block][metric]. 0 for those
// that do not follow from executions.
std::vector<uint64_t> costs_of(const StageProgram& stage, std::span<const Metric> metrics) {
  std::vector<uint64_t> costs;
  costs.reserve(stage.info->blocks.size() * metrics.size());
  for (const spirv::InstructionMix& mix : stage.info->blocks) {
    for (const Metric& metric : metrics) {
      switch (metric.kind) {
        case Metric::Kind::Executions:
          costs.push_back(1);
          break;
        case Metric::Kind::Subgroups:
          costs.push_back(0);
          break;
        case Metric::Kind::Cost:
          costs.push_back(mix[metric.cost]);
          break;
      }
    }
  }
  return costs;
}

// Appends blocks to the application's array until it is full. The array may be unaligned.
class BlockWriter {
 public:
  explicit BlockWriter(const ValuesRequest& request)
      : request_(request),
        target_(static_cast<std::byte*>(request.blocks)),
        capacity_(*request.count),
        values_(request.metrics.size()) {
    for (size_t i = 0; i < request.metrics.size(); ++i) {
      if (request.metrics[i].kind == Metric::Kind::Subgroups) subgroups_.push_back(i);
    }
  }

  uint32_t written() const { return written_; }

  // False if the array is full before all blocks of the stage are written.
  bool write(uint32_t result_index, const StageProgram& stage, const spirv::BlockCounts& counts) {
    const std::span<const uint64_t> costs = known_costs(stage);
    for (uint32_t block = 0; block < stage.info->blocks.size(); ++block) {
      if (written_ == capacity_) return false;
      put_header({result_index, 0, static_cast<VkShaderStageFlags>(stage.stage), block});
      put_values(counts, block, costs.subspan(block * values_.size(), values_.size()));
      ++written_;
    }
    return true;
  }

 private:
  std::span<const uint64_t> known_costs(const StageProgram& stage) {
    const auto [place, added] = costs_.try_emplace(&stage);
    if (added) place->second = costs_of(stage, request_.metrics);
    return place->second;
  }
  void put_header(const VkShaderInstrumentationMetricDataHeaderARM& header) {
    std::memcpy(target_, &header, sizeof header);
    target_ += sizeof header;
  }
  void put_values(const spirv::BlockCounts& counts, uint32_t block,
                  std::span<const uint64_t> costs) {
    const uint64_t executions = counts.executions[block];
    for (size_t i = 0; i < values_.size(); ++i) values_[i] = executions * costs[i];
    for (const size_t i : subgroups_) {
      values_[i] = block < counts.subgroups.size() ? counts.subgroups[block] : 0;
    }
    const size_t bytes = values_.size() * sizeof(uint64_t);
    std::memcpy(target_, values_.data(), bytes);
    target_ += bytes;
  }

  const ValuesRequest& request_;
  std::byte* target_;
  const uint32_t capacity_;
  uint32_t written_ = 0;
  std::vector<uint64_t> values_;   // of one block
  std::vector<size_t> subgroups_;  // the metrics of that kind
  std::unordered_map<const StageProgram*, std::vector<uint64_t>> costs_;
};

// The part of the page with the record of one slot.
std::span<const uint64_t> slot_words(const InstrumentationRecord& record, AddressSlot slot,
                                     std::span<const uint64_t> page) {
  const uint64_t begin = uint64_t{record.offset} * probe::kRecordAlignment +
                         slot_begin(*record.program, slot, record.shards_log2);
  const uint64_t size = slot_bytes(*record.program, slot, record.shards_log2);
  if (begin + size > page.size_bytes()) return {};
  return page.subspan(begin / sizeof(uint64_t), size / sizeof(uint64_t));
}

// False if the array is full before all blocks of the stage are written.
bool write_stage(const InstrumentationRecord& record, const StageProgram& stage,
                 std::span<const uint64_t> page, std::vector<std::string>* findings,
                 RecordReader& reader, BlockWriter& writer) {
  const Status read = reader.read(*record.program, stage, slot_words(record, stage.slot, page),
                                  record.shards_log2, findings);
  if (!read) {
    log_once(LogLevel::Error, "{}", read.error().message);
    return true;
  }
  return writer.write(record.result_index, stage, reader.counts());
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
  RecordReader reader;
  BlockWriter writer(request);
  bool complete = true;
  for (const InstrumentationRecord& record : records) {
    for (const StageProgram& stage : record.program->stages) {
      if (!stage.reported) continue;
      complete = complete && write_stage(record, stage, snapshot.page(record.page),
                                         request.findings, reader, writer);
    }
    if (!complete) break;
  }
  *request.count = writer.written();
  return complete ? VK_SUCCESS : VK_INCOMPLETE;
}

}  // namespace tally::counters
