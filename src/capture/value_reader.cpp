#include "capture/value_reader.h"

#include <tally/vulkan_arm.h>

#include <cstring>
#include <utility>

namespace tally::capture {
namespace {

constexpr size_t kHeaderWords =
    sizeof(VkShaderInstrumentationMetricDataHeaderARM) / sizeof(uint64_t);

}  // namespace

ValueReader::ValueReader(const Recording& recording, const MetricLayout& layout)
    : recording_(recording), layout_(layout), stages_(recording.results()) {
  command_of_result_.assign(recording.results(), RecordedCommand::kNone);
  for (size_t i = 0; i < recording.commands.size(); ++i) {
    const uint32_t result = recording.commands[i].result;
    if (result < command_of_result_.size()) command_of_result_[result] = static_cast<uint32_t>(i);
  }
}

void ValueReader::take(uint32_t first_result, std::span<const uint64_t> words) {
  const size_t block_words = kHeaderWords + layout_.values();
  for (; words.size() >= block_words; words = words.subspan(block_words)) {
    VkShaderInstrumentationMetricDataHeaderARM header;
    std::memcpy(&header, words.data(), sizeof header);
    const uint64_t result = uint64_t{first_result} + header.resultIndex;
    if (result >= stages_.size()) continue;
    if (!sum_ || sum_result_ != result || !sum_->is(header.resultSubIndex, header.stages)) {
      close();
      open(static_cast<uint32_t>(result), header.resultSubIndex, header.stages);
    }
    sum_->add(header.basicBlockIndex, words.subspan(kHeaderWords, layout_.values()), costs_);
  }
  close();
}

void ValueReader::open(uint32_t result, uint32_t sub, uint32_t stage) {
  sum_.emplace(sub, stage, layout_);
  sum_result_ = result;
  costs_ = nullptr;
  const uint32_t command = command_of_result_[result];
  if (command == RecordedCommand::kNone) return;
  const uint32_t pipeline = recording_.commands[command].pipeline;
  if (pipeline == RecordedCommand::kNone) return;
  if (Shader* shader = recording_.pipelines[pipeline]->shader_of(stage)) costs_ = &shader->costs;
}

void ValueReader::close() {
  if (!sum_) return;
  stages_[sum_result_].push_back(sum_->take());
  sum_.reset();
}

std::vector<std::vector<stream::StageValues>> ValueReader::result() {
  close();
  return std::exchange(stages_, {});
}

}  // namespace tally::capture
