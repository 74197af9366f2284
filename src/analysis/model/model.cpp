#include "analysis/model/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/hash.h"

namespace tally::analysis {

uint32_t Calls::function_for(const store::FunctionRow& row,
                             std::span<const std::string> parameters) {
  for (uint32_t i = 0; i < functions_.size(); ++i) {
    const Function& function = functions_[i];
    if (function.row.id == row.id && std::ranges::equal(function.parameters, parameters)) return i;
  }
  functions_.push_back({row, {parameters.begin(), parameters.end()}});
  return static_cast<uint32_t>(functions_.size() - 1);
}

uint64_t Calls::hash_of(uint32_t function, std::span<const int64_t> parameters) {
  uint64_t hash = function;
  for (const int64_t parameter : parameters)
    hash = hash_combine(hash, static_cast<uint64_t>(parameter));
  return hash_combine(hash, parameters.size());
}

uint32_t Calls::intern(const store::FunctionRow& function,
                       std::span<const std::string> parameter_names,
                       std::span<const int64_t> parameters) {
  const uint32_t number = function_for(function, parameter_names);
  const uint32_t call = numbers_.find_or_add(
      hash_of(number, parameters), size(),
      [&](uint32_t other) {
        const Entry& entry = calls_[other];
        return entry.function == number && std::ranges::equal(parameters_of(entry), parameters);
      },
      [&](uint32_t other) {
        return hash_of(calls_[other].function, parameters_of(calls_[other]));
      });
  if (call == size()) {
    calls_.push_back({number, static_cast<uint32_t>(parameters.size()), parameters_.size()});
    parameters_.insert(parameters_.end(), parameters.begin(), parameters.end());
  }
  return call;
}

Call Calls::operator[](uint32_t call) const {
  const Entry& entry = calls_[call];
  const Function& function = functions_[entry.function];
  return {function.row.kind, function.row.name, function.parameters, parameters_of(entry)};
}

namespace {

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

// The usual two-pointer glob: on a mismatch, return to the last * and let it match one more
// character.
bool glob(std::string_view pattern, std::string_view text) {
  size_t p = 0, t = 0, star = std::string_view::npos, mark = 0;
  while (t < text.size()) {
    if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t]) && pattern[p] != '*') {
      ++p, ++t;
    } else if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      mark = t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++mark;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace

Result<FrameRange> parse_frame_range(std::string_view text) {
  if (const std::optional<FrameRange> range = FrameRange::parse(text)) return *range;
  return Error{fmt::format("'{}' is not a range of frames; write 7, 3-9, 3- or -9", text)};
}

bool matches_pattern(std::string_view pattern, std::string_view text) {
  const std::string p = lower(pattern), t = lower(text);
  if (p.find_first_of("*?") != std::string::npos) return glob(p, t);
  return t.find(p) != std::string::npos;
}

void EstimatedTimes::add(uint32_t sample, uint64_t count) {
  const auto place =
      std::ranges::lower_bound(of_samples_, sample, {}, &std::pair<uint32_t, uint64_t>::first);
  if (place == of_samples_.end() || place->first != sample) {
    of_samples_.emplace(place, sample, count);
  } else {
    place->second += count;
  }
}

void EstimatedTimes::add(uint32_t estimated_from) {
  if (estimated_from != kNone) add(estimated_from, 1);
}

void EstimatedTimes::add(const EstimatedTimes& other) {
  for (const auto& [sample, count] : other.of_samples_) add(sample, count);
}

std::optional<double> EstimatedTimes::standard_error(const std::vector<TimeSample>& samples) const {
  if (of_samples_.empty()) return std::nullopt;
  double variance = 0;
  for (const auto& [sample, count] : of_samples_) {
    const auto n = static_cast<double>(count);
    variance += samples[sample].variance * (n * n / static_cast<double>(samples[sample].timed) + n);
  }
  return std::sqrt(variance);
}

uint32_t Model::shader_of(uint32_t pipeline, uint32_t sub, uint32_t stage) const {
  if (pipeline == kNone) return kNone;
  uint32_t found = kNone;
  uint32_t count = 0;
  uint32_t position = 0;
  for (const store::RowId id : pipelines[pipeline].shaders) {
    const uint32_t at = position++;
    const uint32_t shader = shader_index.find(id);
    if (shader == kNone || shaders[shader].stage != stage) continue;
    if (at == sub) return shader;
    found = shader;
    ++count;
  }
  return count == 1 ? found : kNone;
}

uint32_t Model::parent_of_label(uint32_t label) const {
  const uint32_t parent = label_index.find(labels[label].parent);
  return parent != kNone && parent < label ? parent : kNone;
}

bool Model::is_selected(uint32_t shader, uint32_t pipeline) const {
  if (!shader_selected[shader] || !selected_by_pipeline[shader]) return shader_selected[shader];
  return pipeline != kNone && pipeline_selected[pipeline];
}

bool Model::frame_selected(uint32_t frame) const {
  return !selection.frames || selection.frames->contains(frames[frame].number);
}

bool Model::is_draw(const Command& command) const {
  return command.call != kNone && store::is_draw(calls[command.call].kind, command.pass != kNone);
}

}  // namespace tally::analysis
