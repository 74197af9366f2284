#include "support/instrumentation.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "catalogue/catalogue.h"
#include "spirv/analysis/block_map.h"
#include "support/stages.h"

namespace tally::test {
namespace {

// The entry-point name in code compiled from GLSL.
constexpr const char* kEntryPoint = "main";

template <typename T>
T value_of(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return std::move(result).value();
}

spirv::BlockMap map_of(std::span<const uint32_t> code, VkShaderStageFlagBits stage) {
  const auto module = value_of(spirv::Module::parse(code));
  return value_of(spirv::BlockMap::build(module, execution_model(stage), kEntryPoint));
}

// The line of `text` that ends with "// @mark", counted from 1; 0 if there is none.
uint32_t line_of(std::string_view text, std::string_view mark) {
  const std::string wanted = "// @" + std::string(mark) + "\n";
  const size_t at = text.find(wanted);
  if (at == std::string_view::npos) return 0;
  return 1 + static_cast<uint32_t>(
                 std::count(text.begin(), text.begin() + static_cast<ptrdiff_t>(at), '\n'));
}

}  // namespace

ContextOptions with_instrumentation(ContextOptions options) {
  // Never written: create-info chains are const, although pNext is not declared so here.
  static VkPhysicalDeviceShaderInstrumentationFeaturesARM feature = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INSTRUMENTATION_FEATURES_ARM, nullptr, VK_TRUE};
  if (options.device_next) throw std::invalid_argument("the features' chain is taken");
  options.layers.push_back("VK_LAYER_TALLY_counters");
  options.device_extensions.push_back(VK_ARM_SHADER_INSTRUMENTATION_EXTENSION_NAME);
  options.device_next = &feature;
  return options;
}

Instrumentation::Instrumentation(Context& context) : context_(context) {
  const auto enumerate =
      reinterpret_cast<PFN_vkEnumeratePhysicalDeviceShaderInstrumentationMetricsARM>(
          vkGetInstanceProcAddr(context.instance(),
                                "vkEnumeratePhysicalDeviceShaderInstrumentationMetricsARM"));
  uint32_t count = 0;
  check(enumerate(context.gpu(), &count, nullptr));
  std::vector<VkShaderInstrumentationMetricDescriptionARM> descriptions(
      count, {VK_STRUCTURE_TYPE_SHADER_INSTRUMENTATION_METRIC_DESCRIPTION_ARM});
  check(enumerate(context.gpu(), &count, descriptions.data()));
  for (const auto& description : descriptions) metric_names_.push_back(description.name);

  const VkShaderInstrumentationCreateInfoARM info = {
      VK_STRUCTURE_TYPE_SHADER_INSTRUMENTATION_CREATE_INFO_ARM};
  check(context.function<PFN_vkCreateShaderInstrumentationARM>("vkCreateShaderInstrumentationARM")(
      context.device(), &info, nullptr, &handle_));
}

Instrumentation::~Instrumentation() {
  context_.function<PFN_vkDestroyShaderInstrumentationARM>("vkDestroyShaderInstrumentationARM")(
      context_.device(), handle_, nullptr);
}

void Instrumentation::begin(VkCommandBuffer commands) const {
  context_.function<PFN_vkCmdBeginShaderInstrumentationARM>("vkCmdBeginShaderInstrumentationARM")(
      commands, handle_);
}

void Instrumentation::end(VkCommandBuffer commands) const {
  context_.function<PFN_vkCmdEndShaderInstrumentationARM>("vkCmdEndShaderInstrumentationARM")(
      commands);
}

void Instrumentation::clear() const {
  context_.function<PFN_vkClearShaderInstrumentationMetricsARM>(
      "vkClearShaderInstrumentationMetricsARM")(context_.device(), handle_);
}

std::vector<BlockValues> Instrumentation::read() const {
  const auto get = context_.function<PFN_vkGetShaderInstrumentationValuesARM>(
      "vkGetShaderInstrumentationValuesARM");
  const size_t stride =
      sizeof(VkShaderInstrumentationMetricDataHeaderARM) + metric_names_.size() * sizeof(uint64_t);
  uint32_t count = 0;
  std::vector<std::byte> bytes;
  VkResult result = VK_INCOMPLETE;
  while (result == VK_INCOMPLETE) {  // other threads may record meanwhile
    check(get(context_.device(), handle_, &count, nullptr, 0));
    if (count == 0) return {};
    bytes.resize(count * stride);
    result = get(context_.device(), handle_, &count, bytes.data(), 0);
  }
  check(result);
  std::vector<BlockValues> blocks(count);
  for (size_t i = 0; i < count; ++i) {
    const std::byte* from = bytes.data() + i * stride;
    blocks[i].metrics.resize(metric_names_.size());
    std::memcpy(&blocks[i].header, from, sizeof(blocks[i].header));
    std::memcpy(blocks[i].metrics.data(), from + sizeof(blocks[i].header),
                metric_names_.size() * sizeof(uint64_t));
  }
  return blocks;
}

size_t Instrumentation::metric(std::string_view id) const {
  const catalogue::Counter* counter = catalogue::find(id);
  if (!counter) throw std::invalid_argument("no counter " + std::string(id));
  const auto found = std::find(metric_names_.begin(), metric_names_.end(), counter->name);
  if (found == metric_names_.end())
    throw std::invalid_argument(std::string(id) + " is no metric here");
  return static_cast<size_t>(found - metric_names_.begin());
}

Counts::Counts(const Instrumentation& instrumentation, VkShaderStageFlagBits stage,
               std::span<const uint32_t> code, std::optional<uint32_t> result,
               std::optional<uint32_t> sub)
    : instrumentation_(instrumentation), stage_(stage), code_(code) {
  const size_t executions = instrumentation.metric("executions");
  executions_.resize(map_of(code, stage).blocks().size());
  for (const BlockValues& block : instrumentation.read()) {
    if (block.header.stages != static_cast<VkShaderStageFlags>(stage)) continue;
    if (result && block.header.resultIndex != *result) continue;
    if (sub && block.header.resultSubIndex != *sub) continue;
    executions_.at(block.header.basicBlockIndex) += block.metrics[executions];
    totals_.resize(block.metrics.size());
    for (size_t i = 0; i < totals_.size(); ++i) totals_[i] += block.metrics[i];
  }
}

uint64_t Counts::at(std::string_view mark) const {
  const spirv::BlockMap map = map_of(code_, stage_);
  std::vector<size_t> found;
  for (size_t i = 0; i < map.blocks().size(); ++i) {
    const auto& location = map.blocks()[i].location;
    if (location && location->line == line_of(map.files()[location->file].text, mark))
      found.push_back(i);
  }
  if (found.size() != 1) {
    throw std::invalid_argument(std::to_string(found.size()) + " blocks begin at @" +
                                std::string(mark));
  }
  return executions_.at(found[0]);
}

uint64_t Counts::total(std::string_view metric) const {
  return totals_.empty() ? 0 : totals_.at(instrumentation_.metric(metric));
}

}  // namespace tally::test
