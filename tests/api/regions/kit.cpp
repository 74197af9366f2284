#include "api/regions/kit.h"

#include <algorithm>
#include <stdexcept>

#include "catalogue/catalogue.h"
#include "rectangle.vert.h"

namespace tally::test {

uint32_t counter_id(std::string_view id) {
  const catalogue::Counter* counter = catalogue::find(id);
  if (!counter) throw std::invalid_argument("no counter " + std::string(id));
  return static_cast<uint32_t>(counter->number);
}

VkPhysicalDevicePerformanceCountersByRegionPropertiesARM region_properties(const Context& context) {
  VkPhysicalDevicePerformanceCountersByRegionPropertiesARM ours = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PERFORMANCE_COUNTERS_BY_REGION_PROPERTIES_ARM};
  VkPhysicalDeviceProperties2 properties = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, &ours};
  vkGetPhysicalDeviceProperties2(context.gpu(), &properties);
  return ours;
}

bool offers_counter(const Context& context, std::string_view id) {
  const auto enumerate =
      reinterpret_cast<PFN_vkEnumeratePhysicalDeviceQueueFamilyPerformanceCountersByRegionARM>(
          vkGetInstanceProcAddr(
              context.instance(),
              "vkEnumeratePhysicalDeviceQueueFamilyPerformanceCountersByRegionARM"));
  uint32_t count = 0;
  check(enumerate(context.gpu(), context.queue_family(), &count, nullptr, nullptr));
  std::vector<VkPerformanceCounterARM> counters(count, {VK_STRUCTURE_TYPE_PERFORMANCE_COUNTER_ARM});
  check(enumerate(context.gpu(), context.queue_family(), &count, counters.data(), nullptr));
  return std::ranges::find(counters, counter_id(id), &VkPerformanceCounterARM::counterID) !=
         counters.end();
}

namespace {

uint32_t aligned(uint32_t value, uint32_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

}  // namespace

Capture::Capture(const Context& context, const Info& info)
    : info_(info), properties_(region_properties(context)) {
  const VkExtent2D region = properties_.performanceCounterRegionSize;
  columns_ = (info.area.width + region.width - 1) / region.width;
  rows_ = (info.area.height + region.height - 1) / region.height;
  const auto counters = static_cast<uint32_t>(info.counters.size());
  region_words_ = aligned(counters * 4, properties_.regionAlignment) / 4;
  row_words_ = aligned(columns_ * region_words_ * 4, properties_.rowStrideAlignment) / 4;
  for (uint32_t i = 0; i < info.subpasses * info.layers; ++i) {
    buffers_.emplace_back(
        context, VkDeviceSize{row_words_} * rows_ * 4,
        VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT);
    addresses_.push_back(info.wanted.empty() || info.wanted[i] ? buffers_.back().address() : 0);
  }
  for (const std::string_view id : info.counters) ids_.push_back(counter_id(id));
  begin_ = {VK_STRUCTURE_TYPE_RENDER_PASS_PERFORMANCE_COUNTERS_BY_REGION_BEGIN_INFO_ARM};
  begin_.counterAddressCount = static_cast<uint32_t>(addresses_.size());
  begin_.pCounterAddresses = addresses_.data();
  begin_.counterIndexCount = counters;
  begin_.pCounterIndices = ids_.data();
  reset();
}

void Capture::reset() {
  for (const Buffer& buffer : buffers_) std::ranges::fill(buffer.as<uint32_t>(), kUntouched);
}

uint32_t Capture::value(std::string_view counter, uint32_t column, uint32_t row,
                        uint32_t index) const {
  const auto place = std::ranges::find(info_.counters, counter) - info_.counters.begin();
  return buffers_.at(index)
      .as<uint32_t>()[row * row_words_ + column * region_words_ + static_cast<size_t>(place)];
}

uint64_t Capture::sum(std::string_view counter, uint32_t index) const {
  uint64_t sum = 0;
  for (uint32_t row = 0; row < rows_; ++row) {
    for (uint32_t column = 0; column < columns_; ++column) {
      sum += value(counter, column, row, index);
    }
  }
  return sum;
}

void Capture::expect_layout(uint32_t index) const {
  const auto words = buffers_.at(index).as<uint32_t>();
  for (size_t i = 0; i < words.size(); ++i) {
    const size_t in_row = i % row_words_;
    const bool is_value =
        in_row < columns_ * region_words_ && in_row % region_words_ < info_.counters.size();
    ASSERT_EQ(words[i] != kUntouched, is_value) << "word " << i;
  }
}

bool Capture::untouched(uint32_t index) const {
  return std::ranges::all_of(buffers_.at(index).as<uint32_t>(),
                             [](uint32_t word) { return word == kUntouched; });
}

Context& RegionsTest::start(const LayerSettings::Pairs& settings, bool instrumentation,
                            ContextOptions options) {
  LayerSettings::Pairs all = settings;
  all.emplace_back("validate_spirv", "true");
  // Enables primitive counting on every driver that supports it.
  const bool limited = std::ranges::any_of(settings, [](const auto& pair) {
    return pair.first == std::string_view("region_primitives");
  });
  if (!limited) all.emplace_back("region_primitives", "256");
  const LayerSettings layer_settings(all);
  options.instance_next = layer_settings.next();
  VkPhysicalDeviceShaderInstrumentationFeaturesARM blocks = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INSTRUMENTATION_FEATURES_ARM, options.device_next,
      VK_TRUE};
  VkPhysicalDevicePerformanceCountersByRegionFeaturesARM regions = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PERFORMANCE_COUNTERS_BY_REGION_FEATURES_ARM,
      instrumentation ? &blocks : options.device_next, VK_TRUE};
  options.layers.push_back("VK_LAYER_TALLY_counters");
  options.device_extensions.push_back(VK_ARM_PERFORMANCE_COUNTERS_BY_REGION_EXTENSION_NAME);
  if (instrumentation) {
    options.device_extensions.push_back(VK_ARM_SHADER_INSTRUMENTATION_EXTENSION_NAME);
  }
  options.device_next = &regions;
  layout_.reset();
  return context_.emplace(options);
}

