// Random programs through the oracle and through a driver, counted in every way: all equal.
//
//   oracle_test [--seed N] [--count N] [--all-ways] [--keep FOLDER]
//
// Each program runs plain and in some of the ways, in turn, or in all; programs alternate between
// compute and fragment shaders. What fails is printed with its seed; --keep writes its text.
// A program that a driver runs wrongly as it is says nothing of our counts: it is printed and left
// out, and too many of them are a failure.
#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <string_view>

#include "full_screen.vert.h"
#include "oracle/generator.h"
#include "oracle/interpreter.h"
#include "pass/gpu_run.h"
#include "support/environment.h"
#include "support/spirv.h"

namespace tally::test {
namespace {

constexpr uint32_t kInvocations = 16 * 5;  // of a dispatch
constexpr VkExtent2D kExtent = {13, 11};   // odd: helpers beside the last column and row
constexpr uint32_t kWaysAtOnce = 3;
constexpr double kMostLeftOut = 0.01;  // of the programs

struct Options {
  uint64_t seed = 1;
  uint64_t count = 60;
  bool all_ways = false;
  std::string keep;
};

struct Expected {
  std::vector<uint32_t> values;   // of a dispatch
  std::vector<uint32_t> picture;  // of a draw
  std::vector<uint64_t> executions;
};

// The colour of a texel, as the target's format stores it.
uint32_t texel_of(const std::vector<uint32_t>& output) {
  uint32_t texel = 0;
  for (size_t i = 0; i < 4; ++i) {
    const float channel = std::bit_cast<float>(output.at(i));
    texel |= static_cast<uint32_t>(channel * 255.0f + 0.5f) << (8 * i);
  }
  return texel;
}

Expected expected_of(const std::vector<uint32_t>& code, const RandomProgram& random,
                     bool fragment) {
  const auto module = spirv::Module::parse(code);
  if (!module) throw std::runtime_error(module.error().message);
  std::map<uint32_t, uint32_t> specialization;
  for (size_t i = 0; i + 1 < random.specialization.size(); i += 2) {
    specialization[random.specialization[i]] = random.specialization[i + 1];
  }
  Interpreter interpreter(*module,
                          fragment ? spv::ExecutionModel::Fragment : spv::ExecutionModel::GLCompute,
                          specialization);
  Expected expected;
  if (!fragment) {
    interpreter.buffer().assign(kInvocations, 0);
    for (uint32_t i = 0; i < kInvocations; ++i) interpreter.run({.global_id = {i, 0, 0}});
    expected.values = interpreter.buffer();
  } else {
    for (uint32_t y = 0; y < kExtent.height; ++y) {
      for (uint32_t x = 0; x < kExtent.width; ++x) {
        const auto end = interpreter.run(
            {.frag_coord = {static_cast<float>(x) + 0.5f, static_cast<float>(y) + 0.5f, 0.5f, 1}});
        expected.picture.push_back(end.discarded ? 0 : texel_of(end.output));
      }
    }
  }
  expected.executions = interpreter.executions();
  return expected;
}

Program program_of(const std::vector<uint32_t>& code, const RandomProgram& random, bool fragment) {
  Program program;
  if (!fragment) {
    program.stages = {{VK_SHADER_STAGE_COMPUTE_BIT, code, random.specialization}};
    program.values.assign(kInvocations, 0);
    program.groups[0] = kInvocations / 16;
    program.invocations = kInvocations;
    return program;
  }
  program.stages = {
      {VK_SHADER_STAGE_VERTEX_BIT, {std::begin(full_screen_vert), std::end(full_screen_vert)}},
      {VK_SHADER_STAGE_FRAGMENT_BIT, code, random.specialization}};
  program.target.extent = kExtent;
  return program;
}

class OracleTest {
 public:
  explicit OracleTest(const Options& options) : options_(options) {}

