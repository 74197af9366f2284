// The cost of VK_ARM_performance_counters_by_region through the layer: a fragment-heavy pass at
// 1080p with overdraw 4, without counters, with increasing numbers of counters, with one atomic per
// lane and counter, and with a shader that counts one counter by hand. All methods must produce the
// same values, otherwise no table is printed.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string_view>

#include "catalogue/catalogue.h"
#include "fragment_heavy.frag.h"
#include "fragment_heavy_by_hand.frag.h"
#include "full_screen.vert.h"
#include "harness/program.h"
#include "harness/rounds.h"
#include "harness/table.h"
#include "support/pipeline.h"
#include "support/render_target.h"
#include "tally/vulkan_arm.h"

namespace tally::bench {
namespace {

struct Options {
  int rounds = 9;
  uint32_t width = 1920, height = 1080;
  uint32_t overdraw = 4;
  bool each = false;
};

constexpr uint32_t kRegionBytes = 128;  // of the values, with any number of counters

// Selects `count` counters; those that need the most variables come last.
std::vector<uint32_t> first_counters(size_t count) {
  std::vector<uint32_t> ids;
  for (const catalogue::Counter* one : catalogue::counters_of(catalogue::Scope::Region)) {
    if (ids.size() < count) ids.push_back(static_cast<uint32_t>(one->number));
  }
  return ids;
}

test::ContextOptions context_options() {
  // Never written, although pNext is not declared const.
  static VkPhysicalDevicePerformanceCountersByRegionFeaturesARM feature = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PERFORMANCE_COUNTERS_BY_REGION_FEATURES_ARM, nullptr,
      VK_TRUE};
  test::ContextOptions options;
  options.layers = {"VK_LAYER_TALLY_counters"};
  options.device_extensions = {VK_ARM_PERFORMANCE_COUNTERS_BY_REGION_EXTENSION_NAME};
  options.device_next = &feature;
  return options;
}

std::string_view id_of(uint32_t number) {
  for (const catalogue::Counter* one : catalogue::counters_of(catalogue::Scope::Region)) {
    if (static_cast<uint32_t>(one->number) == number) return one->id;
  }
  return "";
}

struct Push {
  float time;
  uint32_t octaves, lights;
  // Only for shaders that count by hand.
  uint32_t columns;
  VkDeviceAddress counts;
  uint32_t width_log2, height_log2;
};

// A device whose fragment shaders count with one method.
class Scene {
 public:
  // `by_hand`: the size of the regions that the shader counts without the layer; or null.
  Scene(const char* counting, const Options& options, const VkExtent2D* by_hand = nullptr)
      : options_(options),
        by_hand_(by_hand != nullptr),
        context_(with_counting(counting, by_hand_)),
        timer_(*context_) {
    target_ = std::make_unique<test::RenderTarget>(
        *context_, test::RenderTargetInfo{.extent = {options.width, options.height}});
    layout_ = test::make_pipeline_layout(*context_, {}, push_bytes());
    const std::span<const uint32_t> fragment =
        by_hand ? std::span<const uint32_t>(fragment_heavy_by_hand_frag) : fragment_heavy_frag;
    pipeline_ = test::make_graphics_pipeline(
        *context_, {.stages = {{VK_SHADER_STAGE_VERTEX_BIT, full_screen_vert},
                               {VK_SHADER_STAGE_FRAGMENT_BIT, fragment}},
                    .layout = layout_,
                    .additive_blend = true});
    if (by_hand) {
      properties_.performanceCounterRegionSize = *by_hand;
    } else {
      VkPhysicalDeviceProperties2 head = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                          &properties_};
      vkGetPhysicalDeviceProperties2(context_->gpu(), &head);
    }
    values_ = DeviceBuffer(*context_, VkDeviceSize{columns()} * rows() * kRegionBytes,
                           Residence::Visible);
  }

  test::Context& context() { return *context_; }
  const VkExtent2D& region() const { return properties_.performanceCounterRegionSize; }
  // Each layer of overdraw is one triangle that covers the whole target.
  uint64_t invocations() const {
    return uint64_t{options_.width} * options_.height * options_.overdraw;
  }
  // Counters that a device may lack come last.
  size_t all_counters() const { return properties_.maxPerRegionPerformanceCounters; }

