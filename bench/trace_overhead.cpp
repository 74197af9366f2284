// The cost of counting ray-tracing shaders: device time of a trace with a pipeline that has the
// flag, while it is counted and while it is not, relative to the pipeline without the flag. All
// write the same image, otherwise no table is printed.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <stdexcept>

#include "field.rahit.h"
#include "field.rchit.h"
#include "field.rgen.h"
#include "field.rmiss.h"
#include "harness/program.h"
#include "harness/rounds.h"
#include "harness/table.h"
#include "support/instrumentation.h"
#include "support/ray_tracing.h"

namespace tally::bench {
namespace {

struct Options {
  int rounds = 9;
  uint32_t width = 1920, height = 1080;
};

constexpr uint32_t kSide = 16;  // of the field, in rectangles

// A chequered field with gaps; every second rectangle has an any-hit shader.
std::vector<test::Rectangle> make_field() {
  std::vector<test::Rectangle> field;
  for (uint32_t i = 0; i < kSide * kSide; ++i) {
    const uint32_t column = i % kSide, row = i / kSide;
    const auto x = static_cast<float>(column), y = static_cast<float>(row);
    const bool opaque = (column + row) % 2 == 0;
    field.push_back({x, y, x + 0.9f, y + 0.9f, 1 + static_cast<float>(i % 3), opaque});
  }
  return field;
}

test::BindingTable::Parts parts_of(std::span<const test::Rectangle> field) {
  test::BindingTable::Parts parts{0, {1}, {}, {}};
  for (const test::Rectangle& rectangle : field) parts.hit.push_back(rectangle.opaque ? 2 : 3);
  parts.hit.push_back(2);  // the box, which no ray meets
  return parts;
}

class Scene {
 public:
  explicit Scene(const Options& options)
      : options_(options), context_(rays_.options(layer())), timer_(context_) {
    const std::vector<test::Rectangle> field = make_field();
    constexpr VkAabbPositionsKHR kBox = {100, 100, 0, 101, 101, 1};
    scene_.emplace(context_, field, std::span(&kBox, 1));
    image_ = test::Buffer(context_, VkDeviceSize{options.width} * options.height * 16);
    set_.emplace(context_, *scene_, image_);
    layout_ = test::make_pipeline_layout(context_, {{set_->layout()}});
    for (const bool flagged : {false, true}) {
      pipelines_.push_back(test::make_ray_pipeline(
          context_, {.stages = {{VK_SHADER_STAGE_RAYGEN_BIT_KHR, field_rgen},
                                {VK_SHADER_STAGE_MISS_BIT_KHR, field_rmiss},
                                {VK_SHADER_STAGE_CLOSEST_HIT_BIT_KHR, field_rchit},
                                {VK_SHADER_STAGE_ANY_HIT_BIT_KHR, field_rahit}},
                     .groups = {{.general = 0},
                                {.general = 1},
                                {.closest_hit = 2},
                                {.closest_hit = 2, .any_hit = 3}},
                     .layout = layout_,
                     .instrumented = flagged}));
      tables_.emplace_back(context_, pipelines_.back(), 4, parts_of(field));
    }
    instrumentation_.emplace(context_);
  }

  const test::Context& context() const { return context_; }
  uint64_t pixels() const { return uint64_t{options_.width} * options_.height; }

  Sample measure(bool flagged, bool counted) {
    const VkCommandBuffer commands = context_.begin_commands();
    if (counted) instrumentation_->begin(commands);
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_RAY_TRACING_KHR, pipelines_[flagged]);
    set_->bind(commands, layout_);
    timer_.begin(commands);
    test::trace_rays(context_, commands, tables_[flagged], options_.width, options_.height);
    timer_.end(commands);
    if (counted) instrumentation_->end(commands);
    test::full_barrier(commands);
    test::check(vkEndCommandBuffer(commands));
    context_.submit_and_wait(commands);
    vkFreeCommandBuffers(context_.device(), context_.command_pool(), 1, &commands);
    return {timer_.nanoseconds()};
  }

  std::vector<uint32_t> image(bool flagged, bool counted) {
    image_.clear();
    measure(flagged, counted);
    return {image_.as<uint32_t>().begin(), image_.as<uint32_t>().end()};
  }

  // The counts of the only trace that was counted.
  uint64_t invocations() const {
    return test::Counts(*instrumentation_, VK_SHADER_STAGE_RAYGEN_BIT_KHR, field_rgen, 0)
        .invocations();
  }

 private:
  static test::ContextOptions layer() {
    return {.layers = {"VK_LAYER_TALLY_counters"},
            .device_extensions = {VK_ARM_SHADER_INSTRUMENTATION_EXTENSION_NAME}};
  }

  Options options_;
  VkPhysicalDeviceShaderInstrumentationFeaturesARM feature_ = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INSTRUMENTATION_FEATURES_ARM, nullptr, VK_TRUE};
  test::RayTracingDevice rays_{&feature_};
  test::Context context_;
  GpuTimer timer_;
  std::optional<test::RayScene> scene_;
  test::Buffer image_;
  std::optional<test::RaySet> set_;
  test::PipelineLayout layout_;
  std::vector<test::Pipeline> pipelines_;   // without and with the flag
  std::vector<test::BindingTable> tables_;  // the same
  std::optional<test::Instrumentation> instrumentation_;
};

void require_equal_images(Scene& scene) {
  const std::vector<uint32_t> plain = scene.image(false, false);
  if (scene.image(true, false) != plain || scene.image(true, true) != plain) {
    throw std::runtime_error("counting changes the image");
  }
  if (scene.invocations() != scene.pixels()) throw std::runtime_error("the counts are wrong");
}

void run(const Options& options) {
  Scene scene(options);
  print_device(Capabilities(scene.context().gpu()));
  require_equal_images(scene);
  const Candidate candidates[] = {
      {"without the flag", [&] { return scene.measure(false, false); }},
      {"with the flag, not counted", [&] { return scene.measure(true, false); }},
      {"with the flag, counted", [&] { return scene.measure(true, true); }}};
  Table table({"pipeline", "time", "ratio"});
  for (const Measured& measured : measure_in_turn(candidates, options.rounds)) {
    table.add(
        {measured.name, duration(measured.values[0].median), with_quartiles(measured.ratios[0])});
  }
  fmt::print("{}{} rounds\n\n", table.text(), options.rounds);
}

}  // namespace
}  // namespace tally::bench

int main(int argc, char** argv) try {
  tally::bench::Options options;
  CLI::App app("The cost of counting ray-tracing shaders");
  app.add_option("--rounds", options.rounds)->check(CLI::PositiveNumber);
  app.add_option("--width", options.width)->check(CLI::PositiveNumber);
  app.add_option("--height", options.height)->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  return tally::bench::run_program([&] { tally::bench::run(options); });
} catch (const std::exception& error) {
  return tally::bench::fail(error);
}