  int run() {
    for (uint64_t i = 0; i < options_.count; ++i) {
      const uint64_t seed = options_.seed + i;
      const bool fragment = seed % 2 == 1;
      try {
        check(seed, fragment);
      } catch (const std::exception& error) {
        fail(seed, fragment, error.what());
      }
    }
    fmt::print("oracle: {} blocks of {} programs in {} runs\n", blocks_, options_.count, runs_);
    fmt::print("{} passed, {} failed, {} that the driver runs wrongly without us\n",
               options_.count - failed_ - left_out_, failed_, left_out_);
    return failed_ == 0 && runs_ > 0 && left_out_ <= options_.count * kMostLeftOut ? 0 : 1;
  }

 private:
  void fail(uint64_t seed, bool fragment, const std::string& why) {
    if (seed != last_failed_) ++failed_;
    last_failed_ = seed;
    fmt::print("FAIL seed {} ({}): {}\n", seed, fragment ? "fragment" : "compute", why);
    if (options_.keep.empty()) return;
    std::ofstream(fmt::format("{}/{}.spvasm", options_.keep, seed))
        << random_program(seed, fragment).text;
  }

  void check(uint64_t seed, bool fragment) {
    const RandomProgram random = random_program(seed, fragment);
    const std::vector<uint32_t> code = assemble(random.text, SPV_ENV_UNIVERSAL_1_3);
    const std::string message = validate(code, SPV_ENV_VULKAN_1_3);
    if (!message.empty()) throw std::runtime_error("the program is not valid: " + message);
    const Expected expected = expected_of(code, random, fragment);
    blocks_ += expected.executions.size();
    const Program program = program_of(code, random, fragment);
    if (const Outcome plain = run_program(context_, program);
        plain.values != expected.values || plain.picture != expected.picture) {
      ++left_out_;
      fmt::print("seed {} ({}): the driver runs the plain program wrongly\n", seed,
                 fragment ? "fragment" : "compute");
      return;
    }
    const auto ways = all_ways(abilities_of(context_), fragment ? VK_SHADER_STAGE_FRAGMENT_BIT
                                                                : VK_SHADER_STAGE_COMPUTE_BIT);
    const size_t count =
        options_.all_ways ? ways.size() : std::min<size_t>(kWaysAtOnce, ways.size());
    for (size_t i = 0; i < count; ++i) {
      const Way& way = ways[(seed / 2 * kWaysAtOnce + i) % ways.size()];
      compare(seed, fragment, to_string(way), expected, run_program(context_, program, way));
    }
  }

  void compare(uint64_t seed, bool fragment, const std::string& way, const Expected& expected,
               const Outcome& outcome) {
    ++runs_;
    if (!fragment && outcome.values != expected.values) fail(seed, fragment, way + ": values");
    if (fragment && outcome.picture != expected.picture) fail(seed, fragment, way + ": picture");
    if (outcome.counts.empty()) return;
    const StageCounts& counts = outcome.counts.back();
    for (const std::string& finding : counts.findings) fail(seed, fragment, way + ": " + finding);
    for (size_t block = 0; block < expected.executions.size(); ++block) {
      const uint64_t counted = counts.blocks.executions.at(block);
      if (counted == expected.executions[block]) continue;
      fail(seed, fragment,
           fmt::format("{}: block {} ran {} times, counted {}", way, block,
                       expected.executions[block], counted));
      return;
    }
  }

  const Options& options_;
  Context context_;
  uint64_t failed_ = 0, last_failed_ = ~uint64_t{0}, runs_ = 0, blocks_ = 0, left_out_ = 0;
};

}  // namespace
}  // namespace tally::test

int main(int argc, char** argv) {
  tally::test::Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    const bool has_value = i + 1 < argc;
    if (argument == "--seed" && has_value) {
      options.seed = std::strtoull(argv[++i], nullptr, 10);
    } else if (argument == "--count" && has_value) {
      options.count = std::strtoull(argv[++i], nullptr, 10);
    } else if (argument == "--keep" && has_value) {
      options.keep = argv[++i];
    } else if (argument == "--all-ways") {
      options.all_ways = true;
    } else {
      fmt::print(stderr, "oracle_test [--seed N] [--count N] [--all-ways] [--keep FOLDER]\n");
      return 2;
    }
  }
  tally::test::set_default_environment();
  return tally::test::OracleTest(options).run();
}
