#include "capture/send/command_batches.h"

#include <tally/vulkan_arm.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace tally::capture {
namespace {

constexpr size_t kHeaderWords =
    sizeof(VkShaderInstrumentationMetricDataHeaderARM) / sizeof(uint64_t);

// The search for the batch of a command takes time for each open batch.
constexpr size_t kMaxOpenBatches = 16;
// The limit of numbers per message. At ten bytes per number, the message stays far below
// stream::kMaxMessageBytes.
constexpr size_t kMaxNumbers = size_t{128} << 10;

// Limits for a pipeline, and for all together.
constexpr size_t kMaxSets = 16;
constexpr size_t kMaxSetBytes = size_t{32} << 20;

constexpr const char* kNoCounts = "no counts were returned for it; a warning may say why";

bool is_zero(const store::Column& column) {
  return column.values.size() == 1 && column.values[0] == 0;
}

// Returns the value of a metric if the block has the known costs; 0 without costs.
uint64_t expected(uint64_t executions, std::span<const uint64_t> costs, size_t metric) {
  return costs.empty() ? 0 : executions * costs[metric];
}

size_t count_unexpected(std::span<const uint64_t> values, uint64_t executions,
                        std::span<const uint64_t> costs) {
  size_t count = 0;
  if (costs.empty()) {
    for (const uint64_t value : values) count += value != 0;
  } else {
    for (size_t i = 0; i < values.size(); ++i) count += values[i] != executions * costs[i];
  }
  return count;
}

// If the capture adds the static costs, executions are the only returned metric that follows from
// executions.
std::vector<uint64_t> unit_costs(const MetricLayout& layout) {
  std::vector<uint64_t> costs(layout.values());
  if (layout.executions) costs[*layout.executions] = 1;
  return costs;
}

}  // namespace

std::shared_ptr<const ValueSet> ValueSets::find(Id pipeline, std::span<const uint64_t> words,
                                                size_t block_words) {
  OfPipeline& known = pipelines_[pipeline];
  const auto found = std::ranges::find_if(known.sets, [&](const auto& set) {
    return have_equal_values(set->words, words, block_words);
  });
  if (found == known.sets.end()) {
    ++known.misses;
    return nullptr;
  }
  known.misses = 0;
  std::rotate(known.sets.begin(), found, found + 1);
  return known.sets.front();
}

bool ValueSets::wants(Id pipeline) const {
  constexpr uint32_t kFutile = 64;
  const auto found = pipelines_.find(pipeline);
  return found == pipelines_.end() || found->second.misses % kFutile < kMaxSets;
}

void ValueSets::make_room(size_t bytes) {
  if (bytes_ + bytes > kMaxSetBytes) {
    for (const auto& [id, known] : pipelines_) {
      for (const auto& old : known.sets) forgotten_.push_back(old->id);
    }
    for (const auto& [hash, set] : batches_) forgotten_.push_back(set.id);
    pipelines_.clear();
    batches_.clear();
    bytes_ = 0;
  }
  bytes_ += bytes;
}

void ValueSets::add(Id pipeline, std::shared_ptr<const ValueSet> set) {
  make_room(set->words.size() * sizeof(uint64_t));
  std::vector<std::shared_ptr<const ValueSet>>& sets = pipelines_[pipeline].sets;
  sets.insert(sets.begin(), std::move(set));
  if (sets.size() <= kMaxSets) return;
  forget(*sets.back());
  sets.pop_back();
}

void ValueSets::forget(const ValueSet& set) {
  bytes_ -= set.words.size() * sizeof(uint64_t);
  forgotten_.push_back(set.id);
}

