// The cost of `tally run` per frame of a real program, compared with the cost of the Khronos
// validation layer, alone and with GPU-assisted validation. The frame time is computed from the
// difference between a long and a short run, so the program's start-up is excluded. Also compares
// the processor time of all processes, which other load on the machine disturbs less, and prints
// their voluntary context switches and page faults.
//
//   frame_cost [--frames N] [--rounds N] [--some-frames | --all-frames | --start] [--egl-off]
//              [--by-hand "VARIABLE=VALUE ..."]... [PROGRAM ARGUMENT...]
//
// "{}" in an argument stands for the number of frames. The row "outside captured frames" is a
// capture on request, and nothing is requested. With --some-frames only the captures of some frames
// are measured; with --all-frames only a capture of all frames. With --start the whole run of a
// program that draws one frame is measured, bare and with a capture of it. --egl-off adds a capture
// of all frames without the profile of EGL. Each --by-hand adds a bare run with environment
// variables that make the program count by hand; it has to write a line "by hand: ..." with counts
// to stderr.
//
// The default program is vkcube, under Xvfb if there is no display. scripts/with-driver chooses the
// driver.
#include <fmt/format.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <stdexcept>

#include "harness/child.h"
#include "harness/rounds.h"
#include "harness/table.h"

namespace tally::bench {
namespace {

constexpr uint32_t kShortRun = 20;  // frames

struct Options {
  uint32_t frames = 500;
  int rounds = 7;
  bool some_frames = false, all_frames = false, start = false, egl_off = false;
  std::vector<std::string> by_hand;
  std::vector<std::string> program = {"vkcube", "--c",      "{}", "--present_mode", "0", "--width",
                                      "300",    "--height", "300"};
};

// Prepended to the program's command line.
struct Use {
  std::string name;
  std::vector<std::string> prefix;
  bool by_hand = false;
};

std::vector<std::string> captured_to(const std::string& file, std::vector<std::string> options) {
  std::vector<std::string> words = {TALLY_PROGRAM, "run", "--quiet", "--force", "--output", file};
  words.insert(words.end(), options.begin(), options.end());
  words.emplace_back("--");
  return words;
}

std::vector<Use> chosen_uses(const std::string& folder, const Options& options) {
  const std::string validation = "VK_INSTANCE_LAYERS=VK_LAYER_KHRONOS_validation";
  const Use every_frame = {"tally run", captured_to(folder + "/frames.tally", {})};
  if (options.all_frames || options.start) return {{"bare", {}}, every_frame};
  std::vector<Use> all = {
      {"bare", {}},
      {"outside captured frames", captured_to(folder + "/none.tally", {"--trigger"})},
      {"tally run --every 100", captured_to(folder + "/every.tally", {"--every", "100"})}};
  if (options.some_frames) return all;
  all.push_back(every_frame);
  all.push_back({"validation layer", {"env", validation, "VK_LAYER_ENABLES="}});
  all.push_back(
      {"... with GPU assistance",
       {"env", validation, "VK_LAYER_ENABLES=VK_VALIDATION_FEATURE_ENABLE_GPU_ASSISTED_EXT"}});
  return all;
}

std::vector<Use> uses(const std::string& folder, const Options& options) {
  std::vector<Use> all = chosen_uses(folder, options);
  if (options.egl_off) {
    all.push_back({"tally run --egl off", captured_to(folder + "/no_egl.tally", {"--egl", "off"})});
  }
  for (const std::string& variables : options.by_hand) {
    std::istringstream words(variables);
    std::vector<std::string> prefix = {"env"};
    for (std::string word; words >> word;) prefix.push_back(word);
    all.push_back({"by hand, " + variables, prefix, true});
  }
  return all;
}

std::string with_number(std::string word, uint32_t frames) {
  const size_t place = word.find("{}");
  if (place != std::string::npos) word.replace(place, 2, std::to_string(frames));
  return word;
}

std::vector<std::string> command_line(const Use& use, const Options& options, uint32_t frames) {
  std::vector<std::string> words = use.prefix;
  for (const std::string& word : options.program) words.push_back(with_number(word, frames));
  return words;
}

// A program that does not find what counts by hand would pass for one that counts at no cost.
void require_counts(const Use& use, const Options& options) {
  const std::string errors = errors_of(command_line(use, options, kShortRun));
  const size_t line = errors.find("by hand:");
  const bool counts = line != std::string::npos &&
                      errors.find_first_of("123456789", line) < errors.find('\n', line);
  if (!counts) throw std::runtime_error(use.name + ": nothing is counted by hand");
}

// In nanoseconds: wall clock, and processor time. Then context switches and page faults.
Sample run_costs(const Use& use, const Options& options, uint32_t frames) {
  const std::vector<std::string> words = command_line(use, options, frames);
  const Usage before = usage_of_children();
  const double wall = time_of([&] { run_quietly(words); });
  const Usage after = usage_of_children();
  return {wall, (after.processor - before.processor) * 1e9,
          after.context_switches - before.context_switches, after.page_faults - before.page_faults};
}

Sample frame_costs(const Use& use, const Options& options) {
  const Sample once = run_costs(use, options, kShortRun);
  Sample more = run_costs(use, options, kShortRun + options.frames);
  for (size_t i = 0; i < more.size(); ++i) more[i] = (more[i] - once[i]) / options.frames;
  return more;
}

void run(const Options& options) {
  std::string folder = std::filesystem::temp_directory_path() / "frame_cost.XXXXXX";
  if (!::mkdtemp(folder.data())) throw std::runtime_error("no temporary folder");
  const std::vector<Use> all = uses(folder, options);
  std::vector<Candidate> candidates;
  for (const Use& use : all) {
    if (use.by_hand) require_counts(use, options);
    candidates.push_back({use.name, [&] {
                            return options.start ? run_costs(use, options, 1)
                                                 : frame_costs(use, options);
                          }});
  }
  Table table({options.program.front(), options.start ? "a run of one frame" : "a frame", "of bare",
               "processor time", "of bare", "context switches", "page faults"});
  for (const Measured& row : measure_in_turn(candidates, options.rounds)) {
    table.add({row.name, duration(row.values[0].median), with_quartiles(row.ratios[0]),
               duration(row.values[1].median), with_quartiles(row.ratios[1]),
               number(row.values[2].median, 1), number(row.values[3].median, 1)});
  }
  std::filesystem::remove_all(folder);
  fmt::print("{}\n", table.text());
}

}  // namespace
}  // namespace tally::bench

int main(int argc, char** argv) try {
  if (std::getenv("DISPLAY") == nullptr && std::system("command -v xvfb-run >/dev/null") == 0) {
    std::vector<const char*> words = {"xvfb-run", "-a", "-s", "-screen 0 640x480x24 -noreset"};
    words.insert(words.end(), argv, argv + argc);
    words.push_back(nullptr);
    ::execvp(words[0], const_cast<char**>(words.data()));
  }
  CLI::App app("The cost of a program's frame under Tally and under validation");
  tally::bench::Options options;
  app.add_option("--frames", options.frames)->check(CLI::PositiveNumber);
  app.add_option("--rounds", options.rounds)->check(CLI::PositiveNumber);
  CLI::Option* some = app.add_flag("--some-frames", options.some_frames);
  CLI::Option* every = app.add_flag("--all-frames", options.all_frames)->excludes(some);
  app.add_flag("--start", options.start)->excludes(some)->excludes(every);
  app.add_flag("--egl-off", options.egl_off);
  app.add_option("--by-hand", options.by_hand)->allow_extra_args(false);
  app.add_option("program", options.program);
  CLI11_PARSE(app, argc, argv);
  tally::bench::run(options);
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "frame_cost: %s\n", error.what());
  return 1;
}
