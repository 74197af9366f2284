// VK_ARM_shader_instrumentation as a tool uses it, and results by place in the shader's source.
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

// Put it into `next` of a pipeline's info: its shaders are instrumented.
inline constexpr VkPipelineCreateFlags2CreateInfoKHR kInstrument = {
    VK_STRUCTURE_TYPE_PIPELINE_CREATE_FLAGS_2_CREATE_INFO_KHR, nullptr,
    VK_PIPELINE_CREATE_2_INSTRUMENT_SHADERS_BIT_ARM};

// `options` with VK_LAYER_TALLY_counters nearest the driver and the extension enabled.
ContextOptions with_instrumentation(ContextOptions options = {});

// One metric block.
struct BlockValues {
  VkShaderInstrumentationMetricDataHeaderARM header;
  std::vector<uint64_t> metrics;  // in the order of the enumeration
};

// One VkShaderInstrumentationARM.
class Instrumentation {
 public:
  explicit Instrumentation(const Context& context);
  ~Instrumentation();
  Instrumentation(const Instrumentation&) = delete;
  Instrumentation& operator=(const Instrumentation&) = delete;

  VkShaderInstrumentationARM handle() const { return handle_; }
  void begin(VkCommandBuffer commands) const;
  void end(VkCommandBuffer commands) const;
  void clear() const;
  // Everything measured so far.
  std::vector<BlockValues> read() const;
  // Place of a metric, by its id in the catalogue, among BlockValues::metrics.
  size_t metric(std::string_view id) const;

 private:
  const Context& context_;
  VkShaderInstrumentationARM handle_ = VK_NULL_HANDLE;
  std::vector<std::string> metric_names_;
};

// The counts of one shader of one command (or, without `result`, of all commands together), asked
// for by place. A shader compiled with DEBUG carries its text; "// @name" at the end of a line
// marks the block that begins there.
class Counts {
 public:
  Counts(const Instrumentation& instrumentation, VkShaderStageFlagBits stage,
         std::span<const uint32_t> code, std::optional<uint32_t> result = std::nullopt);

  // Times the entry point was entered: invocations of the shader.
  uint64_t invocations() const { return executions_.at(0); }
  // Times the block at the mark was executed; throws where not exactly one block begins there.
  uint64_t at(std::string_view mark) const;
  // A metric summed over all blocks.
  uint64_t total(std::string_view metric) const;
  // Times each block was executed.
  std::span<const uint64_t> executions() const { return executions_; }

 private:
  const Instrumentation& instrumentation_;
  VkShaderStageFlagBits stage_;
  std::span<const uint32_t> code_;
  std::vector<uint64_t> executions_;
  std::vector<uint64_t> totals_;  // by metric
};

}  // namespace tally::test