ValueSets::OfBatch ValueSets::of_batch(Id pipeline, std::span<const stream::BatchValues> values,
                                       StreamConnection& connection) {
  // It looks for few of those values that seldom repeat.
  constexpr uint32_t kFutile = 64;
  constexpr uint32_t kStep = 16;
  constexpr size_t kOverhead = 128;  // of a set in memory
  uint32_t& misses = pipelines_[pipeline].batch_misses;
  if (misses >= kFutile && misses % kStep != 0) {
    ++misses;
    return {};
  }
  stream::Bytes bytes(sizeof pipeline);
  std::memcpy(bytes.data(), &pipeline, sizeof pipeline);
  for (const stream::BatchValues& part : values) stream::append_message(bytes, part);
  const Hash128 hash = hash_bytes(bytes);
  const auto found = batches_.find(hash);
  if (found != batches_.end() && found->second.values == bytes) {
    misses = 0;
    return {found->second.id, true};
  }
  ++misses;
  if (found != batches_.end()) return {};
  make_room(bytes.size() + kOverhead);
  const Id id = connection.new_id();
  batches_.emplace(hash, BatchSet{id, std::move(bytes)});
  return {id, false};
}

CommandBatches::CommandBatches(PacketBuilder& packet, StreamConnection& connection, ValueSets& sets,
                               const Execution& execution, const MetricLayout& layout)
    : packet_(packet),
      connection_(connection),
      sets_(sets),
      execution_(execution),
      layout_(layout),
      block_words_(kHeaderWords + layout.values()),
      unit_costs_(unit_costs(layout)) {}

stream::CommandBatch CommandBatches::describe(const Head& head) const {
  stream::CommandBatch message{.function = head.function,
                               .pipeline = head.pipeline ? head.pipeline->id() : 0,
                               .pass_of = head.pass_of,
                               .pass = head.pass,
                               .subpass = head.subpass,
                               .counted = head.counted,
                               .repeats = head.repeats,
                               .time_sample = head.time_sample,
                               .primitive_restart = head.primitive_restart,
                               .patch_control_points = head.patch_control_points};
  if (head.topology != CommandRun::kNoTopology) message.topology = head.topology;
  if (head.pass_of == stream::PassOf::Parent) {
    if (execution_.parent_pass) {
      message.pass = *execution_.parent_pass;
      message.subpass = execution_.parent_subpass;
    } else {
      message.pass_of = stream::PassOf::None;
    }
  }
  message.parameters.resize(store::parameter_count(head.function));
  return message;
}

CommandBatches::BlockId CommandBatches::block_id(std::span<const uint64_t> words,
                                                 size_t index) const {
  VkShaderInstrumentationMetricDataHeaderARM header;
  std::memcpy(&header, words.data() + index * block_words_, sizeof header);
  return {header.resultSubIndex, header.stages, header.basicBlockIndex};
}

bool CommandBatches::takes(const Batch& batch, const Head& head,
                           std::span<const uint64_t> words) const {
  if (batch.head != head || batch.set) return false;
  if (batch.blocks.size() * block_words_ != words.size()) return false;
  for (size_t i = 0; i < batch.blocks.size(); ++i) {
    if (block_id(words, i) != batch.blocks[i].id) return false;
  }
  return true;
}

CommandBatches::Head CommandBatches::head_of(const CommandSlice& slice) const {
  const CommandRun& run = *slice.run;
  Head head{.function = run.function,
            .pass_of = run.pass_of,
            .pass = run.pass,
            .subpass = run.subpass,
            .topology = run.topology,
            .patch_control_points = run.patch_control_points,
            .primitive_restart = run.primitive_restart,
            .counted = !slice.words.empty(),
            .repeats = run.repeats(),
            .time_sample = run.sampled ? run.launch->number() : 0,
            .read = run.result != CommandRun::kNone && !slice.unread};
  if (run.pipeline != CommandRun::kNone) {
    head.pipeline = execution_.recording->pipelines[run.pipeline].get();
  }
  return head;
}

