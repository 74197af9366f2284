/* A program outside that includes what Tally installs, in C. */
#include <string.h>
#include <tally/vulkan_arm.h>
#include <tally/vulkan_newer.h>

/* Both spellings are there, whatever Vulkan headers are installed. */
static const VkPipelineCreateFlags2CreateInfo kCore = {
    VK_STRUCTURE_TYPE_PIPELINE_CREATE_FLAGS_2_CREATE_INFO, 0, 0};
static const VkPipelineCreateFlags2CreateInfoKHR* const kExtension = &kCore;

int main(void) {
  if (kExtension->sType != VK_STRUCTURE_TYPE_PIPELINE_CREATE_FLAGS_2_CREATE_INFO_KHR) return 1;
  return strcmp(VK_ARM_SHADER_INSTRUMENTATION_EXTENSION_NAME, "VK_ARM_shader_instrumentation");
}
