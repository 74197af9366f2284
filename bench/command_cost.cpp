// What the counters layer costs the processor: commands recorded without it, with it loaded, with
// the feature enabled, and measured; and frames of many tiny draws. What a measured draw cannot
// cost less than is the driver's own push of an address before it.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>

#include "full_screen.vert.h"
#include "harness/rounds.h"
#include "harness/table.h"
#include "orange.frag.h"
#include "support/environment.h"
#include "support/instrumentation.h"
#include "support/pipeline.h"
#include "support/render_target.h"

namespace tally::bench {
namespace {

enum class Use { Bare, Pushed, Loaded, Enabled, Measured };

// What the layer pushes before a measured draw: the address of its record.
constexpr uint32_t kAddressBytes = 8;

const char* title_of(Use use) {
  switch (use) {
    case Use::Bare:
      return "bare";
    case Use::Pushed:
      return "bare, 8 bytes of push constants a draw";
    case Use::Loaded:
      return "layer loaded";
    case Use::Enabled:
      return "feature enabled";
    case Use::Measured:
      return "measured";
  }
  return "";
}

test::ContextOptions options_of(Use use) {
  test::ContextOptions options;
  if (use == Use::Loaded) options.layers = {"VK_LAYER_TALLY_counters"};
  return use == Use::Enabled || use == Use::Measured ? test::with_instrumentation(options)
                                                     : options;
}

// A device of its own, on which `draws` draws of a triangle over 4x4 pixels are recorded.
class Recorder {
 public:
  explicit Recorder(Use use) : context_(options_of(use)), target_(context_, {.extent = {4, 4}}) {
    pushes_ = use == Use::Pushed;
    layout_ = test::make_pipeline_layout(context_, {}, pushes_ ? kAddressBytes : 0);
    test::GraphicsPipelineInfo info;
    info.stages = {{VK_SHADER_STAGE_VERTEX_BIT, full_screen_vert},
                   {VK_SHADER_STAGE_FRAGMENT_BIT, orange_frag}};
    info.layout = layout_;
    if (use == Use::Measured) {
      info.next = &test::kInstrument;
      instrumentation_.emplace(context_);
    }
    pipeline_ = test::make_graphics_pipeline(context_, info);
    commands_ = context_.begin_commands(0);
    test::check(vkEndCommandBuffer(commands_));
  }

  // Nanoseconds of one draw command, recorded by one thread.
  double record(uint32_t draws) {
    const VkCommandBufferBeginInfo begin{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    test::check(vkBeginCommandBuffer(commands_, &begin));
    if (instrumentation_) {
      instrumentation_.emplace(context_);  // what it holds comes back for the next frame
      instrumentation_->begin(commands_);
    }
    target_.begin(commands_);
    vkCmdBindPipeline(commands_, VK_PIPELINE_BIND_POINT_GRAPHICS, pipeline_);
    const double time = time_of([&] {
      for (uint64_t i = 0; i < draws; ++i) {
        if (pushes_) {
          vkCmdPushConstants(commands_, layout_, VK_SHADER_STAGE_ALL, 0, kAddressBytes, &i);
        }
        vkCmdDraw(commands_, 3, 1, 0, 0);
      }
    });
    target_.end(commands_);
    if (instrumentation_) instrumentation_->end(commands_);
    test::check(vkEndCommandBuffer(commands_));
    return time / draws;
  }

  // Nanoseconds of a whole frame: recorded, submitted and waited for.
  double frame(uint32_t draws) {
    return time_of([&] {
      record(draws);
      context_.submit_and_wait(commands_);
    });
  }

 private:
  test::Context context_;
  test::RenderTarget target_;
  bool pushes_ = false;
  std::optional<test::Instrumentation> instrumentation_;
  test::PipelineLayout layout_;
  test::Pipeline pipeline_;
  VkCommandBuffer commands_ = VK_NULL_HANDLE;
};

void print_recording(uint32_t draws, int rounds, std::span<const Use> uses) {
  std::vector<std::unique_ptr<Recorder>> recorders;
  std::vector<Candidate> candidates;
  for (const Use use : uses) {
    Recorder& recorder = *recorders.emplace_back(std::make_unique<Recorder>(use));
    candidates.push_back(
        {title_of(use), [&recorder, draws] { return Sample{recorder.record(draws)}; }});
  }
  Table table({fmt::format("recording {} draws", draws), "a draw", "of bare", "more than bare"});
  for (const Measured& row : measure_in_turn(candidates, rounds)) {
    table.add({row.name, duration(row.values[0].median), with_quartiles(row.ratios[0]),
               fmt::format("{} ns", with_quartiles(row.differences[0], 1))});
  }
  fmt::print("{}\n", table.text());
}

void print_frames(uint32_t draws, int rounds, std::span<const Use> uses) {
  std::vector<std::unique_ptr<Recorder>> recorders;
  std::vector<Candidate> candidates;
  for (const Use use : uses) {
    Recorder& recorder = *recorders.emplace_back(std::make_unique<Recorder>(use));
    candidates.push_back(
        {title_of(use), [&recorder, draws] { return Sample{recorder.frame(draws)}; }});
  }
  Table table({fmt::format("a frame of {} tiny draws", draws), "time", "of bare"});
  for (const Measured& row : measure_in_turn(candidates, rounds)) {
    table.add({row.name, duration(row.values[0].median), with_quartiles(row.ratios[0])});
  }
  fmt::print("{}\n", table.text());
}

}  // namespace
}  // namespace tally::bench

int main(int argc, char** argv) {
  using tally::bench::Use;
  CLI::App app("What the counters layer costs the processor");
  int rounds = 15;
  app.add_option("--rounds", rounds)->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  tally::test::set_default_environment();
  constexpr Use kIdle[] = {Use::Bare, Use::Loaded, Use::Enabled};
  constexpr Use kAll[] = {Use::Bare, Use::Pushed, Use::Loaded, Use::Enabled, Use::Measured};
  tally::bench::print_recording(100000, rounds, kIdle);
  tally::bench::print_recording(10000, rounds, kAll);
  tally::bench::print_frames(10000, rounds, kAll);
  return 0;
}
