// The processor cost of the counters layer: recording commands without it, with the layer loaded,
// with the feature enabled, and while measuring; also frames of many tiny draws. A measured draw is
// compared with the driver's own cost of pushing an address, a measured frame with shaders that
// count by hand.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>

#include "counted_draws.h"
#include "harness/program.h"
#include "harness/rounds.h"
#include "harness/table.h"
#include "support/instrumentation.h"
#include "tiny_draws.h"

namespace tally::bench {
namespace {

enum class Use { Bare, Pushed, Numbered, ByHand, ByInstance, Loaded, Enabled, Measured };

// The layer pushes the address of the record before a measured draw.
constexpr uint32_t kAddressBytes = 8;

const char* title_of(Use use) {
  switch (use) {
    case Use::Bare:
      return "bare";
    case Use::Pushed:
      return "bare, 8 bytes of push constants a draw";
    case Use::Numbered:
      return "bare, another first instance a draw";
    case Use::ByHand:
      return "bare, counted by hand";
    case Use::ByInstance:
      return "bare, counted by hand, another first instance a draw";
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

// A device on which tiny draws are recorded.
class Recorder {
 public:
  explicit Recorder(Use use)
      : context_(options_of(use)),
        pushes_(use == Use::Pushed),
        numbered_(use == Use::Numbered || use == Use::ByInstance),
        draws_(context_, pushes_ ? kAddressBytes : 0,
               use == Use::Measured ? &test::kInstrument : nullptr),
        timer_(context_) {
    if (use == Use::ByHand || use == Use::ByInstance) {
      by_hand_.emplace(context_, CountedDrawsInfo{.by_instance = use == Use::ByInstance});
    }
    if (use == Use::Measured) instrumentation_.emplace(context_);
    commands_ = context_.begin_commands(0);
    test::check(vkEndCommandBuffer(commands_));
  }

  // Nanoseconds per draw command, recorded by one thread.
  double record(uint32_t draws) {
    const VkCommandBufferBeginInfo begin{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    test::check(vkBeginCommandBuffer(commands_, &begin));
    timer_.begin(commands_);
    if (instrumentation_) {
      instrumentation_.emplace(context_);  // its memory is reused by the next frame
      instrumentation_->begin(commands_);
    }
    if (by_hand_) by_hand_->clear(commands_);
    draws_.begin(commands_);
    if (by_hand_) by_hand_->bind(commands_);
    const double time = time_of([&] {
      for (uint32_t i = 0; i < draws; ++i) {
        if (pushes_) push(i);
        TinyDraws::draw(commands_, i, 1, numbered_ ? i : 0);
      }
    });
    draws_.end(commands_);
    if (instrumentation_) instrumentation_->end(commands_);
    timer_.end(commands_);
    test::check(vkEndCommandBuffer(commands_));
    return time / draws;
  }

  // Nanoseconds per frame: recorded, submitted and completed; recording alone; the device alone.
  Sample frame(uint32_t draws) {
    const double recording = time_of([&] { record(draws); });
    const double rest = time_of([&] { context_.submit_and_wait(commands_); });
    if (by_hand_) by_hand_->require_counts();
    return {recording + rest, recording, timer_.nanoseconds()};
  }

 private:
  void push(uint64_t value) const {
    vkCmdPushConstants(commands_, draws_.layout(), VK_SHADER_STAGE_ALL, 0, kAddressBytes, &value);
  }

  test::Context context_;
  bool pushes_;
  bool numbered_;
  TinyDraws draws_;
  std::optional<CountedDraws> by_hand_;
  GpuTimer timer_;
  std::optional<test::Instrumentation> instrumentation_;
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
    candidates.push_back({title_of(use), [&recorder, draws] { return recorder.frame(draws); }});
  }
  Table table({fmt::format("a frame of {} tiny draws", draws), "time", "of bare", "recording",
               "of bare", "on the device", "of bare"});
  for (const Measured& row : measure_in_turn(candidates, rounds)) table.add(in_columns(row));
  fmt::print("{}\n", table.text());
}

}  // namespace
}  // namespace tally::bench

int main(int argc, char** argv) try {
  using namespace tally::bench;
  CLI::App app("The processor time that the counters layer takes");
  int rounds = 15;
  app.add_option("--rounds", rounds)->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  constexpr Use kIdle[] = {Use::Bare, Use::Loaded, Use::Enabled};
  constexpr Use kAll[] = {Use::Bare, Use::Pushed, Use::Loaded, Use::Enabled, Use::Measured};
  constexpr Use kFrames[] = {Use::Bare,       Use::Pushed, Use::Numbered, Use::ByHand,
                             Use::ByInstance, Use::Loaded, Use::Enabled,  Use::Measured};
  return run_program([&] {
    print_recording(100'000, rounds, kIdle);
    print_recording(TinyDraws::kMaxDraws, rounds, kAll);
    print_frames(TinyDraws::kMaxDraws, rounds, kFrames);
  });
} catch (const std::exception& error) {
  return tally::bench::fail(error);
}
