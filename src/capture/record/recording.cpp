#include "capture/record/recording.h"

#include <tally/vulkan_arm.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <utility>

namespace tally::capture {
namespace {

// Most recordings are short. A long one gets few chunks.
constexpr uint32_t kFirstChunk = 256;
constexpr uint32_t kMaxChunk = 64 << 10;
constexpr size_t kFewPipelines = 8;

// Zigzag: numbers near 0 have few bits.
uint64_t zigzag(int64_t value) {
  return static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63);
}
int64_t unzigzag(uint64_t value) { return static_cast<int64_t>(value >> 1 ^ (~(value & 1) + 1)); }

}  // namespace

Parameters::Position Parameters::begin_run() {
  last_.fill(0);
  if (next_ == nullptr || next_ > end_) add_chunk();
  return {static_cast<uint32_t>(chunks_.size() - 1),
          static_cast<uint32_t>(next_ - chunks_.back().bytes.get())};
}

void Parameters::add(std::span<const int64_t> values) {
  if (values.empty()) return;
  if (next_ > end_) add_chunk();
  uint8_t* const changed = next_++;
  *changed = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] == last_[i]) continue;
    *changed |= static_cast<uint8_t>(1u << i);
    // Differences wrap, as the additions do that read them.
    uint64_t left = zigzag(
        static_cast<int64_t>(static_cast<uint64_t>(values[i]) - static_cast<uint64_t>(last_[i])));
    last_[i] = values[i];
    for (; left >= 0x80; left >>= 7) *next_++ = static_cast<uint8_t>(left | 0x80);
    *next_++ = static_cast<uint8_t>(left);
  }
}

void Parameters::add_chunk() {
  uint32_t capacity = kFirstChunk;
  if (!chunks_.empty()) {
    Chunk& last = chunks_.back();
    last.used = static_cast<uint32_t>(next_ - last.bytes.get());
    capacity = std::min(last.capacity * 4, kMaxChunk);
  }
  Chunk& chunk = chunks_.emplace_back();
  chunk.bytes = std::make_unique_for_overwrite<uint8_t[]>(capacity);
  chunk.capacity = capacity;
  chunk.used = capacity;  // not known yet: a reader stops at the last command
  next_ = chunk.bytes.get();
  end_ = next_ + capacity - kMaxBytesOfCommand;
}

const uint8_t* Parameters::Cursor::command_at_position() {
  const Chunk* chunk = &parameters_->chunks_[position_.chunk];
  if (position_.offset >= chunk->used) {
    chunk = &parameters_->chunks_[++position_.chunk];
    position_.offset = 0;
  }
  return chunk->bytes.get() + position_.offset;
}

void Parameters::Cursor::read(size_t of_command, std::span<int64_t> values) {
  for (; !values.empty(); values = values.subspan(of_command)) {
    const uint8_t* const begin = command_at_position();
    const uint8_t* next = begin + 1;
    for (unsigned changed = *begin; changed != 0; changed &= changed - 1) {
      uint64_t difference = 0;
      for (int shift = 0;; shift += 7) {
        const uint8_t byte = *next++;
        difference |= uint64_t{byte & 0x7fu} << shift;
        if (byte < 0x80) break;
      }
      int64_t& last = last_[static_cast<size_t>(std::countr_zero(changed))];
      last = static_cast<int64_t>(static_cast<uint64_t>(last) +
                                  static_cast<uint64_t>(unzigzag(difference)));
    }
    std::copy_n(last_.begin(), of_command, values.begin());
    position_.offset += static_cast<uint32_t>(next - begin);
  }
}

namespace {

constexpr size_t kHeaderWords =
    sizeof(VkShaderInstrumentationMetricDataHeaderARM) / sizeof(uint64_t);
static_assert(kHeaderWords == 2);

// Subtracts the values of `earlier` from the values of the same result, stage and block.
void subtract_blocks(std::vector<uint64_t>& words, const std::vector<uint64_t>& earlier,
                     size_t block_words) {
  std::map<std::pair<uint64_t, uint64_t>, size_t> offsets;  // keyed by the header's two words
  for (size_t i = 0; i + block_words <= earlier.size(); i += block_words) {
    offsets[{earlier[i], earlier[i + 1]}] = i;
  }
  for (size_t i = 0; i + block_words <= words.size(); i += block_words) {
    const auto found = offsets.find({words[i], words[i + 1]});
    if (found == offsets.end()) continue;
    for (size_t j = kHeaderWords; j < block_words; ++j) words[i + j] -= earlier[found->second + j];
  }
}

}  // namespace

Recording::Recording(VkDevice device, const DeviceTable& table, TimestampPools& pools,
                     HostMemory& memory, std::shared_ptr<Object> command_buffer, int64_t number,
                     bool simultaneous)
    : timestamps(pools, simultaneous),
      host_pieces(memory),
      device_(device),
      table_(table),
      command_buffer_(std::move(command_buffer)),
      number_(number),
      simultaneous_(simultaneous) {}

Recording::~Recording() {
  for (const VkShaderInstrumentationARM object : objects_) {
    table_.DestroyShaderInstrumentationARM(device_, object, nullptr);
  }
}

bool Recording::has_regions() const {
  return std::ranges::any_of(passes, [](const RecordedPass& pass) { return !!pass.regions; });
}

// The direct draws alone: of others, the device decides how many vertices there are.
void CommandRun::set_assembly(const PrimitiveAssembly& assembly) {
  if (function != store::Function::Draw && function != store::Function::DrawIndexed) return;
  if (!assembly.topology) return;
  topology = static_cast<uint16_t>(*assembly.topology);
  primitive_restart = assembly.restart.value_or(false);
  if (assembly.topology == VK_PRIMITIVE_TOPOLOGY_PATCH_LIST)
    patch_control_points = static_cast<uint16_t>(assembly.patch_control_points.value_or(0));
}

