#include "counters/features/instrumentation/values.h"

#include <tally/vulkan_arm.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <map>
#include <optional>
#include <unordered_map>

#include "base/log.h"
#include "counters/memory/chunk.h"

namespace tally::counters {

Status RecordReader::read(const Program& program, const StageProgram& stage,
                          std::span<const uint64_t> record, uint32_t shards_log2,
                          std::vector<std::string>* findings) {
  const spirv::CounterPlan& plan = stage.info->plan;
  const probe::StageCounters place = program.counters(stage);
  const size_t first = probe::counter_index(place, 0, 0);
  // The counters of small work need no sum.
  if (shards_log2 == 0 && !findings && first + plan.record_counters() <= record.size()) {
    plan.derive(record.subspan(first, plan.record_counters()), values_, counts_);
    return {};
  }
  sums_.resize(plan.record_counters());
  if (!probe::sum_shards(record, place, shards_log2, sums_)) {
    return Error{"internal error: a record is shorter than its program"};
  }
  if (findings) {
    for (std::string& finding : plan.verify(sums_)) findings->push_back(std::move(finding));
  }
  plan.derive(sums_, values_, counts_);
  return {};
}

namespace {

// The amount that one execution of each of a stage's blocks adds to each metric: [block][metric]. 0
// for those that do not follow from executions.
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
        case Metric::Kind::Site:
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
        block_bytes_(sizeof(Header) + request.metrics.size() * sizeof(uint64_t)),
        target_(static_cast<std::byte*>(request.blocks)),
        capacity_(*request.count) {
    for (size_t i = 0; i < request.metrics.size(); ++i) {
      const Metric::Kind kind = request.metrics[i].kind;
      if (kind == Metric::Kind::Subgroups) subgroups_.emplace_back(i, 1);
      if (kind == Metric::Kind::Lanes) subgroups_.emplace_back(i, request.subgroup_size);
      if (kind == Metric::Kind::Site) sites_.emplace(request.metrics[i].slot, i);
    }
    const auto first = std::ranges::find(request.metrics, Metric::Kind::Branch, &Metric::kind);
    first_branch_ = static_cast<size_t>(first - request.metrics.begin());
  }

  uint32_t written() const { return written_; }

  // Call this before the blocks of a record.
  void begin_record() {
    record_ = target_;
    first_of_record_ = written_;
  }
  // Writes the blocks of the last record once more, for another result. False if the array is full
  // before all are written.
  bool repeat_record(uint32_t result_index) {
    const uint32_t blocks = written_ - first_of_record_;
    const uint32_t count = std::min(blocks, capacity_ - written_);
    std::byte* const begin = target_;
    std::memcpy(begin, record_, count * block_bytes_);
    for (uint32_t i = 0; i < count; ++i, target_ += block_bytes_) {
      std::memcpy(target_ + offsetof(Header, resultIndex), &result_index, sizeof result_index);
    }
    record_ = begin;
    first_of_record_ = written_;
    written_ += count;
    return count == blocks;
  }

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
    return write_sites(record, stage, counts.sites);
  }

 private:
  using Header = VkShaderInstrumentationMetricDataHeaderARM;

  // A site stands as a block with the site's number.
  bool write_sites(const InstrumentationRecord& record, const StageProgram& stage,
                   std::span<const spirv::BlockCounts::SiteValue> values) {
    const size_t bytes = request_.metrics.size() * sizeof(uint64_t);
    for (size_t i = 0; i < values.size();) {
      if (written_ == capacity_) return false;
      const uint32_t site = values[i].site;
      put_header({record.result_index, stage.sub_index,
                  static_cast<VkShaderStageFlags>(stage.stage), site});
      std::memset(target_, 0, bytes);
      for (; i < values.size() && values[i].site == site; ++i) {
        const auto metric = sites_.find(values[i].slot);
        if (metric != sites_.end()) put(metric->second, values[i].value);
      }
      target_ += bytes;
      ++written_;
    }
    return true;
  }

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
  void put_header(const Header& header) {
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
  const size_t block_bytes_;
  std::byte* target_;
  const uint32_t capacity_;
  uint32_t written_ = 0;
  const std::byte* record_ = nullptr;  // the blocks of the last record
  uint32_t first_of_record_ = 0;
  // The metrics that are a multiple of the subgroups, and the factor.
  std::vector<std::pair<size_t, uint64_t>> subgroups_;
  size_t first_branch_ = 0;  // the metrics of branches follow one another, by target
  std::map<spirv::SiteSlot, size_t> sites_;                              // the metrics of sites
  using StageCosts = std::vector<std::optional<std::vector<uint64_t>>>;  // of a program's stages
  std::unordered_map<const Program*, StageCosts> costs_;
  const Program* program_ = nullptr;  // of the last record
  StageCosts* program_costs_ = nullptr;
};

// Copies of records in memory that the processor does not cache, several at a time.
class RecordCopies {
 public:
  // The first `count` of `words`; the others are read later. If this sets `copied`, results of
  // earlier calls are no longer valid.
  std::span<const uint64_t> first(std::span<const uint64_t> words, size_t count, bool& copied) {
    const auto begin = reinterpret_cast<uintptr_t>(words.data());
    const auto known = reinterpret_cast<uintptr_t>(source_.data());
    copied = begin < known || begin + count * sizeof(uint64_t) > known + source_.size_bytes();
    if (copied) {
      source_ = words.first(std::min(words.size(), std::max(count, kWords)));
      words_.resize(source_.size());
      copy_uncached(source_, words_.data());
    }
    return std::span(words_).subspan(static_cast<size_t>(words.data() - source_.data()), count);
  }

