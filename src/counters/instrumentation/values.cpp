#include "counters/instrumentation/values.h"

#include <tally/vulkan_arm.h>

#include <algorithm>
#include <cstring>
#include <optional>
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
        case Metric::Kind::Lanes:
        case Metric::Kind::Branch:
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
        capacity_(*request.count) {
    for (size_t i = 0; i < request.metrics.size(); ++i) {
      const Metric::Kind kind = request.metrics[i].kind;
      if (kind == Metric::Kind::Subgroups) subgroups_.emplace_back(i, 1);
      if (kind == Metric::Kind::Lanes) subgroups_.emplace_back(i, request.subgroup_size);
    }
    const auto first = std::ranges::find(request.metrics, Metric::Kind::Branch, &Metric::kind);
    first_branch_ = static_cast<size_t>(first - request.metrics.begin());
  }

  uint32_t written() const { return written_; }

  // False if the array is full before all blocks of the stage are written.
  bool write(const InstrumentationRecord& record, const StageProgram& stage,
             const spirv::BlockCounts& counts) {
    const std::span<const uint64_t> costs = known_costs(*record.program, stage);
    const size_t metrics = request_.metrics.size();
    auto branches = std::span(counts.branches);
    for (uint32_t block = 0; block < stage.info->blocks.size(); ++block) {
      if (written_ == capacity_) return false;
      put_header({record.result_index, stage.sub_index,
                  static_cast<VkShaderStageFlags>(stage.stage), block});
      size_t taken = 0;
      while (taken < branches.size() && branches[taken].block == block) ++taken;
      put_values(counts, block, costs.subspan(block * metrics, metrics), branches.first(taken));
      branches = branches.subspan(taken);
      ++written_;
    }
    return true;
  }

 private:
  // Consecutive records are mostly of one program.
  std::span<const uint64_t> known_costs(const Program& program, const StageProgram& stage) {
    if (program_ != &program) {
      program_ = &program;
      program_costs_ = &costs_[&program];
      program_costs_->resize(program.stages.size());
    }
    auto& costs = (*program_costs_)[static_cast<size_t>(&stage - program.stages.data())];
    if (!costs) costs = costs_of(stage, request_.metrics);
    return *costs;
  }
  void put_header(const VkShaderInstrumentationMetricDataHeaderARM& header) {
    std::memcpy(target_, &header, sizeof header);
    target_ += sizeof header;
  }
  void put_values(const spirv::BlockCounts& counts, uint32_t block, std::span<const uint64_t> costs,
                  std::span<const spirv::BlockCounts::Taken> branches) {
    const uint64_t executions = counts.executions[block];
    for (size_t i = 0; i < costs.size(); ++i) put(i, executions * costs[i]);
    for (const auto& [i, factor] : subgroups_) {
      put(i, block < counts.subgroups.size() ? factor * counts.subgroups[block] : 0);
    }
    for (const auto& [of, target, times] : branches) {
      if (first_branch_ + target < costs.size()) put(first_branch_ + target, times);
    }
    target_ += costs.size() * sizeof(uint64_t);
  }
  void put(size_t metric, uint64_t value) {
    std::memcpy(target_ + metric * sizeof value, &value, sizeof value);
  }

  const ValuesRequest& request_;
  std::byte* target_;
  const uint32_t capacity_;
  uint32_t written_ = 0;
  // The metrics that are a multiple of the subgroups, and the factor.
  std::vector<std::pair<size_t, uint64_t>> subgroups_;
  size_t first_branch_ = 0;  // the metrics of branches are the last, by target
  using StageCosts = std::vector<std::optional<std::vector<uint64_t>>>;  // of a program's stages
  std::unordered_map<const Program*, StageCosts> costs_;
  const Program* program_ = nullptr;  // of the last record
  StageCosts* program_costs_ = nullptr;
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
  return writer.write(record, stage, reader.counts());
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
