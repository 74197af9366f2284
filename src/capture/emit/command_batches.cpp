#include "capture/emit/command_batches.h"

#include <tally/vulkan_arm.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace tally::capture {
namespace {

constexpr size_t kHeaderWords =
    sizeof(VkShaderInstrumentationMetricDataHeaderARM) / sizeof(uint64_t);

// Looking for a command's batch takes time for each that is open.
constexpr size_t kMaxOpenBatches = 16;
// Numbers in one message: far less than stream::kMaxMessageBytes, at ten bytes each.
constexpr size_t kMaxNumbers = size_t{128} << 10;

bool same_head(const stream::CommandBatch& a, const stream::CommandBatch& b) {
  return a.function == b.function && a.pipeline == b.pipeline && a.pass_of == b.pass_of &&
         a.pass == b.pass && a.subpass == b.subpass && a.counted == b.counted;
}

bool is_zero(const store::Column& column) {
  return column.values.size() == 1 && column.values[0] == 0;
}

}  // namespace

CommandBatches::CommandBatches(PacketBuilder& packet, Channel& channel, const Execution& execution,
                               const MetricLayout& layout)
    : packet_(packet),
      channel_(channel),
      execution_(execution),
      layout_(layout),
      block_words_(kHeaderWords + layout.values()) {}

stream::CommandBatch CommandBatches::describe(const RecordedCommand& command) const {
  stream::CommandBatch head{.function = command.function, .pass_of = command.pass_of};
  if (command.pipeline != RecordedCommand::kNone) {
    head.pipeline = execution_.recording->pipelines[command.pipeline]->id();
  }
  head.pass = command.pass;
  head.subpass = command.subpass;
  if (command.pass_of == stream::PassOf::Parent) {
    if (execution_.parent_pass) {
      head.pass = *execution_.parent_pass;
      head.subpass = execution_.parent_subpass;
    } else {
      head.pass_of = stream::PassOf::None;
    }
  }
  return head;
}

CommandBatches::BlockId CommandBatches::block_id(std::span<const uint64_t> words,
                                                 size_t index) const {
  VkShaderInstrumentationMetricDataHeaderARM header;
  std::memcpy(&header, words.data() + index * block_words_, sizeof header);
  return {header.resultSubIndex, header.stages, header.basicBlockIndex};
}

bool CommandBatches::takes(const Batch& batch, const stream::CommandBatch& head,
                           std::span<const uint64_t> words) const {
  if (!same_head(batch.message, head)) return false;
  if (batch.blocks.size() * block_words_ != words.size()) return false;
  for (size_t i = 0; i < batch.blocks.size(); ++i) {
    if (block_id(words, i) != batch.blocks[i].id) return false;
  }
  return true;
}

CommandBatches::Batch& CommandBatches::batch_for(const RecordedCommand& command,
                                                 std::span<const uint64_t> words) {
  stream::CommandBatch head = describe(command);
  head.counted = !words.empty();
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
  Batch& batch = batches_.emplace_front();
  head.parameters.resize(store::parameter_count(command.function));
  batch.message = std::move(head);
  batch.pipeline = command.pipeline;
  for (size_t i = 0; i * block_words_ < words.size(); ++i) {
    batch.blocks.push_back({block_id(words, i), {}, {layout_.values(), std::nullopt}});
  }
  batch.max_size =
      std::clamp<size_t>(kMaxNumbers / (batch.blocks.size() + 16), 1, store::kMaxBatchCommands);
  return batch;
}

void CommandBatches::add(size_t index, std::span<const uint64_t> words,
                         const std::optional<stream::GpuTime>& gpu) {
  const Recording& recording = *execution_.recording;
  const RecordedCommand& command = recording.commands[index];
  words = words.first(words.size() - words.size() % block_words_);
  Batch& batch = batch_for(command, words);
  stream::CommandBatch& message = batch.message;
  const size_t at = message.size;
  message.positions.values.push_back(static_cast<int64_t>(index));
  const Id label = channel_.label_under(execution_.parent_label, command.label);
  message.labels.append(at, label != 0 ? static_cast<int64_t>(label) : store::Column::kNull);
  for (size_t i = 0; i < message.parameters.size(); ++i) {
    message.parameters[i].append(at, recording.parameters[command.first_parameter + i]);
  }
  message.gpu_begin_ns.append(at, gpu ? gpu->begin_ns : store::Column::kNull);
  message.gpu_time_ns.append(at, gpu ? gpu->time_ns : store::Column::kNull);
  for (size_t i = 0; i < batch.blocks.size(); ++i) {
    add_block(batch, batch.blocks[i],
              words.subspan(i * block_words_ + kHeaderWords, layout_.values()));
  }
  ++message.size;
}

Shader* CommandBatches::shader_of(const Batch& batch, uint32_t stage) const {
  if (batch.pipeline == RecordedCommand::kNone) return nullptr;
  return execution_.recording->pipelines[batch.pipeline]->shader_of(stage);
}

// `message.size` commands have their values already.
void CommandBatches::add_block(Batch& batch, Block& block, std::span<const uint64_t> values) {
  const size_t at = batch.message.size;
  uint64_t executions = 0;
  std::span<const uint64_t> costs;
  Shader* const shader = shader_of(batch, block.id.stage);
  if (shader && layout_.executions) {
    executions = values[*layout_.executions];
    costs = shader->costs.costs_of(block.id.block, executions, values);
    if (costs.empty()) executions = 0;
  }
  const auto expected = [&](uint64_t times, size_t metric) {
    return costs.empty() ? 0 : times * costs[metric];
  };
  for (size_t i = 0; i < values.size(); ++i) {
    std::optional<store::Column>& other = block.others[i];
    if (!other) {
      if (values[i] == expected(executions, i)) continue;
      other.emplace();
      for (size_t earlier = 0; earlier < at; ++earlier) {
        const auto times = static_cast<uint64_t>(block.executions.at(earlier));
        other->append(earlier, store::stored(expected(times, i)));
      }
    }
    other->append(at, store::stored(values[i]));
  }
  block.executions.append(at, store::stored(executions));
}

void CommandBatches::flush() {
  for (Batch& batch : batches_) send(batch);
  batches_.clear();
}

void CommandBatches::send(Batch& batch) {
  if (batch.pipeline != RecordedCommand::kNone) {
    packet_.need(execution_.recording->pipelines[batch.pipeline]);
  }
  packet_.add_labels();
  for (size_t i = 0; i < batch.blocks.size(); ++i) {
    const uint32_t stage = batch.blocks[i].id.stage;
    if (i > 0 && stage == batch.blocks[i - 1].id.stage) continue;
    if (Shader* shader = shader_of(batch, stage)) packet_.add_costs(*shader);
  }
  packet_.add(batch.message);
  send_values(batch);
}

void CommandBatches::send_values(const Batch& batch) {
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
  for (const Block& block : batch.blocks) {
    const auto& [sub, stage, index] = block.id;
    if (!is_zero(block.executions)) {
      make_room(block.executions);
      message.counts.push_back({sub, stage, index, block.executions});
    }
    for (uint32_t metric = 0; metric < block.others.size(); ++metric) {
      if (!block.others[metric]) continue;
      make_room(*block.others[metric]);
      message.others.push_back({sub, stage, index, metric, *block.others[metric]});
    }
  }
  if (numbers > 0) packet_.add(message);
}

}  // namespace tally::capture
