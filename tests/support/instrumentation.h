// VK_ARM_shader_instrumentation as a tool uses it, and its results by position in the shader's
// source.
#pragma once

#include <tally/vulkan_arm.h>
#include <tally/vulkan_newer.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/context.h"

namespace tally::test {

// Put this into `next` of a pipeline's info to instrument its shaders.
inline constexpr VkPipelineCreateFlags2CreateInfoKHR kInstrument = {
    VK_STRUCTURE_TYPE_PIPELINE_CREATE_FLAGS_2_CREATE_INFO_KHR, nullptr,
    VK_PIPELINE_CREATE_2_INSTRUMENT_SHADERS_BIT_ARM};

// Adds VK_LAYER_TALLY_counters nearest the driver and enables the extension.
ContextOptions with_instrumentation(ContextOptions options = {});

// One metric block.
struct BlockValues {
  VkShaderInstrumentationMetricDataHeaderARM header;
  std::vector<uint64_t> metrics;  // in the order of the enumeration
};

// One VkShaderInstrumentationARM.
class Instrumentation {
 public:
  explicit Instrumentation(Context& context);
  ~Instrumentation();
  Instrumentation(const Instrumentation&) = delete;
  Instrumentation& operator=(const Instrumentation&) = delete;

  VkShaderInstrumentationARM handle() const { return handle_; }
  void begin(VkCommandBuffer commands) const;
  void end(VkCommandBuffer commands) const;
  // Runs the commands that `record` records, all of them measured.
  template <typename Record>
  void run(Record&& record) const {
    context_.run([&](VkCommandBuffer commands) {
      begin(commands);
      record(commands);
      end(commands);
    });
  }
  void clear() const;
  // Everything measured so far.
  std::vector<BlockValues> read() const;
  // The index of a metric in BlockValues::metrics, by its id in the catalogue.
  size_t metric(std::string_view id) const;

 private:
  Context& context_;
  VkShaderInstrumentationARM handle_ = VK_NULL_HANDLE;
  std::vector<std::string> metric_names_;
};

// The counts of one shader in one command (without `result`: in all commands together; `sub`: the
// resultSubIndex, where a pipeline has several shaders of the stage), looked up by position in the
// source. A shader compiled with DEBUG contains its source; "// @name" at the
// end of a line marks the block that begins there.
class Counts {
 public:
  Counts(const Instrumentation& instrumentation, VkShaderStageFlagBits stage,
         std::span<const uint32_t> code, std::optional<uint32_t> result = std::nullopt,
         std::optional<uint32_t> sub = std::nullopt);

  // The number of times the entry point was entered: the shader's invocations.
  uint64_t invocations() const { return executions_.at(0); }
  // The number of executions of the marked block. Throws unless exactly one block begins at the
  // mark.
  uint64_t at(std::string_view mark) const;
  // A metric summed over all blocks.
  uint64_t total(std::string_view metric) const;
  // The number of executions of each block.
  std::span<const uint64_t> executions() const { return executions_; }

 private:
  const Instrumentation& instrumentation_;
  VkShaderStageFlagBits stage_;
  std::span<const uint32_t> code_;
  std::vector<uint64_t> executions_;
  std::vector<uint64_t> totals_;  // by metric
};

}  // namespace tally::test
