// An application for the tests of `tally run`: one compute dispatch of 4 x 64 invocations in each
// submission, without a window. Usage: launched_app SUBMISSIONS ENDING, where ENDING is the exit
// status, "abort", or "wait" (for a signal).
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "launched_app.comp.h"
#include "support/context.h"
#include "support/pipeline.h"

int main(int argc, char** argv) {
  using namespace tally::test;
  if (argc != 3) return 99;
  Context context;
  const PipelineLayout layout = make_pipeline_layout(context);
  const Pipeline pipeline =
      make_compute_pipeline(context, {.shader = {.code = launched_app_comp}, .layout = layout});
  for (int i = 0; i < std::atoi(argv[1]); ++i) {
    context.run([&](VkCommandBuffer commands) {
      vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
      vkCmdDispatch(commands, 4, 1, 1);
    });
  }
  std::puts("done");
  std::fflush(stdout);
  if (std::strcmp(argv[2], "abort") == 0) std::abort();
  if (std::strcmp(argv[2], "wait") == 0) pause();
  return std::atoi(argv[2]);
}
