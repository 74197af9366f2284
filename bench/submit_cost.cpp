// The cost of a submission: a program that records one small dispatch, submits it and waits for its
// fence, 10,000 times, and prints the time of one. Bare, with the counters layer loaded, and under
// `tally run` when nothing is captured, without counts and times, without times, and with all.
// scripts/with-driver chooses the driver.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cstdio>
#include <filesystem>
#include <stdexcept>

#include "fill.comp.h"
#include "harness/child.h"
#include "harness/program.h"
#include "harness/rounds.h"
#include "harness/table.h"
#include "support/pipeline.h"

namespace tally::bench {
namespace {

constexpr uint32_t kWords = 64 * 256;  // of the dispatch: 64 workgroups

// Writes the time of one submission to stderr, in nanoseconds.
void submit(uint32_t submissions) {
  test::Context context;
  const DeviceBuffer buffer(context, VkDeviceSize{kWords} * sizeof(uint32_t), Residence::Device);
  const test::StorageSet set(context, {VkBuffer(buffer)});
  const VkDescriptorSetLayout set_layout = set.layout();
  std::array<uint32_t, 2> push = {kWords, 0};
  const auto layout = test::make_pipeline_layout(context, {&set_layout, 1}, sizeof push);
  const auto pipeline =
      test::make_compute_pipeline(context, {.shader = {.code = fill_comp}, .layout = layout});
  const auto submit_one = [&] {
    ++push[1];
    context.run([&](VkCommandBuffer commands) {
      vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
      set.bind(commands, layout);
      vkCmdPushConstants(commands, layout, VK_SHADER_STAGE_ALL, 0, sizeof push, push.data());
      vkCmdDispatch(commands, kWords / 256, 1, 1);
    });
  };
  for (uint32_t i = 0; i < submissions / 10; ++i) submit_one();
  const double all = time_of([&] {
    for (uint32_t i = 0; i < submissions; ++i) submit_one();
  });
  fmt::print(stderr, "a submission: {:.1f} ns\n", all / submissions);
}

Sample measured(std::vector<std::string> words, uint32_t submissions) {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe");
  words.insert(words.end(), {program, "--submit", std::to_string(submissions)});
  const Usage before = usage_of_children();
  const std::string errors = errors_of(words);
  const Usage after = usage_of_children();
  double nanoseconds = 0;
  const size_t line = errors.find("a submission: ");
  if (line == std::string::npos ||
      std::sscanf(errors.c_str() + line, "a submission: %lf", &nanoseconds) != 1)
    throw std::runtime_error("a run did not end: " + errors);
  return {nanoseconds, (after.processor - before.processor) * 1e9 / submissions};
}

std::vector<std::string> captured_to(const std::string& file, std::vector<std::string> options) {
  std::vector<std::string> words = {TALLY_PROGRAM, "run", "--quiet",  "--force",
                                    "--egl",       "off", "--output", file};
  words.insert(words.end(), options.begin(), options.end());
  words.emplace_back("--");
  return words;
}

void compare(uint32_t submissions, int rounds) {
  std::string folder = std::filesystem::temp_directory_path() / "submit_cost.XXXXXX";
  if (!::mkdtemp(folder.data())) throw std::runtime_error("no temporary folder");
  const std::string file = folder + "/submissions.tally";
  const std::pair<const char*, std::vector<std::string>> uses[] = {
      {"bare", {"env"}},
      {"layer loaded", {"env", "VK_INSTANCE_LAYERS=VK_LAYER_TALLY_counters"}},
      {"nothing captured", captured_to(file, {"--trigger"})},
      {"tally run --shader nothing --times off",
       captured_to(file, {"--shader", "nothing", "--times", "off"})},
      {"tally run --times off", captured_to(file, {"--times", "off"})},
      {"tally run", captured_to(file, {})}};
  std::vector<Candidate> candidates;
  for (const auto& use : uses)
    candidates.push_back(
        {use.first, [&use, submissions] { return measured(use.second, submissions); }});
  Table table({fmt::format("{} submissions", submissions), "a submission", "of bare",
               "processor time of the run", "of bare"});
  for (const Measured& row : measure_in_turn(candidates, rounds)) table.add(in_columns(row));
  std::filesystem::remove_all(folder);
  fmt::print("{}\n", table.text());
}

}  // namespace
}  // namespace tally::bench

int main(int argc, char** argv) try {
  using namespace tally::bench;
  CLI::App app("The cost of a small submission under Tally");
  uint32_t submissions = 10'000;
  bool only_submit = false;
  int rounds = 5;
  app.add_option("submissions", submissions)->check(CLI::PositiveNumber);
  app.add_option("--rounds", rounds)->check(CLI::PositiveNumber);
  app.add_flag("--submit", only_submit, "Submit, and print the time of one to stderr");
  CLI11_PARSE(app, argc, argv);
  return run_program([&] { only_submit ? submit(submissions) : compare(submissions, rounds); });
} catch (const std::exception& error) {
  return tally::bench::fail(error);
}