  VkCommandBuffer record(std::vector<uint32_t> counters) {
    const VkDeviceAddress address = values_.address();
    VkRenderPassPerformanceCountersByRegionBeginInfoARM info = {
        VK_STRUCTURE_TYPE_RENDER_PASS_PERFORMANCE_COUNTERS_BY_REGION_BEGIN_INFO_ARM};
    info.counterAddressCount = 1;
    info.pCounterAddresses = &address;
    info.counterIndexCount = static_cast<uint32_t>(counters.size());
    info.pCounterIndices = counters.data();
    const VkCommandBuffer commands = context_->begin_commands(0);
    timer_.begin(commands);
    if (by_hand_) {
      vkCmdFillBuffer(commands, values_, 0, VK_WHOLE_SIZE, 0);
      test::full_barrier(commands);
    }
    target_->begin(commands, {0, 0, 0, 0}, 0, counters.empty() ? nullptr : &info);
    const Push push = {.time = 0.5f,
                       .octaves = 4,
                       .lights = 24,
                       .columns = columns(),
                       .counts = address,
                       .width_log2 = log2_of(region().width),
                       .height_log2 = log2_of(region().height)};
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, pipeline_);
    vkCmdPushConstants(commands, layout_, VK_SHADER_STAGE_ALL, 0, push_bytes(), &push);
    for (uint32_t i = 0; i < options_.overdraw; ++i) vkCmdDraw(commands, 3, 1, 0, 0);
    target_->end(commands);
    timer_.end(commands);
    test::full_barrier(commands);
    test::check(vkEndCommandBuffer(commands));
    return commands;
  }

  Sample measure(VkCommandBuffer commands) {
    const double wall = time_of([&] { context_->submit_and_wait(commands); });
    return {timer_.nanoseconds(), wall};
  }

  // The values of all counters, region by region.
  std::vector<uint64_t> read() {
    std::ranges::fill(values_.words(), 0);
    context_->submit_and_wait(record(first_counters(by_hand_ ? 0 : all_counters())));
    return {values_.words().begin(), values_.words().end()};
  }

 private:
  // The environment takes precedence over all other settings.
  static std::unique_ptr<test::Context> with_counting(const char* counting, bool by_hand) {
    setenv("TALLY_COUNTING", counting, 1);
    return std::make_unique<test::Context>(by_hand ? test::ContextOptions{} : context_options());
  }
  static uint32_t log2_of(uint32_t side) { return static_cast<uint32_t>(std::bit_width(side)) - 1; }
  uint32_t push_bytes() const { return by_hand_ ? sizeof(Push) : offsetof(Push, columns); }
  uint32_t columns() const { return (options_.width + region().width - 1) / region().width; }
  uint32_t rows() const { return (options_.height + region().height - 1) / region().height; }

  Options options_;
  bool by_hand_;
  std::unique_ptr<test::Context> context_;
  GpuTimer timer_;
  std::unique_ptr<test::RenderTarget> target_;
  test::PipelineLayout layout_;
  test::Pipeline pipeline_;
  VkPhysicalDevicePerformanceCountersByRegionPropertiesARM properties_ = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PERFORMANCE_COUNTERS_BY_REGION_PROPERTIES_ARM};
  DeviceBuffer values_;
};

// Subgroup counters exist only if lanes are added up together; clock values always differ.
void require_equal_values(Scene& a, Scene& b) {
  const auto all = catalogue::counters_of(catalogue::Scope::Region);
  const std::vector<uint64_t> first = a.read();
  const std::vector<uint64_t> second = b.read();
  const auto* x = reinterpret_cast<const uint32_t*>(first.data());
  const auto* y = reinterpret_cast<const uint32_t*>(second.data());
  uint64_t invocations = 0;
  for (size_t i = 0; i < first.size() * 2; ++i) {
    const size_t counter = i % 32;
    if (counter < all.size() && all[counter]->id == "fragment_invocations") invocations += x[i];
    if (counter >= all.size() || all[counter]->id == "fragment_subgroups" ||
        all[counter]->id == "helper_invocations" || all[counter]->id == "shader_clock") {
      continue;
    }
    if (x[i] != y[i]) {
      throw std::runtime_error(fmt::format("{} of region {}: {} together, {} by lane",
                                           all[counter]->id, i / 32, x[i], y[i]));
    }
  }
  if (invocations != a.invocations()) {
    throw std::runtime_error(fmt::format("{} invocations, not {}", invocations, a.invocations()));
  }
}

