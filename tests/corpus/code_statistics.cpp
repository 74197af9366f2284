#include "corpus/code_statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace tally::test {
namespace {

// RADV's statistics, except hashes and those about its scheduler; and NVIDIA's.
constexpr std::array<std::string_view, 14> kNames = {
    "Code size",          "Instructions",   "Branches",      "SGPRs",        "VGPRs",
    "Subgroups per SIMD", "Spilled SGPRs",  "Spilled VGPRs", "Scratch size", "Latency",
    "Inverse Throughput", "Register Count", "Binary Size",   "Stack Size"};

template <typename Visit>  // visit(name, value)
void visit_statistics(const Context& context, VkPipeline pipeline, uint32_t executable,
                      Visit&& visit) {
  const auto get = context.function<PFN_vkGetPipelineExecutableStatisticsKHR>(
      "vkGetPipelineExecutableStatisticsKHR");
  VkPipelineExecutableInfoKHR info = {VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR};
  info.pipeline = pipeline;
  info.executableIndex = executable;
  uint32_t count = 0;
  check(get(context.device(), &info, &count, nullptr));
  std::vector<VkPipelineExecutableStatisticKHR> statistics(
      count, {VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_STATISTIC_KHR});
  check(get(context.device(), &info, &count, statistics.data()));
  for (const auto& statistic : statistics) {
    if (std::ranges::find(kNames, std::string_view(statistic.name)) != kNames.end()) {
      visit(statistic.name, statistic.value.u64);
    }
  }
}

double ratio(uint64_t plain, uint64_t instrumented) {
  return plain ? static_cast<double>(instrumented) / static_cast<double>(plain) : 1;
}

uint64_t number(std::string_view text) {
  uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace

CodeStatistics code_statistics(const Context& context, VkPipeline pipeline,
                               VkShaderStageFlags stages) {
  const auto get = context.function<PFN_vkGetPipelineExecutablePropertiesKHR>(
      "vkGetPipelineExecutablePropertiesKHR");
  VkPipelineInfoKHR info = {VK_STRUCTURE_TYPE_PIPELINE_INFO_KHR};
  info.pipeline = pipeline;
  uint32_t count = 0;
  check(get(context.device(), &info, &count, nullptr));
  std::vector<VkPipelineExecutablePropertiesKHR> executables(
      count, {VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_PROPERTIES_KHR});
  check(get(context.device(), &info, &count, executables.data()));
  CodeStatistics statistics;
  for (uint32_t i = 0; i < count; ++i) {
    if ((executables[i].stages & stages) == 0) continue;
    visit_statistics(context, pipeline, i,
                     [&](const char* name, uint64_t value) { statistics[name] += value; });
  }
  return statistics;
}

std::string CodeComparison::line(const CodeStatistics& plain, const CodeStatistics& instrumented) {
  std::string line;
  for (const auto& [name, value] : plain) {
    const auto other = instrumented.find(name);
    if (other != instrumented.end())
      line += fmt::format("{}\t{}\t{}\t", name, value, other->second);
  }
  return line;
}

void CodeComparison::add(std::string_view line) {
  const auto next = [&] {
    const size_t end = line.find('\t');
    const std::string_view field = line.substr(0, end);
    line.remove_prefix(end + 1);
    return field;
  };
  while (!line.empty()) {
    const std::string name(next());
    const uint64_t plain = number(next());
    pairs_[name].emplace_back(plain, number(next()));
  }
}

void CodeComparison::print() const {
  if (pairs_.empty()) return;
  fmt::print("{:<20} {:>9} {:>12} {:>7} {:>7} {:>7} {:>7} {:>9}\n", "", "plain", "instrumented",
             "ratio", "median", "rose in", "fell in", "pipelines");
  for (const auto& [name, pairs] : pairs_) {
    uint64_t plain = 0, instrumented = 0;
    std::vector<double> ratios;
    for (const auto& [before, after] : pairs) {
      plain += before;
      instrumented += after;
      ratios.push_back(ratio(before, after));
    }
    const auto middle = ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2);
    std::ranges::nth_element(ratios, middle);
    const auto count = [&](auto&& is) { return std::ranges::count_if(pairs, is); };
    const auto rose = count([](const Pair& pair) { return pair.second > pair.first; });
    const auto fell = count([](const Pair& pair) { return pair.second < pair.first; });
    fmt::print("{:<20} {:>9} {:>12} {:>7.3f} {:>7.3f} {:>7} {:>7} {:>9}\n", name, plain,
               instrumented, ratio(plain, instrumented), *middle, rose, fell, pairs.size());
  }
}

}  // namespace tally::test
