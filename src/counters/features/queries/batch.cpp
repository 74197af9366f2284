#include "counters/features/queries/batch.h"

#include <cstdint>
#include <span>
#include <utility>

#include "counters/shaders/program.h"
#include "vk/own_call.h"

namespace tally::counters {
namespace {

using Streams = QuerySource::Streams;

QueryKind make_feedback_kind() {
  QueryKind kind;
  kind.type = VK_QUERY_TYPE_TRANSFORM_FEEDBACK_STREAM_EXT;
  for (uint32_t stream = 0; stream < probe::QueryFeedback::kStreams; ++stream) {
    QueryRow& row = kind.rows.emplace_back();
    row.push_back({.kind = QuerySource::Kind::Primitives,
                   .stages = kPrimitiveMakers,
                   .streams = Streams::One,
                   .stream = static_cast<uint8_t>(stream)});
    if (stream == 0) row.push_back({.command = CommandMetric::LastPrimitives});
  }
  return kind;
}

// The layout of the last stage before rasterization.
spirv::FeedbackLayout layout_of(const Program& program) {
  spirv::FeedbackLayout layout;
  for (const StageProgram& stage : program.stages) {
    if (stage.stage != VK_SHADER_STAGE_FRAGMENT_BIT) layout = stage.info->feedback;
  }
  return layout;
}

}  // namespace

const QueryKind& feedback_kind() {
  static const QueryKind kind = make_feedback_kind();
  return kind;
}

const std::vector<uint64_t>& feedback_pairs() {
  static const std::vector<uint64_t> pairs = indirect_pairs(feedback_kind().rows);
  return pairs;
}

probe::QueryFeedback describe_feedback(const Program& program, const DrawFacts& facts,
                                       const std::array<VkDeviceSize, kFeedbackBuffers>& sizes) {
  const spirv::FeedbackLayout layout = layout_of(program);
  probe::QueryFeedback result;
  result.primitive_vertices =
      layout.primitive_vertices != 0 ? layout.primitive_vertices : primitive_vertices(facts);
  for (uint32_t i = 0; i < kFeedbackBuffers; ++i) {
    const spirv::FeedbackLayout::Buffer& buffer = layout.buffers[i];
    result.buffers[i] = {sizes[i], buffer.stride, buffer.stream};
  }
  return result;
}

// The matrix that maps the counters of an instrumented stage to the rows of a query, with integer
// elements, in the layout that the GPU reads (probe/query.h).

// matrix[row * counter_count + counter]; empty if the stage adds to no row. `stream`: the queried
// vertex stream.
std::vector<uint32_t> query_matrix(const StageProgram& stage, const std::vector<QueryRow>& rows,
                                   uint32_t stream);

namespace {

using Weights = std::span<uint32_t>;  // by value of the counter plan

void add(Weights weights, uint32_t value, uint32_t times) {
  if (value < weights.size()) weights[value] += times;
}

void add_outputs(Weights weights, const StageProgram& stage, const QuerySource& source,
                 uint32_t queried) {
  const auto& counters = stage.info->plan.output_counters;
  switch (source.streams) {
    case QuerySource::Streams::All:
      for (const uint32_t counter : counters) add(weights, counter, 1);
      break;
    case QuerySource::Streams::Rasterized:
      if (stage.rasterized_stream < counters.size())
        add(weights, counters[stage.rasterized_stream], 1);
      break;
    case QuerySource::Streams::Queried:
      if (queried < counters.size()) add(weights, counters[queried], 1);
      break;
    case QuerySource::Streams::One:
      add(weights, counters.at(source.stream), 1);
      break;
  }
}

void add_source(Weights weights, const StageProgram& stage, const QuerySource& source,
                uint32_t stream) {
  const StageInfo& info = *stage.info;
  const spirv::CounterPlan& plan = info.plan;
  switch (source.kind) {
    case QuerySource::Kind::Invocations:
      add(weights, plan.block_values[info.entry_block], 1);
      break;
    case QuerySource::Kind::Subgroups:
      if (!plan.subgroup_values.empty()) {
        add(weights, plan.subgroup_values[info.entry_block], 1);
      }
      break;
    case QuerySource::Kind::Cost:
      for (size_t block = 0; block < info.blocks.size(); ++block) {
        add(weights, plan.block_values[block],
            static_cast<uint32_t>(info.blocks[block][source.cost]));
      }
      break;
    case QuerySource::Kind::Samples:
    case QuerySource::Kind::Primitives:
      add_outputs(weights, stage, source, stream);
      break;
    case QuerySource::Kind::Command:
    case QuerySource::Kind::Time:
    case QuerySource::Kind::Marker:
    case QuerySource::Kind::StreamMarker:
    case QuerySource::Kind::HasMarkers:
      break;
  }
}

}  // namespace

std::vector<uint32_t> query_matrix(const StageProgram& stage, const std::vector<QueryRow>& rows,
                                   uint32_t stream) {
  const StageInfo& info = *stage.info;
  const size_t counters = info.plan.counter_count;
  std::vector<uint32_t> matrix(rows.size() * counters);
  for (size_t row = 0; row < rows.size(); ++row) {
    std::vector<uint32_t> weights(info.plan.value_count());
    for (const QuerySource& source : rows[row]) {
      if ((source.stages & stage.stage) != 0) add_source(weights, stage, source, stream);
    }
    std::ranges::copy(info.plan.factors(std::move(weights)), matrix.begin() + row * counters);
  }
  const bool any = std::ranges::any_of(matrix, [](uint32_t factor) { return factor != 0; });
  return any ? matrix : std::vector<uint32_t>{};
}

namespace {

// One invocation reads a record with at most so many counters in all shards.
constexpr uint32_t kMaxSmallCounters = 32;
constexpr uint32_t kMaxViews = 32;  // bits of a view mask
static_assert(kMaxViews <= kMaxSmallCounters);

}  // namespace

void QueryBatches::reset() {
  blocks_.reset();
  batches_.clear();
  matrices_.clear();
  recent_matrices_ = {};
  pairs_.clear();
  ones_ = 0;
  kept_programs_.clear();
}

// Writes numbers for the GPU. The address is null where there are none.
template <typename Numbers>
VkResult QueryBatches::store(const Numbers& numbers, VkDeviceAddress& address) {
  address = 0;
  if (numbers.empty()) return VK_SUCCESS;
  HostBlock block;
  const size_t bytes = numbers.size() * sizeof *numbers.data();
  TALLY_TRY(blocks_.take(bytes, block));
  block.write(0, numbers.data(), bytes);
  address = block.address;
  return VK_SUCCESS;
}

VkResult QueryBatches::matrix(const StageProgram& stage, const QueryTarget& target,
                              VkDeviceAddress& address) {
  const QueryKind& kind = target.kind();
  const MatrixKey key{stage.info.get(), stage.rasterized_stream, &kind, target.index};
  const auto recent = std::ranges::find(recent_matrices_, key, &RecentMatrix::key);
  if (recent != recent_matrices_.end()) {
    address = recent->address;
    return VK_SUCCESS;
  }
  const auto [known, added] = matrices_.try_emplace(key, 0);
  if (added) {
    TALLY_TRY(store(query_matrix(stage, kind.rows, target.index), known->second));
  }
  address = known->second;
  recent_matrices_[next_recent_++ % recent_matrices_.size()] = {key, address};
  return VK_SUCCESS;
}

VkResult QueryBatches::add_targets(const RecordBinding& binding, const StageProgram& stage,
                                   std::vector<probe::QueryTarget>& targets) {
  for (const QueryTarget& target : binding.targets) {
    const QueryKind& kind = target.kind();
    VkDeviceAddress address = 0;
    TALLY_TRY(matrix(stage, target, address));
    if (address == 0) continue;
    targets.push_back(
        {target.rows(), address, static_cast<uint32_t>(kind.rows.size()), kind.count_pass, 0});
  }
  return VK_SUCCESS;
}

VkResult QueryBatches::make_records(const RecordBinding& binding, Records& records) {
  if (kept_programs_.empty() || kept_programs_.back() != binding.program) {
    kept_programs_.push_back(binding.program);
  }
  for (const StageProgram& stage : binding.program->stages) {
    const probe::StageCounters counters = binding.program->counters(stage);
    probe::QueryRecord record;
    record.counter_count = stage.info->plan.counter_count;
    record.first_target = static_cast<uint32_t>(records.targets.size());
    TALLY_TRY(add_targets(binding, stage, records.targets));
    record.target_count = static_cast<uint32_t>(records.targets.size()) - record.first_target;
    // The GPU zeroes reusable records even if they have no target now.
    if (record.counter_count == 0 || (record.target_count == 0 && !binding.reusable)) continue;
    const uint64_t first = uint64_t{counters.first_counter} * probe::kCounterBytes;
    const VkDeviceAddress slot = binding.record.slot(*binding.program, stage.slot);
    record.counters = slot + first;
    if (binding.kept.address != 0) {
      record.kept = binding.kept.slot(*binding.program, stage.slot) + first;
    }
    if (binding.previous != 0) record.previous = slot + binding.previous + first;
    record.stride = counters.stride;
    record.shards_log2 = binding.record.shards_log2;
    const bool small = record.counter_count << record.shards_log2 <= kMaxSmallCounters;
    (small ? records.small : records.large).push_back(record);
  }
  return VK_SUCCESS;
}

// An occlusion query has one row. The GPU zeroes a sum even if it has no target now.
VkResult QueryBatches::make_record(const SampleCount& samples, Records& records) {
  const bool needed = !samples.targets.empty() || samples.kept.address != 0 || samples.is_sum();
  if (!needed) return VK_SUCCESS;
  if (ones_ == 0) {
    TALLY_TRY(store(std::vector<uint32_t>(kMaxViews, 1), ones_));
  }
  probe::QueryRecord& record = records.small.emplace_back();
  record.counters = samples.counts.address;
  record.kept = samples.kept.address;
  record.counter_count = record.stride = samples.views;
  record.first_target = static_cast<uint32_t>(records.targets.size());
  record.target_count = static_cast<uint32_t>(samples.targets.size());
  for (const QueryTarget& target : samples.targets) {
    records.targets.push_back({target.rows(), ones_, 1, target.kind().count_pass, 0});
  }
  return VK_SUCCESS;
}

VkResult QueryBatches::make_finish(const FinishedQuery& finished, probe::QueryFinish& result) {
  const QueryPool& pool = *finished.target.pool;
  if (std::ranges::any_of(finished.constants, [](uint64_t constant) { return constant != 0; })) {
    TALLY_TRY(store(finished.constants, result.constants));
    result.rows = static_cast<uint32_t>(finished.constants.size());
  }
  result.slot = pool.slot(finished.target.query);
  result.pass = pool.kind().count_pass;
  result.time_row = pool.kind().time_row();
  result.time_pass = pool.kind().time_pass;
  result.views = std::min(finished.views, pool.count() - finished.target.query);
  result.slot_bytes = pool.slot_bytes();
  result.errors = finished.errors;
  result.all_passes = pool.all_passes();
  return VK_SUCCESS;
}

VkResult QueryBatches::pairs(const QueryTarget& target, VkDeviceAddress& address) {
  const auto [known, added] = pairs_.try_emplace(&target.kind(), 0);
  if (added) {
    TALLY_TRY(store(target.pairs(), known->second));
  }
  address = known->second;
  return VK_SUCCESS;
}

VkResult QueryBatches::make_indirect(const QueryArguments& arguments,
                                     probe::QueryIndirect& operation) {
  operation = arguments.operation;
  for (const QueryTarget& target : arguments.targets) {
    if (operation.target_count == probe::kQueryTargets) break;
    probe::QueryTarget& made = operation.targets[operation.target_count];
    TALLY_TRY(pairs(target, made.matrix));
    made.row_count = static_cast<uint32_t>(target.pairs().size());
    made.rows = target.rows();
    made.pass = target.kind().count_pass;
    ++operation.target_count;
  }
  return VK_SUCCESS;
}

VkResult QueryBatches::write(const QueryWork& work, HostBlock& batch, probe::QueryBatch& header) {
  Records& records = records_;
  std::vector<probe::QueryFinish>& finishes = finishes_;
  std::vector<probe::QueryIndirect> indirects;
  records.clear();
  finishes.clear();
  for (const RecordBinding& binding : work.bindings) {
    TALLY_TRY(make_records(binding, records));
  }
  for (const SampleCount& samples : work.samples) {
    TALLY_TRY(make_record(samples, records));
  }
  for (const FinishedQuery& finished : work.finished) {
    if (finished.constants.empty()) continue;
    TALLY_TRY(make_finish(finished, finishes.emplace_back()));
  }
  for (const QueryArguments& arguments : work.arguments) {
    TALLY_TRY(make_indirect(arguments, indirects.emplace_back()));
  }
  header.records = static_cast<uint32_t>(records.large.size());
  header.small_records = static_cast<uint32_t>(records.small.size());
  header.finishes = static_cast<uint32_t>(finishes.size());
  header.indirects = static_cast<uint32_t>(indirects.size());
  if (header.records + header.small_records + header.finishes + header.indirects == 0) {
    return VK_SUCCESS;
  }
  uint64_t bytes = sizeof header;
  const auto each_part = [&](const auto& visit) {
    visit(records.large);
    visit(records.small);
    visit(finishes);
    visit(indirects);
    header.targets_at = static_cast<uint32_t>(bytes);
    visit(records.targets);
  };
  each_part([&](const auto& part) { bytes += std::span(part).size_bytes(); });
  TALLY_TRY(blocks_.take(bytes, batch));
  bytes = sizeof header;
  each_part([&](const auto& part) {
    batch.write(bytes, part.data(), std::span(part).size_bytes());
    bytes += std::span(part).size_bytes();
  });
  batch.write(0, &header, sizeof header);
  batches_.push_back(batch);
  return VK_SUCCESS;
}

VkResult QueryBatches::write_timestamp(const QueryTimestamp& timestamp, HostBlock& parameters) {
  const QueryPool& pool = *timestamp.target.pool;
  const uint32_t query = timestamp.target.query;
  const probe::QueryTimestamp made{
      pool.slot(query), std::min(timestamp.views, pool.count() - query), pool.slot_bytes()};
  const VkResult result = blocks_.take(sizeof made, parameters);
  if (result == VK_SUCCESS) parameters.write(0, &made, sizeof made);
  return result;
}

VkResult QueryBatches::write_spans(const std::vector<probe::QueryFeedback>& spans,
                                   VkDeviceAddress& address) {
  const probe::QueryFeedbackHeader header{static_cast<uint32_t>(spans.size()), 0};
  const size_t bytes = spans.size() * sizeof(probe::QueryFeedback);
  HostBlock block;
  TALLY_TRY(blocks_.take(sizeof header + bytes, block));
  block.write(0, &header, sizeof header);
  block.write(sizeof header, spans.data(), bytes);
  address = block.address;
  return VK_SUCCESS;
}

VkResult QueryBatches::write_copy(const QueryPool& pool, const QueryPool::Request& request,
                                  VkDeviceAddress output, HostBlock& parameters) {
  using Flags = probe::QueryCopy::Flags;
  const QueryKind& kind = pool.kind();
  probe::QueryCopy copy;
  copy.slots = pool.slot(request.first);
  copy.output = output;
  copy.slot_bytes = pool.slot_bytes();
  copy.output_words = static_cast<uint32_t>(pool.result_bytes(request.flags) / sizeof(uint32_t));
  copy.count = request.count;
  const auto flag = [&](bool set, Flags bit) { copy.flags |= set ? bit : 0u; };
  flag((request.flags & VK_QUERY_RESULT_64_BIT) != 0, Flags::k64Bit);
  flag((request.flags & VK_QUERY_RESULT_WITH_AVAILABILITY_BIT) != 0, Flags::kAvailability);
  flag((request.flags & VK_QUERY_RESULT_WITH_STATUS_BIT_KHR) != 0, Flags::kStatus);
  flag(kind.typed, Flags::kTyped);
  flag(kind.wraps(), Flags::kWraps);
  copy.results = static_cast<uint32_t>(kind.results.size());
  copy.all_passes = pool.all_passes();
  std::vector<probe::QueryConversion> conversions;
  for (const QueryResult& one : kind.results) {
    conversions.push_back({one.row, one.divisor.value_or(probe::QueryConversion::kNoDivisor),
                           one.scale, static_cast<uint32_t>(one.storage)});
  }
  const size_t table_bytes = conversions.size() * sizeof(probe::QueryConversion);
  TALLY_TRY(blocks_.take(sizeof copy + table_bytes, parameters));
  parameters.write(0, &copy, sizeof copy);
  parameters.write(sizeof copy, conversions.data(), table_bytes);
  return VK_SUCCESS;
}

void QueryBatches::follow(const QueryBatches& executed) {
  batches_.insert(batches_.end(), executed.batches_.begin(), executed.batches_.end());
}

void QueryBatches::set_pass(uint32_t pass) const {
  pass = std::min(pass, probe::kMaxPasses - 1);
  for (const HostBlock& batch : batches_) batch.write(0, &pass, sizeof pass);
}

}  // namespace tally::counters
