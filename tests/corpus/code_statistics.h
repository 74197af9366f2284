// What a driver says of the code that it made (VK_KHR_pipeline_executable_properties), of many
// pipelines as they are and instrumented.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/pipeline.h"

namespace tally::test {

// Numbers by the driver's names ("Code size", "VGPRs"), summed over what the driver made of
// the pipeline's stages `stages`. The pipeline must have been created with
// VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR.
using CodeStatistics = std::map<std::string, uint64_t>;
CodeStatistics code_statistics(const Context& context, VkPipeline pipeline,
                               VkShaderStageFlags stages);

class CodeComparison {
 public:
  // One line for the way between processes, and back.
  static std::string line(const CodeStatistics& plain, const CodeStatistics& instrumented);
  void add(std::string_view line);
  // A table: totals and their ratio, the median ratio, in how many pipelines the number rose or
  // fell.
  void print() const;

 private:
  using Pair = std::pair<uint64_t, uint64_t>;  // plain, instrumented
  std::map<std::string, std::vector<Pair>> pairs_;
};

}  // namespace tally::test