VkPipelineLayout RegionsTest::layout() {
  if (!layout_) layout_.emplace(make_pipeline_layout(context(), {}, sizeof(RectanglePush)));
  return *layout_;
}

Pipeline RegionsTest::make_rectangles(std::span<const uint32_t> fragment,
                                      GraphicsPipelineInfo more) {
  more.stages = {{kVertex, rectangle_vert}, {kFragment, fragment}};
  if (!more.layout) more.layout = layout();
  more.topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP;
  return make_graphics_pipeline(context(), more);
}

void RegionsTest::draw(VkCommandBuffer commands, VkPipeline pipeline, const RectanglePush& push,
                       uint32_t instances) {
  vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, pipeline);
  vkCmdPushConstants(commands, layout(), VK_SHADER_STAGE_ALL, 0, sizeof(push), &push);
  vkCmdDraw(commands, 4, instances, 0, 0);
}

RectanglePush RegionsTest::whole(const RenderTarget& target, float depth) {
  const auto width = static_cast<float>(target.info().extent.width);
  const auto height = static_cast<float>(target.info().extent.height);
  return {0, 0, width, height, width, height, depth};
}

void RegionsTest::begin_part(VkCommandBuffer commands, const RenderTarget& target,
                             VkRenderingFlags flags, const void* next) {
  VkRenderingAttachmentInfo color = {VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO};
  color.imageView = target.color().view();
  color.imageLayout = VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL;
  color.loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR;
  color.storeOp = VK_ATTACHMENT_STORE_OP_STORE;
  VkRenderingInfo info = {VK_STRUCTURE_TYPE_RENDERING_INFO, next};
  info.flags = flags;
  info.renderArea.extent = target.info().extent;
  info.layerCount = 1;
  info.colorAttachmentCount = 1;
  info.pColorAttachments = &color;
  vkCmdBeginRendering(commands, &info);
  target.set_viewport(commands);
}

void RegionsTest::attachment_barrier(VkCommandBuffer commands) {
  const VkMemoryBarrier barrier = {VK_STRUCTURE_TYPE_MEMORY_BARRIER, nullptr,
                                   VK_ACCESS_COLOR_ATTACHMENT_WRITE_BIT, VK_ACCESS_HOST_READ_BIT};
  vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_COLOR_ATTACHMENT_OUTPUT_BIT,
                       VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &barrier, 0, nullptr, 0, nullptr);
}

}  // namespace tally::test
