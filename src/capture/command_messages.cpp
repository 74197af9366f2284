#include "capture/command_messages.h"

namespace tally::capture {
namespace {

// The most bytes that the parts of a message can take.
constexpr size_t kVarint = 10;
constexpr size_t kCommandBytes = 24 * kVarint;
constexpr size_t kFlushBytes = stream::kMaxMessageBytes / 4;
constexpr size_t kMostBytes = stream::kMaxMessageBytes - 64;

}  // namespace

size_t CommandMessages::size_of(const stream::StageValues& values) const {
  return kVarint * (5 + metrics_ + 2 * values.blocks.size() + 3 * values.others.size());
}

stream::Command CommandMessages::describe(const RecordedCommand& command, size_t index) {
  const Recording& recording = *execution_.recording;
  stream::Command message{.position = static_cast<int64_t>(index), .function = command.function};
  const auto first = recording.parameters.begin() + command.first_parameter;
  message.parameters.assign(
      first, first + static_cast<ptrdiff_t>(store::parameter_count(command.function)));
  if (command.pipeline != RecordedCommand::kNone) {
    message.pipeline = draft_.need(recording.pipelines[command.pipeline]);
  }
  message.pass_of = command.pass_of;
  message.pass = command.pass;
  message.subpass = command.subpass;
  if (command.pass_of == stream::PassOf::Parent) {
    if (execution_.parent_pass) {
      message.pass = *execution_.parent_pass;
      message.subpass = execution_.parent_subpass;
    } else {
      message.pass_of = stream::PassOf::None;
    }
  }
  message.label = channel_.label_under(execution_.parent_label, command.label);
  draft_.add_labels();
  return message;
}

void CommandMessages::add_costs(const RecordedCommand& command,
                                const std::vector<stream::StageValues>& values) {
  if (command.pipeline == RecordedCommand::kNone) return;
  const Pipeline& pipeline = *execution_.recording->pipelines[command.pipeline];
  for (const stream::StageValues& stage : values) {
    if (Shader* shader = pipeline.shader_of(stage.stage)) draft_.add_costs(*shader);
  }
}

void CommandMessages::add(size_t index, const std::vector<stream::StageValues>& values, bool blocks,
                          const std::optional<stream::GpuTime>& gpu) {
  const RecordedCommand& command = execution_.recording->commands[index];
  stream::Command message = describe(command, index);
  message.gpu = gpu;
  size_t size = kCommandBytes;
  for (const stream::StageValues& stage : values) size += size_of(stage);
  message.has_blocks = blocks && !values.empty() && size < kMostBytes;
  if (message.has_blocks) add_costs(command, values);
  for (const stream::StageValues& stage : values) {
    stream::StageValues& copy = message.stages.emplace_back();
    copy.sub = stage.sub;
    copy.stage = stage.stage;
    copy.totals = stage.totals;
    if (!message.has_blocks) continue;
    copy.blocks = stage.blocks;
    copy.others = stage.others;
  }
  if (!message.has_blocks) size = kCommandBytes + values.size() * kVarint * (5 + metrics_);
  if (size_ + size > kFlushBytes) flush();
  size_ += size;
  message_.commands.push_back(std::move(message));
}

void CommandMessages::flush() {
  if (!message_.commands.empty()) draft_.add(message_);
  message_.commands.clear();
  size_ = 0;
}

}  // namespace tally::capture
