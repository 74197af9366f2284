#include "api/kit.h"

#include <algorithm>
#include <cctype>
#include <cstring>

#include "full_screen.vert.h"
#include "orange.frag.h"
#include "support/environment.h"
#include "work.comp.h"

namespace tally::test {

std::span<const uint32_t> work_shader() { return work_comp; }

LayerSettings::LayerSettings(const Pairs& pairs) : by_environment_(validation_wanted()) {
  for (const auto& [key, value] : pairs) values_.push_back(value);
  for (size_t i = 0; i < pairs.size(); ++i) {
    settings_.push_back({"VK_LAYER_TALLY_counters", pairs[i].first,
                         VK_LAYER_SETTING_TYPE_STRING_EXT, 1, &values_[i]});
  }
  info_ = {VK_STRUCTURE_TYPE_LAYER_SETTINGS_CREATE_INFO_EXT, nullptr,
           static_cast<uint32_t>(settings_.size()), settings_.data()};
  if (!by_environment_) return;
  for (const auto& [key, value] : pairs) {
    std::string variable = std::string("TALLY_") + key;
    std::transform(variable.begin(), variable.end(), variable.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    set_variable(variable.c_str(), value);
    variables_.push_back(std::move(variable));
  }
}

LayerSettings::~LayerSettings() {
  for (const std::string& variable : variables_) unset_variable(variable.c_str());
}

Context& CountersTest::start(const LayerSettings::Pairs& settings, ContextOptions options) {
  LayerSettings::Pairs all = settings;
  const auto validates = [](const auto& one) { return !std::strcmp(one.first, "validate_spirv"); };
  if (std::ranges::none_of(all, validates)) all.emplace_back("validate_spirv", "true");
  const LayerSettings layer_settings(all);
  options.instance_next = layer_settings.next();
  VkPhysicalDeviceShaderInstrumentationFeaturesARM feature = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INSTRUMENTATION_FEATURES_ARM, options.device_next,
      VK_TRUE};
  options.layers.push_back("VK_LAYER_TALLY_counters");
  options.device_extensions.push_back(VK_ARM_SHADER_INSTRUMENTATION_EXTENSION_NAME);
  options.device_next = &feature;
  work_.reset();
  return context_.emplace(options);
}

CountersTest::Work::Work(Context& context, uint32_t push_bytes)
    : values(context, 4096),
      set(context, {values}),
      layout(make_pipeline_layout(context, {{set.layout()}}, push_bytes)) {}

CountersTest::Work& CountersTest::work() {
  if (!work_) {
    work_.emplace(context());
    work_->values.clear();
    work_->counting = make_work(work_->layout);
    work_->plain = make_work(work_->layout, nullptr);
  }
  return *work_;
}

Pipeline CountersTest::make_work(VkPipelineLayout layout, const void* next) {
  return make_compute_pipeline(context(),
                               {{VK_SHADER_STAGE_COMPUTE_BIT, work_shader()}, layout, {}, 0, next});
}

std::vector<std::pair<uint32_t, uint64_t>> CountersTest::measure(VkPipeline pipeline) {
  const Instrumentation instrumentation(context());
  instrumentation.run([&](VkCommandBuffer commands) { dispatch(commands, pipeline, 2); });
  return invocations(instrumentation);
}

PipelineCache CountersTest::make_cache(VkPipelineCacheCreateFlags flags) {
  const VkPipelineCacheCreateInfo info{VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO, nullptr,
                                       flags};
  VkPipelineCache handle = VK_NULL_HANDLE;
  check(vkCreatePipelineCache(context().device(), &info, nullptr, &handle));
  return {context().device(), handle};
}

void CountersTest::dispatch(VkCommandBuffer commands, VkPipeline pipeline, uint32_t groups,
                            uint32_t add) {
  vkCmdBindPipeline(commands, kCompute, pipeline);
  work().set.bind(commands, work().layout);
  vkCmdPushConstants(commands, work().layout, VK_SHADER_STAGE_ALL, 0, sizeof add, &add);
  vkCmdDispatch(commands, groups, 1, 1);
  full_barrier(commands);
}

Pipeline CountersTest::make_orange(VkPipelineLayout layout) {
  return make_graphics_pipeline(context(),
                                {.stages = {{VK_SHADER_STAGE_VERTEX_BIT, full_screen_vert},
                                            {VK_SHADER_STAGE_FRAGMENT_BIT, orange_frag}},
                                 .layout = layout,
                                 .next = &kInstrument});
}

void CountersTest::draw_orange(VkCommandBuffer commands, const RenderTarget& target,
                               VkPipeline pipeline, uint32_t draws) {
  target.begin(commands);
  vkCmdBindPipeline(commands, kGraphics, pipeline);
  for (uint32_t i = 0; i < draws; ++i) vkCmdDraw(commands, 3, 1, 0, 0);
  target.end(commands);
}

CountersTest::Results CountersTest::results(const Instrumentation& instrumentation) {
  Results results;
  const size_t executions = instrumentation.metric("executions");
  for (const BlockValues& block : instrumentation.read()) {
    if (results.empty() || results.back().first != block.header.resultIndex) {
      results.push_back({block.header.resultIndex, {}});
    }
    results.back().second.push_back(block.metrics[executions]);
  }
  return results;
}

std::vector<std::pair<uint32_t, uint64_t>> CountersTest::invocations(
    const Instrumentation& instrumentation) {
  std::vector<std::pair<uint32_t, uint64_t>> result;
  for (const auto& [index, blocks] : results(instrumentation))
    result.emplace_back(index, blocks.at(0));
  return result;
}

std::vector<std::string> CountersTest::error_ids() {
  std::vector<std::string> ids;
  for (const Message& message : context().take_errors()) ids.push_back(message.id);
  return ids;
}

}  // namespace tally::test
