// An application for the tests of `tally run --memory`: dispatches 64 workgroups of 64 invocations
// that access memory as the case says. Usage: memory_app CASE.
#include <array>
#include <cstdio>
#include <string>

#include "columns.comp.h"
#include "lines.comp.h"
#include "pointers.comp.h"
#include "reread.comp.h"
#include "structures.comp.h"
#include "support/context.h"
#include "support/memory.h"
#include "support/pipeline.h"
#include "texels.comp.h"

namespace {

using namespace tally::test;

constexpr uint32_t kGroups = 64, kInvocations = 64 * kGroups;

void run_columns(std::span<const uint32_t> shader, uint32_t stride, uint32_t row,
                 const ContextOptions& options = {},
                 std::initializer_list<uint32_t> dispatches = {kGroups}) {
  Context context(options);
  const Buffer values(context, VkDeviceSize{4} * stride * kInvocations);
  const Buffer sums(context, VkDeviceSize{4} * kInvocations);
  const StorageSet set(context, {values, sums});
  const std::array<uint32_t, 2> numbers = {stride, row};
  const std::array<VkSpecializationMapEntry, 2> entries = {{{0, 0, 4}, {1, 4, 4}}};
  const VkSpecializationInfo constants{2, entries.data(), sizeof numbers, numbers.data()};
  const VkDescriptorSetLayout layout_of_set = set.layout();
  const PipelineLayout layout = make_pipeline_layout(context, {&layout_of_set, 1});
  const Pipeline pipeline = make_compute_pipeline(
      context, {.shader = {.code = shader, .specialization = &constants}, .layout = layout});
  context.run([&](VkCommandBuffer commands) {
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
    set.bind(commands, layout);
    for (const uint32_t groups : dispatches) vkCmdDispatch(commands, groups, 1, 1);
  });
}

// A descriptor set with an array of buffers.
DescriptorSet make_array_set(const Context& context, std::span<const VkBuffer> buffers) {
  const VkDescriptorSetLayoutBinding binding = {0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                                static_cast<uint32_t>(buffers.size()),
                                                VK_SHADER_STAGE_ALL, nullptr};
  DescriptorSet set(context, {&binding, 1});
  std::vector<VkDescriptorBufferInfo> infos;
  for (const VkBuffer buffer : buffers) infos.push_back({buffer, 0, VK_WHOLE_SIZE});
  set.write(0, infos.data());
  return set;
}

void run_pointers() {
  constexpr VkBufferUsageFlags kUsage =
      VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;
  Context context;
  const Buffer even(context, VkDeviceSize{16} * kInvocations, kUsage);
  const Buffer odd(context, VkDeviceSize{4} * kInvocations, kUsage);
  const Buffer first(context, VkDeviceSize{4} * kInvocations);
  const Buffer second(context, VkDeviceSize{4} * kInvocations);
  const std::array<VkBuffer, 2> buffers = {first, second};
  const DescriptorSet set = make_array_set(context, buffers);
  const VkDescriptorSetLayout layout_of_set = set.layout();
  const PipelineLayout layout = make_pipeline_layout(context, {&layout_of_set, 1}, 16);
  const Pipeline pipeline =
      make_compute_pipeline(context, {.shader = {.code = pointers_comp}, .layout = layout});
  const std::array<VkDeviceAddress, 2> addresses = {even.address(), odd.address()};
  const VkDescriptorSet handle = set.set();
  context.run([&](VkCommandBuffer commands) {
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &handle, 0,
                            nullptr);
    vkCmdPushConstants(commands, layout, VK_SHADER_STAGE_ALL, 0, sizeof addresses,
                       addresses.data());
    vkCmdDispatch(commands, kGroups, 1, 1);
  });
}

void run_texels() {
  Context context;
  const auto image = [&](VkFormat format) {
    return Image(context,
                 {.extent = {64, kGroups}, .format = format, .usage = VK_IMAGE_USAGE_STORAGE_BIT});
  };
  const Image picture = image(VK_FORMAT_R8G8B8A8_UNORM), sums = image(VK_FORMAT_R32_UINT);
  const std::array<VkImageView, 2> views = {picture.view(), sums.view()};
  const ImageSet set(context, views);
  const VkDescriptorSetLayout layout_of_set = set.layout();
  const PipelineLayout layout = make_pipeline_layout(context, {&layout_of_set, 1});
  const Pipeline pipeline =
      make_compute_pipeline(context, {.shader = {.code = texels_comp}, .layout = layout});
  const VkDescriptorSet handle = set.set();
  context.run([&](VkCommandBuffer commands) {
    for (const Image* one : {&picture, &sums})
      change_layout(commands, *one, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_GENERAL);
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &handle, 0,
                            nullptr);
    vkCmdDispatch(commands, kGroups, 1, 1);
  });
}

bool run(const std::string& name) {
  if (name == "coalesced") return run_columns(columns_comp, 1, 33), true;
  if (name == "coalesced-with-libraries") {
    // Pipelines have two record pointers then.
    VkPhysicalDeviceGraphicsPipelineLibraryFeaturesEXT feature{
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_GRAPHICS_PIPELINE_LIBRARY_FEATURES_EXT, nullptr, VK_TRUE};
    ContextOptions options;
    options.device_extensions = {VK_KHR_PIPELINE_LIBRARY_EXTENSION_NAME,
                                 VK_EXT_GRAPHICS_PIPELINE_LIBRARY_EXTENSION_NAME};
    options.device_next = &feature;
    return run_columns(columns_comp, 1, 33, options), true;
  }
  if (name == "uncoalesced") return run_columns(columns_comp, 32, 33), true;
  if (name.starts_with("stride-"))
    return run_columns(columns_comp, static_cast<uint32_t>(std::stoul(name.substr(7))), 33), true;
  if (name == "structures") return run_columns(structures_comp, 8, 0), true;
  if (name == "two-sizes") return run_columns(columns_comp, 2, 33, {}, {kGroups, 5}), true;
  if (name == "broadcast") return run_columns(lines_comp, 1, 0), true;
  if (name == "random") return run_columns(lines_comp, 64, 0), true;
  if (name == "bank-conflicts") return run_columns(columns_comp, 1, 32), true;
  if (name == "read-after-write") return run_columns(reread_comp, 1, 33), true;
  if (name == "pointers") return run_pointers(), true;
  if (name == "texels") return run_texels(), true;
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc == 2 && run(argv[1])) return 0;
    std::fputs("memory_app CASE\n", stderr);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "memory_app: %s\n", error.what());
  }
  return 2;
}
