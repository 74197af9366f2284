/* A program outside that includes what Tally installs, in C. */
#include <string.h>
#include <tally/vulkan_arm.h>

int main(void) {
  return strcmp(VK_ARM_SHADER_INSTRUMENTATION_EXTENSION_NAME, "VK_ARM_shader_instrumentation");
}
