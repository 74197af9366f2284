// An application for the tests of `tally run`: one compute dispatch of 4 x 64 invocations per
// submission, without a window. Usage: launched_app SUBMISSIONS ENDING [objects|daemon]. ENDING is
// the exit status, "abort", or "wait" (for a signal). "objects" uses a shader object instead of a
// pipeline; the exit status is 77 if the device does not support them. "daemon" closes all sockets
// of the process after half of the submissions, and opens its own; the exit status is 78 if
// anything is written to these.
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <tally/vulkan_newer.h>

#include "launched_app.comp.h"
#include "support/context.h"
#include "support/pipeline.h"

namespace {

using namespace tally::test;

int end(const char* ending) {
  std::puts("done");
  std::fflush(stdout);
  if (std::strcmp(ending, "abort") == 0) std::abort();
  if (std::strcmp(ending, "wait") == 0) pause();
  return std::atoi(ending);
}

// The sockets of the application, under all numbers that the process has for sockets.
class OwnSockets {
 public:
  OwnSockets() {
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair_) != 0) return;
    for (int number = 3; number < 4200; ++number) {
      struct stat file {};
      if (number == pair_[0] || number == pair_[1] || fstat(number, &file) != 0) continue;
      if (S_ISSOCK(file.st_mode)) dup2(pair_[0], number);
    }
  }
  bool received_nothing() const {
    char byte = 0;
    return recv(pair_[1], &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN;
  }

 private:
  int pair_[2] = {-1, -1};
};

void run_with_pipeline(Context& context, int submissions) {
  const PipelineLayout layout = make_pipeline_layout(context);
  const Pipeline pipeline =
      make_compute_pipeline(context, {.shader = {.code = launched_app_comp}, .layout = layout});
  for (int i = 0; i < submissions; ++i) {
    context.run([&](VkCommandBuffer commands) {
      vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
      vkCmdDispatch(commands, 4, 1, 1);
    });
  }
}

void run_with_shader_object(Context& context, int submissions) {
  VkShaderCreateInfoEXT info = {VK_STRUCTURE_TYPE_SHADER_CREATE_INFO_EXT};
  info.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  info.codeType = VK_SHADER_CODE_TYPE_SPIRV_EXT;
  info.codeSize = sizeof launched_app_comp;
  info.pCode = launched_app_comp;
  info.pName = "main";
  VkShaderEXT shader = VK_NULL_HANDLE;
  check(context.function<PFN_vkCreateShadersEXT>("vkCreateShadersEXT")(context.device(), 1, &info,
                                                                       nullptr, &shader));
  const auto bind = context.function<PFN_vkCmdBindShadersEXT>("vkCmdBindShadersEXT");
  for (int i = 0; i < submissions; ++i) {
    context.run([&](VkCommandBuffer commands) {
      const VkShaderStageFlagBits stage = VK_SHADER_STAGE_COMPUTE_BIT;
      bind(commands, 1, &stage, &shader);
      vkCmdDispatch(commands, 4, 1, 1);
    });
  }
  context.function<PFN_vkDestroyShaderEXT>("vkDestroyShaderEXT")(context.device(), shader, nullptr);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 99;
  const int submissions = std::atoi(argv[1]);
  if (argc == 3) {
    Context context;
    run_with_pipeline(context, submissions);
    return end(argv[2]);
  }
  if (std::strcmp(argv[3], "daemon") == 0) {
    Context context;
    run_with_pipeline(context, submissions / 2);
    const OwnSockets sockets;
    run_with_pipeline(context, submissions - submissions / 2);
    return sockets.received_nothing() ? end(argv[2]) : 78;
  }
  if (!Context().has_extension(VK_EXT_SHADER_OBJECT_EXTENSION_NAME)) return 77;
  VkPhysicalDeviceShaderObjectFeaturesEXT feature = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_OBJECT_FEATURES_EXT, nullptr, VK_TRUE};
  Context context(
      {.device_extensions = {VK_EXT_SHADER_OBJECT_EXTENSION_NAME}, .device_next = &feature});
  run_with_shader_object(context, submissions);
  return end(argv[2]);
}