CommandBatches::Batch& CommandBatches::batch_for(const CommandSlice& slice) {
  const Head head = head_of(slice);
  const auto words = slice.words.first(slice.words_of_command());
  const auto found =
      std::ranges::find_if(batches_, [&](const Batch& batch) { return takes(batch, head, words); });
  if (found != batches_.end() && found->message.size < found->max_size) {
    if (found != batches_.begin()) std::swap(*found, batches_.front());
    return batches_.front();
  }
  if (found != batches_.end()) {
    send(*found);
    batches_.erase(found);
  }
  return begin_batch(head, slice);
}

CommandBatches::Batch& CommandBatches::open_batch() {
  if (batches_.size() == kMaxOpenBatches) {
    send(batches_.back());
    batches_.pop_back();
  }
  return batches_.emplace_front();
}

CommandBatches::Batch* CommandBatches::find_batch(const Head& head, const ValueSet& set) {
  const auto found = std::ranges::find_if(batches_, [&](const Batch& batch) {
    return batch.set.get() == &set && batch.head == head && batch.message.size < batch.max_size;
  });
  return found == batches_.end() ? nullptr : &*found;
}

bool CommandBatches::add_to_set(const CommandSlice& slice, Id label) {
  const Head head = head_of(slice);
  auto set = sets_.find(head.pipeline->id(), slice.words, block_words_);
  Batch* batch = set ? find_batch(head, *set) : nullptr;
  if (!set) {
    if (!sets_.wants(head.pipeline->id())) return false;
    batch = &begin_batch(head, slice);
    append(*batch, slice, label);
    set = std::make_shared<const ValueSet>(
        ValueSet{connection_.new_id(), {slice.words.begin(), slice.words.end()}});
    batch->set = set;
    batch->message.values = set->id;
    // A later batch that names the set must not come before this one.
    send(*batch);
    batches_.pop_front();
    sets_.add(head.pipeline->id(), std::move(set));
    return true;
  }
  if (!batch) {
    batch = &open_batch();
    batch->head = head;
    batch->message = describe(head);
    batch->pipeline = execution_.recording->pipelines[slice.run->pipeline];
    batch->message.values = set->id;
    batch->set = std::move(set);
    batch->max_size = store::kMaxBatchCommands;
  }
  append(*batch, slice, label);
  return true;
}

CommandBatches::Batch& CommandBatches::begin_batch(const Head& head, const CommandSlice& slice) {
  Batch& batch = open_batch();
  batch.head = head;
  batch.message = describe(head);
  if (head.pipeline) batch.pipeline = execution_.recording->pipelines[slice.run->pipeline];
  for (size_t i = 0; i * block_words_ < slice.words_of_command(); ++i) {
    Block& block = batch.blocks.emplace_back();
    block.id = block_id(slice.words, i);
    if (head.pipeline && layout_.executions) {
      block.shader = head.pipeline->shader_of(block.id.sub, block.id.stage);
    }
    if (layout_.added.empty()) continue;
    if (block.shader) {
      block.costs = unit_costs_;
    } else {
      connection_.message(store::Severity::Warning,
                          "static costs are missing: the values name a shader that the pipeline "
                          "does not have");
    }
  }
  batch.max_size =
      std::clamp<size_t>(kMaxNumbers / (batch.blocks.size() + 16), 1, store::kMaxBatchCommands);
  return batch;
}

void CommandBatches::add(const CommandSlice& added) {
  CommandSlice slice = added;
  // The capture does not know which shaders these commands ran: their counts have no lines.
  if (slice.run->pipeline != CommandRun::kNone &&
      execution_.recording->pipelines[slice.run->pipeline]->shaders.empty()) {
    slice.words = {};
  }
  const Id label = packet_.need(slice.run->label, execution_.parent_label);
  // Commands outside of passes are often few, with many blocks.
  const bool may_repeat = slice.run->pass_of == stream::PassOf::None && !slice.words.empty() &&
                          slice.run->pipeline != CommandRun::kNone;
  for (uint32_t begin = 0; begin < slice.count;) {
    if (may_repeat && add_to_set(slice.part(begin, 1), label)) {
      ++begin;
      continue;
    }
    Batch& batch = batch_for(slice.part(begin, 1));
    const auto capacity = static_cast<uint32_t>(batch.max_size - batch.message.size);
    const CommandSlice part = slice.part(begin, capacity);
    append(batch, part, label);
    begin += part.count;
  }
}

