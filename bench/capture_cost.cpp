// The cost of a capture of many small draws: the time and the processor time of the whole run
// relative to a run without capture, the bytes per draw on disk, and the resources that `tally
// report` needs to read them. The lower bound is the same program with shaders that count each
// draw's fragments by hand.
//
//   capture_cost [--draws N] [--triangles N] [--frames N] [--rounds N]
//
// The captured program is this program itself. scripts/with-driver chooses the driver.
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "hand_counted_draws.h"
#include "harness/child.h"
#include "harness/program.h"
#include "harness/rounds.h"
#include "harness/table.h"
#include "support/context.h"
#include "tiny_draws.h"

namespace tally::bench {
namespace {

struct Options {
  uint32_t draws = 100'000;  // in all frames together
  uint32_t triangles = 1;    // of a draw
  uint32_t frames = 1;
  int rounds = 7;
  bool program = false;
  std::string counts;  // the program counts by hand and writes this file
};

// The program that is captured.
void draw(const Options& options) {
  test::Context context;
  const TinyDraws scene(context);
  const uint32_t positions = TinyDraws::kMaxDraws / options.triangles;
  const uint32_t of_frame = options.draws / options.frames;
  for (uint32_t frame = 0; frame < options.frames; ++frame) {
    context.run([&](VkCommandBuffer commands) {
      scene.begin(commands);
      for (uint32_t i = 0; i < of_frame; ++i) {
        TinyDraws::draw(commands, i % positions, options.triangles);
      }
      scene.end(commands);
    });
  }
}

// The same draws, counted by hand.
void draw_and_count(const Options& options) {
  test::Context context;
  const uint32_t positions = TinyDraws::kMaxDraws / options.triangles;
  const uint32_t of_frame = options.draws / options.frames;
  HandCountedDraws scene(context, of_frame);
  std::ofstream file(options.counts, std::ios::binary);
  for (uint32_t frame = 0; frame < options.frames; ++frame) {
    context.run([&](VkCommandBuffer commands) {
      scene.begin(commands);
      for (uint32_t i = 0; i < of_frame; ++i) {
        HandCountedDraws::draw(commands, i % positions, options.triangles, i);
      }
      scene.end(commands);
    });
    const std::span<const char> counts = scene.counts();
    file.write(counts.data(), static_cast<std::streamsize>(counts.size()));
  }
}

// Processor time of all children that have ended, and of theirs; in nanoseconds.
double processor_time() {
  rusage usage{};
  ::getrusage(RUSAGE_CHILDREN, &usage);
  const auto nanoseconds = [](const timeval& time) {
    return 1e9 * static_cast<double>(time.tv_sec) + 1e3 * static_cast<double>(time.tv_usec);
  };
  return nanoseconds(usage.ru_utime) + nanoseconds(usage.ru_stime);
}

Sample times_of(const std::vector<std::string>& command) {
  const double before = processor_time();
  const double time = time_of([&] { run_quietly(command); });
  return {time, processor_time() - before};
}

void measure(const Options& options) {
  std::string folder = std::filesystem::temp_directory_path() / "capture_cost.XXXXXX";
  if (!::mkdtemp(folder.data())) throw std::runtime_error("no temporary folder");
  const std::string file = folder + "/draws.tally";
  const std::vector<std::string> bare = {std::filesystem::read_symlink("/proc/self/exe"),
                                         "--program",
                                         "--draws",
                                         std::to_string(options.draws),
                                         "--triangles",
                                         std::to_string(options.triangles),
                                         "--frames",
                                         std::to_string(options.frames)};
  std::vector<std::string> captured = {TALLY_PROGRAM, "run", "--strict", "--force",
                                       "--output",    file,  "--"};
  captured.insert(captured.end(), bare.begin(), bare.end());
  std::vector<std::string> by_hand = bare;
  by_hand.insert(by_hand.end(), {"--counts", folder + "/counts"});
  const std::vector<Candidate> candidates = {{"bare", [&] { return times_of(bare); }},
                                             {"counted by hand", [&] { return times_of(by_hand); }},
                                             {"tally run", [&] { return times_of(captured); }}};
  Table runs({fmt::format("{} draws of {} triangle(s) in {} frame(s)", options.draws,
                          options.triangles, options.frames),
              "a run", "of bare", "processors", "of bare"});
  for (const Measured& row : measure_in_turn(candidates, options.rounds)) {
    runs.add({row.name, duration(row.values[0].median), with_quartiles(row.ratios[0]),
              duration(row.values[1].median), with_quartiles(row.ratios[1])});
  }
  fmt::print("{}\n", runs.text());
  fmt::print("bytes of a draw on disk: {:.1f}\n\n",
             static_cast<double>(std::filesystem::file_size(file)) / options.draws);
  Table reports({"report", "time", "memory"});
  for (const char* by : {"pass", "draw", "shader", "line"}) {
    uint64_t bytes = 0;
    const double time = time_of([&] {
      bytes = run_quietly({TALLY_PROGRAM, "report", "--by", by, "--top", "10", file});
    });
    reports.add({fmt::format("--by {}", by), duration(time),
                 fmt::format("{:.0f} MB", static_cast<double>(bytes) / 1e6)});
  }
  std::filesystem::remove_all(folder);
  fmt::print("{}\n", reports.text());
}

}  // namespace
}  // namespace tally::bench

int main(int argc, char** argv) try {
  CLI::App app("The cost of a capture of many small draws");
  tally::bench::Options options;
  app.add_option("--draws", options.draws)->check(CLI::PositiveNumber);
  app.add_option("--triangles", options.triangles, "Triangles of a draw")
      ->check(CLI::Range(1u, tally::bench::TinyDraws::kMaxDraws));
  app.add_option("--frames", options.frames)->check(CLI::PositiveNumber);
  app.add_option("--rounds", options.rounds)->check(CLI::PositiveNumber);
  app.add_flag("--program", options.program, "Be the program that is captured");
  app.add_option("--counts", options.counts, "Be that program, and write counts made by hand");
  CLI11_PARSE(app, argc, argv);
  return tally::bench::run_program([&] {
    if (!options.counts.empty()) {
      tally::bench::draw_and_count(options);
    } else if (options.program) {
      tally::bench::draw(options);
    } else {
      tally::bench::measure(options);
    }
  });
} catch (const std::exception& error) {
  return tally::bench::fail(error);
}
