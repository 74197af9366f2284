// Tests of packed draw indices: scenes whose draws are distinguished by their instance index, by
// one address per draw, or not at all (without the layer).
#pragma once

#include <unistd.h>

#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

#include "api/kit.h"
#include "rows.frag.h"
#include "rows.vert.h"

namespace tally::test {

inline constexpr uint32_t kQuad = 6;         // vertices
inline constexpr uint64_t kRowTexels = 256;  // per instance in the image
inline constexpr const char* kNumbers = "the draws of a pipeline have packed indices";
inline constexpr const char* kAddresses = "the draws of a pipeline have a record pointer each";

// Vertices and fragments of a draw of `count` instances of rows.vert.
inline std::vector<uint64_t> rows(uint32_t first, uint32_t count) {
  uint64_t shown = 0;
  for (uint32_t i = 0; i < count; ++i) shown += ((first + i) & 1023) < 16;
  return {uint64_t{count} * kQuad, shown * kRowTexels};
}

class PackedDrawIndices : public CountersTest {
 protected:
  void TearDown() override {
    CountersTest::TearDown();
    std::filesystem::remove(log_file_);
  }

  enum class Way { Plain, Numbers, Addresses };

  // The inputs of a scene, on a device that uses one of the methods.
  struct Stage {
    Context& context;
    RenderTarget target;
    PipelineLayout layout;
    const void* next;  // for pipelines
    std::deque<Pipeline> pipelines = {};

    VkPipeline make(GraphicsPipelineInfo info) {
      if (info.layout == VK_NULL_HANDLE) info.layout = layout;
      info.next = next;
      return pipelines.emplace_back(make_graphics_pipeline(context, info));
    }
    VkPipeline make_rows(VkPipelineLayout with = VK_NULL_HANDLE) {
      return make({.stages = stages_of(rows_vert, rows_frag), .layout = with});
    }
    void push(VkCommandBuffer commands, uint32_t add, VkPipelineLayout with = VK_NULL_HANDLE) {
      vkCmdPushConstants(commands, with ? with : layout.get(), VK_SHADER_STAGE_ALL, 0, sizeof add,
                         &add);
    }
  };
  static std::vector<test::Stage> stages_of(std::span<const uint32_t> vertex,
                                            std::span<const uint32_t> fragment) {
    return {{VK_SHADER_STAGE_VERTEX_BIT, vertex}, {VK_SHADER_STAGE_FRAGMENT_BIT, fragment}};
  }
  static void bind(VkCommandBuffer commands, VkPipeline pipeline) {
    vkCmdBindPipeline(commands, kGraphics, pipeline);
  }
  static void draw_rows(VkCommandBuffer commands, uint32_t count, uint32_t first = 0) {
    vkCmdDraw(commands, kQuad, count, 0, first);
  }

  Stage make_stage(Way way, const RenderTargetInfo& target) {
    log_.clear();
    const std::filesystem::path file = std::filesystem::path(testing::TempDir()) /
                                       ("packed_draw_indices." + std::to_string(getpid()) + ".log");
    log_begin_ = std::filesystem::exists(file) ? std::filesystem::file_size(file) : 0;
    const std::string path = file.string();
    Context& device = start({{"packed_draw_indices", way == Way::Addresses ? "never" : "auto"},
                             {"log_level", "debug"},
                             {"log_file", path.c_str()}});
    log_file_ = file;
    return {device, RenderTarget(device, target), make_pipeline_layout(device, {}, 4),
            way == Way::Plain ? nullptr : &kInstrument};
  }

  // The range encloses the scene, which encloses its passes.
  struct Outcome {
    Results results;
    std::vector<uint32_t> picture;
    std::string log;
  };
  using Scene = std::function<void(Stage&, const Instrumentation&)>;
  Outcome draw(Way way, const RenderTargetInfo& target, const Scene& scene) {
    Stage stage = make_stage(way, target);
    const Instrumentation instrumentation(context());
    scene(stage, instrumentation);
    return {entered(instrumentation), stage.target.read(), read_log()};
  }
  // Expects the same results with all methods. Returns the invocations of each stage of each draw.
  Results compare(const Scene& scene, const RenderTargetInfo& target = {}) {
    const Outcome plain = draw(Way::Plain, target, scene);
    const Outcome numbers = draw(Way::Numbers, target, scene);
    const Outcome addresses = draw(Way::Addresses, target, scene);
    EXPECT_EQ(numbers.picture, plain.picture);
    EXPECT_EQ(addresses.picture, plain.picture);
    EXPECT_EQ(numbers.results, addresses.results);
    EXPECT_THAT(plain.results, testing::IsEmpty());
    EXPECT_THAT(addresses.log, testing::Not(testing::HasSubstr(kNumbers)));
    log_ = numbers.log;
    return numbers.results;
  }
  // The layer's log while it used packed draw indices.
  const std::string& log() const { return log_; }

  // One pass in a range.
  template <typename Record>
  static void scene(Stage& stage, const Instrumentation& instrumentation, const Record& record) {
    instrumentation.run([&](VkCommandBuffer commands) {
      stage.target.begin(commands);
      record(commands);
      stage.target.end(commands);
    });
  }
  template <typename Record>
  static Scene in_one_pass(Record record) {
    return [record](Stage& stage, const Instrumentation& instrumentation) {
      scene(stage, instrumentation, [&](VkCommandBuffer commands) { record(stage, commands); });
    };
  }

 private:
  // Invocations of each stage of each draw.
  Results entered(const Instrumentation& instrumentation) {
    Results result;
    const size_t executions = instrumentation.metric("executions");
    for (const BlockValues& block : instrumentation.read()) {
      if (result.empty() || result.back().first != block.header.resultIndex) {
        result.push_back({block.header.resultIndex, {}});
      }
      if (block.header.basicBlockIndex != 0) continue;
      result.back().second.push_back(block.metrics[executions]);
    }
    return result;
  }
  std::string read_log() const {
    std::ifstream file(log_file_, std::ios::binary);
    file.seekg(static_cast<std::streamoff>(log_begin_));
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }

  std::string log_;
  std::filesystem::path log_file_;
  uint64_t log_begin_ = 0;  // the layer appends to the file, which an older device may have open
};

using Drawn = std::pair<uint32_t, std::vector<uint64_t>>;

}  // namespace tally::test