 private:
  static constexpr size_t kWords = 8192;

  std::span<const uint64_t> source_;
  std::vector<uint64_t> words_;
};

// Writes the blocks of records.
class RecordWriter {
 public:
  explicit RecordWriter(const ValuesRequest& request) : request_(request), writer_(request) {}

  uint32_t written() const { return writer_.written(); }

  // False if the array is full before all blocks of the run are written.
  bool write(const RecordRun& run, const PageWords& page) {
    const uint64_t bytes = all_slots_bytes(*run.first.program, run.first.shards_log2);
    std::span<const uint64_t> before;
    for (uint32_t i = 0; i < run.count; ++i) {
      const InstrumentationRecord record = run.at(i);
      auto words = part_of(page.words, uint64_t{record.offset} * probe::kRecordAlignment, bytes);
      if (!page.cached && !words.empty()) {
        bool copied = false;
        words = copies_.first(rest_of(run, i, page.words, words), words.size(), copied);
        if (copied) before = {};
      }
      // Many small draws count the same.
      const bool same = !request_.findings && !words.empty() && std::ranges::equal(words, before);
      if (!(same ? writer_.repeat_record(record.result_index) : write(record, words))) return false;
      before = words;
    }
    return true;
  }

 private:
  static std::span<const uint64_t> part_of(std::span<const uint64_t> words, uint64_t begin,
                                           uint64_t bytes) {
    if (begin + bytes > words.size_bytes()) return {};
    return words.subspan(begin / sizeof(uint64_t), bytes / sizeof(uint64_t));
  }

  // The words of the record and of the later ones of the run, as far as the page goes.
  static std::span<const uint64_t> rest_of(const RecordRun& run, uint32_t index,
                                           std::span<const uint64_t> page,
                                           std::span<const uint64_t> words) {
    const uint64_t later = uint64_t{run.count - 1 - index} * run.distance;
    const auto rest = page.subspan(static_cast<size_t>(words.data() - page.data()));
    return rest.first(std::min<uint64_t>(
        rest.size(), words.size() + later * probe::kRecordAlignment / sizeof(uint64_t)));
  }

  bool write(const InstrumentationRecord& record, std::span<const uint64_t> words) {
    writer_.begin_record();
    invocations_ = 0;
    for (const StageProgram& stage : record.program->stages) {
      if (stage.reported && !write_stage(record, stage, words)) return false;
    }
    if (record.program->draw_size) record.program->draw_size->note(invocations_);
    return true;
  }

  bool write_stage(const InstrumentationRecord& record, const StageProgram& stage,
                   std::span<const uint64_t> words) {
    const Program& program = *record.program;
    const auto of_slot = part_of(words, slot_begin(program, stage.slot, record.shards_log2),
                                 slot_bytes(program, stage.slot, record.shards_log2));
    const Status read =
        reader_.read(program, stage, of_slot, record.shards_log2, request_.findings);
    if (!read) {
      log_once(LogLevel::Error, "{}", read.error().message);
      return true;
    }
    invocations_ += reader_.counts().executions[stage.info->entry_block];
    return writer_.write(record, stage, reader_.counts());
  }

  const ValuesRequest& request_;
  RecordCopies copies_;
  RecordReader reader_;
  BlockWriter writer_;
  uint64_t invocations_ = 0;  // of the last record
};

}  // namespace

uint32_t count_blocks(std::span<const RecordRun> runs) {
  uint64_t count = 0;
  for (const RecordRun& run : runs) {
    for (const StageProgram& stage : run.first.program->stages) {
      if (!stage.reported) continue;
      count += run.count * (stage.info->blocks.size() + stage.info->plan.site_count());
    }
  }
  return static_cast<uint32_t>(std::min<uint64_t>(count, UINT32_MAX));
}

VkResult write_blocks(std::span<const RecordRun> runs, std::span<const PageWords> pages,
                      const ValuesRequest& request) {
  RecordWriter writer(request);
  const bool complete = std::ranges::all_of(
      runs, [&](const RecordRun& run) { return writer.write(run, pages[run.first.page]); });
  *request.count = writer.written();
  return complete ? VK_SUCCESS : VK_INCOMPLETE;
}

}  // namespace tally::counters