// Column by column.
void CommandBatches::append(Batch& batch, const CommandSlice& slice, Id label) const {
  stream::CommandBatch& message = batch.message;
  const size_t begin = message.size;
  const auto fill = [&](store::Column& column, int64_t value) {
    column.append_same(begin, slice.count, value);
  };
  for (uint32_t i = 0; i < slice.count; ++i) {
    message.positions.values.push_back(int64_t{slice.first} + i);
  }
  fill(message.labels, label != 0 ? static_cast<int64_t>(label) : store::Column::kNull);
  const size_t parameters = message.parameters.size();
  for (size_t p = 0; p < parameters; ++p) {
    message.parameters[p].append_each(
        begin, slice.count, [&](size_t i) { return slice.parameters[i * parameters + p]; });
  }
  append_times(batch, slice);
  for (size_t i = 0; i < batch.blocks.size(); ++i) append_block(batch, i, slice);
  message.size += slice.count;
}

void CommandBatches::append_times(Batch& batch, const CommandSlice& slice) const {
  stream::CommandBatch& message = batch.message;
  const auto append_each = [&](store::Column& column, int64_t stream::GpuTime::*member) {
    column.append_each(message.size, slice.count, [&](size_t i) {
      const bool timed = !slice.times.empty() && slice.times[i];
      return timed ? (*slice.times[i]).*member : store::Column::kNull;
    });
  };
  append_each(message.gpu_begin_ns, &stream::GpuTime::begin_ns);
  append_each(message.gpu_time_ns, &stream::GpuTime::time_ns);
}

// Consecutive commands often have equal values.
void CommandBatches::append_block(Batch& batch, size_t block, const CommandSlice& slice) const {
  const size_t command_words = slice.words_of_command();
  const auto values_of = [&](size_t command) {
    return slice.words.subspan(command * command_words + block * block_words_ + kHeaderWords,
                               layout_.values());
  };
  for (size_t begin = 0, end = 1; begin < slice.count; begin = end++) {
    const auto values = values_of(begin);
    while (end < slice.count && std::ranges::equal(values_of(end), values)) ++end;
    add_values(batch.message.size + begin, end - begin, batch.blocks[block], values);
  }
}

// Adds the values that each of `count` commands has. `at` is the number of commands that already
// have values.
void CommandBatches::add_values(size_t at, size_t count, Block& block,
                                std::span<const uint64_t> values) const {
  uint64_t executions = 0;
  if (block.shader) {
    executions = values[*layout_.executions];
    if (block.costs.empty()) {
      block.costs = block.shader->costs.learn(block.id.block, executions, values);
      if (block.costs.empty()) executions = 0;
    }
  }
  size_t known = 0;
  for (auto& [metric, column] : block.others) {
    known += values[metric] != expected(executions, block.costs, metric);
    column.append_same(at, count, store::stored(values[metric]));
  }
  if (count_unexpected(values, executions, block.costs) != known) {
    begin_others(at, count, block, values, executions);
  }
  block.executions.append_same(at, count, store::stored(executions));
}

// Adds columns for the metrics that differ from the expected value for the first time.
void CommandBatches::begin_others(size_t at, size_t count, Block& block,
                                  std::span<const uint64_t> values, uint64_t executions) {
  for (uint32_t metric = 0; metric < values.size(); ++metric) {
    if (values[metric] == expected(executions, block.costs, metric)) continue;
    if (std::ranges::find(block.others, metric, &Other::metric) != block.others.end()) continue;
    store::Column& column = block.others.emplace_back(Other{metric, {}}).values;
    for (size_t earlier = 0; earlier < at; ++earlier) {
      const auto times = static_cast<uint64_t>(block.executions.at(earlier));
      column.append(earlier, store::stored(expected(times, block.costs, metric)));
    }
    column.append_same(at, count, store::stored(values[metric]));
  }
}

