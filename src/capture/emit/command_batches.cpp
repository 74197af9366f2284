#include "capture/emit/command_batches.h"

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

}  // namespace

CommandBatches::CommandBatches(PacketBuilder& packet, StreamConnection& connection,
                               const Execution& execution, const MetricLayout& layout)
    : packet_(packet),
      connection_(connection),
      execution_(execution),
      layout_(layout),
      block_words_(kHeaderWords + layout.values()) {}

stream::CommandBatch CommandBatches::describe(const Head& head) const {
  stream::CommandBatch message{.function = head.function,
                               .pipeline = head.pipeline ? head.pipeline->id() : 0,
                               .pass_of = head.pass_of,
                               .pass = head.pass,
                               .subpass = head.subpass,
                               .counted = head.counted};
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
  if (batch.head != head) return false;
  if (batch.blocks.size() * block_words_ != words.size()) return false;
  for (size_t i = 0; i < batch.blocks.size(); ++i) {
    if (block_id(words, i) != batch.blocks[i].id) return false;
  }
  return true;
}

CommandBatches::Batch& CommandBatches::batch_for(const CommandRun& run,
                                                 std::span<const uint64_t> words) {
  Head head{.function = run.function,
            .pass_of = run.pass_of,
            .pass = run.pass,
            .subpass = run.subpass,
            .counted = !words.empty()};
  if (run.pipeline != CommandRun::kNone) {
    head.pipeline = execution_.recording->pipelines[run.pipeline].get();
  }
  const auto found =
      std::ranges::find_if(batches_, [&](const Batch& batch) { return takes(batch, head, words); });
  if (found != batches_.end() && found->message.size < found->max_size) {
    if (found != batches_.begin()) std::swap(*found, batches_.front());
    return batches_.front();
  }
  if (found != batches_.end()) {
    send(*found);
    batches_.erase(found);
  } else if (batches_.size() == kMaxOpenBatches) {
    send(batches_.back());
    batches_.pop_back();
  }
  return begin_batch(head, run, words);
}

CommandBatches::Batch& CommandBatches::begin_batch(const Head& head, const CommandRun& run,
                                                   std::span<const uint64_t> words) {
  Batch& batch = batches_.emplace_front();
  batch.head = head;
  batch.message = describe(head);
  if (head.pipeline) batch.pipeline = execution_.recording->pipelines[run.pipeline];
  for (size_t i = 0; i * block_words_ < words.size(); ++i) {
    Block& block = batch.blocks.emplace_back();
    block.id = block_id(words, i);
    if (head.pipeline && layout_.executions) {
      block.shader = head.pipeline->shader_of(block.id.sub, block.id.stage);
    }
  }
  batch.max_size =
      std::clamp<size_t>(kMaxNumbers / (batch.blocks.size() + 16), 1, store::kMaxBatchCommands);
  return batch;
}

void CommandBatches::add(const CommandRun& run, size_t index, std::span<const uint64_t> words,
                         const std::optional<stream::GpuTime>& gpu) {
  const Recording& recording = *execution_.recording;
  words = words.first(words.size() - words.size() % block_words_);
  Batch& batch = batch_for(run, words);
  stream::CommandBatch& message = batch.message;
  const size_t at = message.size;
  message.positions.values.push_back(static_cast<int64_t>(index));
  const Id label = connection_.label_under(execution_.parent_label, run.label);
  message.labels.append(at, label != 0 ? static_cast<int64_t>(label) : store::Column::kNull);
  for (size_t i = 0; i < message.parameters.size(); ++i) {
    message.parameters[i].append(at, recording.parameter(run, index, i));
  }
  message.gpu_begin_ns.append(at, gpu ? gpu->begin_ns : store::Column::kNull);
  message.gpu_time_ns.append(at, gpu ? gpu->time_ns : store::Column::kNull);
  for (size_t i = 0; i < batch.blocks.size(); ++i) {
    add_block(at, batch.blocks[i],
              words.subspan(i * block_words_ + kHeaderWords, layout_.values()));
  }
  ++message.size;
}

// `at` is the number of commands that already have values.
void CommandBatches::add_block(size_t at, Block& block, std::span<const uint64_t> values) const {
  uint64_t executions = 0;
  std::span<const uint64_t> costs;
  if (block.shader) {
    executions = values[*layout_.executions];
    costs = block.shader->costs.costs_of(block.id.block, executions, values);
    if (costs.empty()) executions = 0;
  }
  size_t known = 0;
  for (auto& [metric, column] : block.others) {
    known += values[metric] != expected(executions, costs, metric);
    column.append(at, store::stored(values[metric]));
  }
  if (count_unexpected(values, executions, costs) != known) {
    begin_others(at, block, values, executions, costs);
  }
  block.executions.append(at, store::stored(executions));
}

// Adds columns for the metrics that differ from the expected value for the first time.
void CommandBatches::begin_others(size_t at, Block& block, std::span<const uint64_t> values,
                                  uint64_t executions, std::span<const uint64_t> costs) {
  for (uint32_t metric = 0; metric < values.size(); ++metric) {
    if (values[metric] == expected(executions, costs, metric)) continue;
    if (std::ranges::find(block.others, metric, &Other::metric) != block.others.end()) continue;
    store::Column& column = block.others.emplace_back(Other{metric, {}}).values;
    for (size_t earlier = 0; earlier < at; ++earlier) {
      const auto times = static_cast<uint64_t>(block.executions.at(earlier));
      column.append(earlier, store::stored(expected(times, costs, metric)));
    }
    column.append(at, store::stored(values[metric]));
  }
}

void CommandBatches::flush() {
  for (Batch& batch : batches_) send(batch);
  batches_.clear();
}

void CommandBatches::send(Batch& batch) {
  packet_.need(batch.pipeline);
  packet_.add_labels();
  for (size_t i = 0; i < batch.blocks.size(); ++i) {
    Shader* const shader = batch.blocks[i].shader;
    if (shader && (i == 0 || shader != batch.blocks[i - 1].shader)) packet_.add_costs(*shader);
  }
  packet_.add(std::move(batch.message));
  send_values(batch);
}

void CommandBatches::send_values(Batch& batch) {
  stream::BatchValues message;
  size_t numbers = 0;
  const auto make_room = [&](const store::Column& column) {
    const size_t more = column.values.size() + 8;
    if (numbers + more > kMaxNumbers) {
      packet_.add(std::exchange(message, {}));
      numbers = 0;
    }
    numbers += more;
  };
  for (Block& block : batch.blocks) {
    const auto& [sub, stage, index] = block.id;
    if (!is_zero(block.executions)) {
      make_room(block.executions);
      message.counts.push_back({sub, stage, index, std::move(block.executions)});
    }
    for (auto& [metric, values] : block.others) {
      make_room(values);
      message.others.push_back({sub, stage, index, metric, std::move(values)});
    }
  }
  if (numbers > 0) packet_.add(std::move(message));
}

}  // namespace tally::capture
