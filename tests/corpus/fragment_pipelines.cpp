// fragment_pipelines [--draw] < NAMES
//
// Reads names of SPIR-V files from standard input, one a line, each with a fragment shader `main`.
// Creates a graphics pipeline with each, and with --draw also draws a triangle that covers 13x11
// pixels. Says before and after each step what it does: so one sees in which of them a driver
// hangs. The first 8 bytes of push constants are the address of zeroed memory.
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "full_screen.vert.h"
#include "support/environment.h"
#include "support/pipeline.h"
#include "support/render_target.h"

namespace tally::test {
namespace {

constexpr uint32_t kPushBytes = 128;
constexpr VkDeviceSize kMemoryBytes = 1 << 20;

std::vector<uint32_t> words_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  if (bytes.empty()) throw std::runtime_error("cannot read " + path);
  std::vector<uint32_t> words(bytes.size() / sizeof(uint32_t));
  std::memcpy(words.data(), bytes.data(), words.size() * sizeof(uint32_t));
  return words;
}

// Says that a step begins, does it, and says that it ended and how long it took.
template <typename Step>
void say(const std::string& begin, const std::string& end, Step&& step) {
  fmt::print("{}\n", begin);
  std::fflush(stdout);
  const auto started = std::chrono::steady_clock::now();
  step();
  const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - started;
  fmt::print("{} in {:.1f} ms\n", end, time.count());
  std::fflush(stdout);
}

class Device {
 public:
  Device()
      : memory_(context_, kMemoryBytes,
                VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT),
        target_(context_, {.extent = {13, 11}}),
        layout_(make_pipeline_layout(context_, {}, kPushBytes)) {
    memory_.clear();
  }

  void run(const std::string& path, bool draws) {
    const std::vector<uint32_t> words = words_of(path);
    const GraphicsPipelineInfo info = {.stages = {{VK_SHADER_STAGE_VERTEX_BIT, full_screen_vert},
                                                  {VK_SHADER_STAGE_FRAGMENT_BIT, words}},
                                       .layout = layout_};
    Pipeline pipeline;
    say("compiling " + path, "compiled",
        [&] { pipeline = make_graphics_pipeline(context_, info); });
    if (draws) say("drawing", "drawn", [&] { draw(pipeline); });
  }

 private:
  void draw(VkPipeline pipeline) {
    const VkDeviceAddress address = memory_.address();
    context_.run([&](VkCommandBuffer commands) {
      target_.begin(commands);
      vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, pipeline);
      vkCmdPushConstants(commands, layout_, VK_SHADER_STAGE_ALL, 0, sizeof address, &address);
      vkCmdDraw(commands, 3, 1, 0, 0);
      target_.end(commands);
    });
  }

  Context context_;
  Buffer memory_;
  RenderTarget target_;
  PipelineLayout layout_;
};

int run(bool draws) {
  Device device;
  for (std::string path; std::getline(std::cin, path);) device.run(path, draws);
  return 0;
}

}  // namespace
}  // namespace tally::test

int main(int argc, char** argv) {
  const bool draws = argc == 2 && std::string_view(argv[1]) == "--draw";
  if (argc > 1 && !draws) {
    fmt::print(stderr, "fragment_pipelines [--draw] < NAMES\n");
    return 2;
  }
  tally::test::set_default_environment();
  try {
    return tally::test::run(draws);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