void CommandBatches::flush() {
  for (auto batch = batches_.rbegin(); batch != batches_.rend(); ++batch) send(*batch);
  batches_.clear();
  for (const Id set : sets_.take_forgotten()) packet_.add(stream::ForgetValues{set});
}

void CommandBatches::send(Batch& batch) {
  packet_.need(batch.pipeline);
  send_costs(batch);
  const std::vector<stream::BatchValues> values = values_of(batch);
  ValueSets::OfBatch shared;
  if (!batch.set && batch.pipeline && !values.empty()) {
    shared = sets_.of_batch(batch.pipeline->id(), values, connection_);
    batch.message.values = shared.id;
  }
  packet_.add(std::move(batch.message));
  if (!shared.is_known) {
    for (const stream::BatchValues& part : values) packet_.add(part);
  }
  note_missing_shaders(batch);
}

void CommandBatches::send_costs(const Batch& batch) {
  for (size_t i = 0; i < batch.blocks.size(); ++i) {
    Shader* const shader = batch.blocks[i].shader;
    if (!shader || (i != 0 && shader == batch.blocks[i - 1].shader)) continue;
    if (shader->facts && !layout_.added.empty()) shader->costs.add(layout_, shader->facts->costs);
    packet_.add_costs(*shader);
  }
}

// Reports shaders of an instrumented pipeline that returned no block although commands with it ran.
// Each is reported once, and the report is withdrawn when a block arrives.
void CommandBatches::note_missing_shaders(const Batch& batch) {
  using Counts = Shader::Counts;
  if (!batch.head.read || !batch.pipeline) return;
  const std::string& diagnostics = batch.pipeline->diagnostics;
  for (const auto& shader : batch.pipeline->shaders) {
    if (shader->counts == Counts::Seen || !shader->module) continue;
    const bool seen = std::ranges::any_of(batch.blocks, [&](const Block& block) {
      return batch.pipeline->shader_of(block.id.sub, block.id.stage) == shader.get();
    });
    const Counts before = std::exchange(shader->counts, seen ? Counts::Seen : Counts::Missing);
    if (before == shader->counts || (seen && before == Counts::Unknown)) continue;
    const char* reason = diagnostics.empty() ? kNoCounts : diagnostics.c_str();
    packet_.add(stream::NotInstrumented{shader->id, seen ? "" : reason});
  }
}

// In parts of at most kMaxNumbers. The blocks lose their values.
std::vector<stream::BatchValues> CommandBatches::values_of(Batch& batch) const {
  std::vector<stream::BatchValues> parts;
  stream::BatchValues message;
  size_t numbers = 0;
  const auto make_room = [&](const store::Column& column) {
    const size_t more = column.values.size() + 8;
    if (numbers + more > kMaxNumbers) {
      parts.push_back(std::exchange(message, {}));
      numbers = 0;
    }
    numbers += more;
  };
  for (Block& block : batch.blocks) {
    const auto& [sub_index, stage, index] = block.id;
    const uint32_t sub =
        batch.pipeline ? batch.pipeline->captured_sub_index(sub_index, stage) : sub_index;
    if (!is_zero(block.executions)) {
      make_room(block.executions);
      message.counts.push_back({sub, stage, index, std::move(block.executions)});
    }
    for (auto& [metric, values] : block.others) {
      make_room(values);
      message.others.push_back({sub, stage, index, layout_.returned[metric], std::move(values)});
    }
  }
  if (numbers > 0) parts.push_back(std::move(message));
  return parts;
}

}  // namespace tally::capture