// The shader writes its one counter to the first word of a region.
void require_equal_invocations(Scene& together, Scene& by_hand) {
  const std::vector<uint64_t> values = together.read();
  const std::vector<uint64_t> counts = by_hand.read();
  const auto* all = reinterpret_cast<const uint32_t*>(values.data());
  const auto* own = reinterpret_cast<const uint32_t*>(counts.data());
  for (size_t i = 0; i < counts.size() * 2; i += kRegionBytes / 4) {
    if (own[i] == all[i + 1]) continue;
    throw std::runtime_error(
        fmt::format("region {}: {} invocations, {} by hand", i / 32, all[i + 1], own[i]));
  }
}

void run(const Options& options) {
  Scene together("private", options);
  Scene by_lane("lane", options);
  const VkExtent2D region = together.region();
  Scene by_hand("private", options, &region);
  print_device(Capabilities(together.context().gpu()));
  require_equal_values(together, by_lane);
  require_equal_invocations(together, by_hand);

  struct Row {
    std::string name;
    Scene* scene;
    std::vector<uint32_t> counters;
  };
  const size_t all = together.all_counters();
  std::vector<Row> rows = {{"plain", &together, {}}};
  for (const size_t count : {size_t{1}, size_t{2}, size_t{4}, size_t{8}, size_t{12}, all}) {
    rows.push_back({fmt::format("{} counters", count), &together, first_counters(count)});
  }
  rows.push_back({"1 counter, an atomic a lane", &by_lane, first_counters(1)});
  rows.push_back(
      {fmt::format("{} counters, an atomic a lane", all), &by_lane, first_counters(all)});
  rows.push_back({"1 counter, by hand", &by_hand, {}});
  for (const uint32_t counter : options.each ? first_counters(all) : std::vector<uint32_t>{}) {
    std::vector<uint32_t> others = first_counters(all);
    std::erase(others, counter);
    rows.push_back({fmt::format("{} alone", id_of(counter)), &together, {counter}});
    rows.push_back({fmt::format("all but {}", id_of(counter)), &together, others});
  }
  std::vector<Candidate> candidates;
  for (const Row& row : rows) {
    const VkCommandBuffer commands = row.scene->record(row.counters);
    candidates.push_back(
        {row.name, [scene = row.scene, commands] { return scene->measure(commands); }});
  }
  const std::vector<Measured> measured = measure_in_turn(candidates, options.rounds);
  Table table({fmt::format("{}x{}, overdraw {}", options.width, options.height, options.overdraw),
               "device time", "of plain", "wall clock"});
  for (const Measured& row : measured) {
    table.add({row.name, duration(row.values[0].median), with_quartiles(row.ratios[0]),
               number(row.ratios[1].median)});
  }
  fmt::print("{}{} rounds\n\n", table.text(), options.rounds);
}

}  // namespace
}  // namespace tally::bench

int main(int argc, char** argv) try {
  tally::bench::Options options;
  CLI::App app("The cost of counters by region through the layer");
  app.add_option("--rounds", options.rounds)->check(CLI::PositiveNumber);
  app.add_option("--width", options.width)->check(CLI::PositiveNumber);
  app.add_option("--height", options.height)->check(CLI::PositiveNumber);
  app.add_option("--overdraw", options.overdraw)->check(CLI::PositiveNumber);
  app.add_flag("--each", options.each, "also each counter by itself, and all the others");
  CLI11_PARSE(app, argc, argv);
  return tally::bench::run_program([&] { tally::bench::run(options); });
} catch (const std::exception& error) {
  return tally::bench::fail(error);
}
