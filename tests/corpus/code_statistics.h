// A driver's statistics about generated code (VK_KHR_pipeline_executable_properties) for many
// pipelines, original and instrumented.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/pipeline.h"

namespace tally::test {

// Values by the driver's names ("Code size", "VGPRs"), summed over the executables of the
// pipeline's stages `stages`. The pipeline must have been created with
// VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR.
using CodeStatistics = std::map<std::string, uint64_t>;
CodeStatistics code_statistics(const Context& context, VkPipeline pipeline,
                               VkShaderStageFlags stages);

class CodeComparison {
 public:
  // Encodes the statistics as one line for transfer between processes, and decodes it.
  static std::string line(const CodeStatistics& plain, const CodeStatistics& instrumented);
  void add(std::string_view line);
  // Prints a table: totals and their ratio, the median ratio, and the number of pipelines in which
  // the value rose or fell.
  void print() const;

 private:
  using Pair = std::pair<uint64_t, uint64_t>;  // plain, instrumented
  std::map<std::string, std::vector<Pair>> pairs_;
};

}  // namespace tally::test
