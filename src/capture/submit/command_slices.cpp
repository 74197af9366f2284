#include "capture/submit/command_slices.h"

#include <tally/vulkan_arm.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace tally::capture {
namespace {

using Header = VkShaderInstrumentationMetricDataHeaderARM;

Header header_at(std::span<const uint64_t> words, size_t at) {
  Header header;
  std::memcpy(&header, words.data() + at, sizeof header);
  return header;
}

}  // namespace

CommandSlice CommandSlice::part(uint32_t begin, uint32_t size) const {
  CommandSlice slice = *this;
  slice.first += begin;
  slice.count = std::min(size, count - begin);
  const auto cut = [&](auto& values) {
    const size_t each = values.size() / count;
    values = values.subspan(begin * each, slice.count * each);
  };
  cut(slice.parameters);
  cut(slice.words);
  cut(slice.times);
  return slice;
}

void CommandSlice::take_times(std::span<const std::optional<stream::GpuTime>> all) {
  if (run->times == CommandRun::kNone || all.empty()) return;
  times = all.subspan(run->times + first - run->first, count);
}

CommandSlices::CommandSlices(const Recording& recording, const MetricLayout& layout, Visit visit)
    : recording_(recording),
      block_words_(layout.block_bytes() / sizeof(uint64_t)),
      visit_(std::move(visit)),
      done_(recording.commands()) {
  for (const CommandRun& run : recording.command_runs) {
    if (run.result != CommandRun::kNone) measured_.push_back(&run);
  }
}

// Returns the end of the blocks of the result that begins there.
size_t CommandSlices::result_end(std::span<const uint64_t> words, size_t begin) const {
  const uint32_t result = header_at(words, begin).resultIndex;
  size_t end = begin + block_words_;
  while (end + block_words_ <= words.size() && header_at(words, end).resultIndex == result) {
    end += block_words_;
  }
  return end;
}

// True if two results have the same stages and blocks.
bool CommandSlices::is_alike(std::span<const uint64_t> a, std::span<const uint64_t> b) const {
  if (a.size() != b.size()) return false;
  for (size_t at = 0; at < a.size(); at += block_words_) {
    const Header of_a = header_at(a, at);
    const Header of_b = header_at(b, at);
    if (of_a.resultSubIndex != of_b.resultSubIndex || of_a.stages != of_b.stages ||
        of_a.basicBlockIndex != of_b.basicBlockIndex) {
      return false;
    }
  }
  return true;
}

void CommandSlices::add_results(uint32_t first, std::span<const uint64_t> words) {
  words = words.first(words.size() - words.size() % block_words_);
  for (size_t begin = 0; begin < words.size();) {
    size_t end = result_end(words, begin);
    const auto blocks = words.subspan(begin, end - begin);
    const uint64_t index = uint64_t{first} + header_at(words, begin).resultIndex;
    const CommandRun* run = run_of_result(index);
    if (!run) {
      begin = end;
      continue;
    }
    const auto offset = static_cast<uint32_t>(index - run->result);
    uint32_t count = 1;
    while (end < words.size() && offset + count < run->count &&
           first + header_at(words, end).resultIndex == index + count) {
      const size_t next_end = result_end(words, end);
      if (!is_alike(blocks, words.subspan(end, next_end - end))) break;
      end = next_end;
      ++count;
    }
    visit({.run = run,
           .first = run->first + offset,
           .count = count,
           .words = words.subspan(begin, end - begin)});
    begin = end;
  }
}

// Consecutive results are mostly in the same run.
const CommandRun* CommandSlices::run_of_result(uint64_t result) {
  const auto has_it = [&] {
    const CommandRun& run = *measured_[last_measured_];
    return run.result <= result && result < uint64_t{run.result} + run.count;
  };
  if (measured_.empty()) return nullptr;
  if (!has_it()) {
    const auto after = std::ranges::upper_bound(measured_, result, {},
                                                [](const CommandRun* run) { return run->result; });
    if (after == measured_.begin()) return nullptr;
    last_measured_ = static_cast<size_t>(after - measured_.begin()) - 1;
  }
  return has_it() ? measured_[last_measured_] : nullptr;
}

void CommandSlices::add_rest(bool unread) {
  const auto is_done = [&](uint32_t command) { return bool{done_[command]}; };
  for (const CommandRun& run : recording_.command_runs) {
    const uint32_t end = run.first + run.count;
    for (uint32_t begin = run.first; begin < end;) {
      if (is_done(begin)) {
        ++begin;
        continue;
      }
      uint32_t count = 1;
      while (begin + count < end && count < store::kMaxBatchCommands && !is_done(begin + count)) {
        ++count;
      }
      visit({.run = &run,
             .first = begin,
             .count = count,
             .unread = unread && run.result != CommandRun::kNone});
      begin += count;
    }
  }
}

// A driver may return a result twice. The first one counts.
void CommandSlices::visit(CommandSlice slice) {
  for (uint32_t i = 0; i < slice.count; ++i) {
    if (!done_[slice.first + i]) continue;
    if (i != 0) visit(slice.part(0, i));
    if (i + 1 < slice.count) visit(slice.part(i + 1, slice.count - i - 1));
    return;
  }
  std::fill_n(done_.begin() + slice.first, slice.count, true);
  slice.parameters = read_parameters(slice);
  visit_(slice);
}

std::span<const int64_t> CommandSlices::read_parameters(const CommandSlice& slice) {
  const size_t of_command = store::parameter_count(slice.run->function);
  if (parameter_run_ != slice.run || parameter_reader_->next > slice.first) {
    parameter_run_ = slice.run;
    parameter_reader_ = ParameterReader{recording_.parameters(*slice.run), slice.run->first};
  }
  ParameterReader& reader = *parameter_reader_;
  parameters_.resize(slice.count * of_command);
  for (; reader.next < slice.first; ++reader.next) {
    reader.cursor.read(of_command, std::span(parameters_).first(of_command));
  }
  reader.cursor.read(of_command, parameters_);
  reader.next += slice.count;
  return parameters_;
}

}  // namespace tally::capture