bool CommandRun::continues_with(const CommandRun& command) const {
  const auto goes_on = [&](uint32_t begin, uint32_t next) {
    return begin == kNone ? next == kNone : next == begin + count;
  };
  return goes_on(result, command.result) && goes_on(times, command.times) &&
         function == command.function && pass_of == command.pass_of && pass == command.pass &&
         subpass == command.subpass && pipeline == command.pipeline && launch == command.launch &&
         sampled == command.sampled && label == command.label && topology == command.topology &&
         primitive_restart == command.primitive_restart &&
         patch_control_points == command.patch_control_points;
}

void Recording::add(CommandRun& command, std::span<const int64_t> values,
                    const std::shared_ptr<Pipeline>& pipeline) {
  if (commands() >= kMaxCommands) {
    ++commands_lost;
    return;
  }
  if (pipeline) {
    if (pipelines.empty()) pipelines.reserve(kFewPipelines);
    if (pipelines.empty() || pipelines.back() != pipeline) pipelines.push_back(pipeline);
    command.pipeline = static_cast<uint32_t>(pipelines.size() - 1);
  }
  if (!command_runs.empty() && command_runs.back().continues_with(command)) {
    ++command_runs.back().count;
  } else {
    command.first = commands();
    command.parameters = parameters_.begin_run();
    command_runs.push_back(command);
  }
  parameters_.add(values);
}

VkShaderInstrumentationARM Recording::next_object() {
  if (!object_is_full()) return objects_.back();
  const VkShaderInstrumentationCreateInfoARM info{
      VK_STRUCTURE_TYPE_SHADER_INSTRUMENTATION_CREATE_INFO_ARM, nullptr};
  VkShaderInstrumentationARM object = VK_NULL_HANDLE;
  if (table_.CreateShaderInstrumentationARM(device_, &info, nullptr, &object) != VK_SUCCESS) {
    return VK_NULL_HANDLE;
  }
  objects_.push_back(object);
  return object;
}

void Recording::before_submit(uint32_t runs) {
  const std::lock_guard lock(values_mutex_);
  if (pending_ == 0 && stale_) {
    for (const VkShaderInstrumentationARM object : objects_) {
      table_.ClearShaderInstrumentationMetricsARM(device_, object);
    }
    stale_ = false;
    baselines_.clear();
  }
  timestamps.before_submit();
  uncaptured_ = false;
  pending_ += runs;
}

void Recording::submit_failed(uint32_t runs) {
  const std::lock_guard lock(values_mutex_);
  pending_ -= runs;
}

void Recording::execution_lost(uint32_t runs) {
  const std::lock_guard lock(values_mutex_);
  pending_ -= runs;
  stale_ = uncaptured_ = true;
}

void Recording::executed_uncaptured() {
  const std::lock_guard lock(values_mutex_);
  timestamps.before_submit();
  stale_ = uncaptured_ = true;
}

bool Recording::may_run_uncaptured() const {
  const std::lock_guard lock(values_mutex_);
  return simultaneous_ && uncaptured_;
}

uint32_t Recording::pending() const {
  const std::lock_guard lock(values_mutex_);
  return pending_;
}

bool Recording::read_object(size_t index, size_t block_bytes, std::vector<uint64_t>& words) {
  const auto get = [&](uint32_t& count, void* blocks) {
    return table_.GetShaderInstrumentationValuesARM(device_, objects_[index], &count, blocks, 0);
  };
  const size_t block_words = block_bytes / sizeof(uint64_t);
  // Most objects hold as many blocks as the previous one. The number can grow while executions
  // overlap; then the read is repeated.
  for (int attempt = 0; attempt < 3; ++attempt) {
    auto count = static_cast<uint32_t>(words.size() / block_words);
    if (count == 0 || attempt > 0) {
      if (get(count, nullptr) != VK_SUCCESS) return false;
      words.resize(count * block_words);
      if (count == 0) return true;
    }
    const VkResult result = get(count, words.data());
    if (result != VK_SUCCESS && result != VK_INCOMPLETE) return false;
    words.resize(count * block_words);
    if (result == VK_SUCCESS) return true;
  }
  return true;
}

void Recording::subtract_baseline(size_t index, size_t block_bytes, std::vector<uint64_t>& words,
                                  bool still_running) {
  std::vector<uint64_t> now;
  if (still_running) now = words;
  if (index < baselines_.size())
    subtract_blocks(words, baselines_[index], block_bytes / sizeof(uint64_t));
  if (!still_running) return;
  if (baselines_.size() <= index) baselines_.resize(index + 1);
  baselines_[index] = std::move(now);
}

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

void CommandSlices::add_launches(uint32_t runs) {
  std::vector<uint64_t> multiplied;
  for (const CommandRun& run : recording_.command_runs) {
    if (!run.repeats()) continue;
    std::span<const uint64_t> words = run.launch->counts();
    if (runs != 1) {
      multiplied.assign(words.begin(), words.end());
      for (size_t block = 0; block < multiplied.size(); block += block_words_) {
        for (size_t i = kHeaderWords; i < block_words_; ++i) multiplied[block + i] *= runs;
      }
      words = multiplied;
    }
    for (uint32_t i = 0; i < run.count; ++i) {
      visit({.run = &run, .first = run.first + i, .count = 1, .words = words});
    }
  }
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
