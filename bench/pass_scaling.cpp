// pass_scaling: how the time of the pass scales with the size of the module. Measures modules of
// 10,000 and of 100,000 blocks of each shape and prints the ratio, which is 10 for linear time.
// Single-threaded, no device.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "harness/program.h"
#include "harness/rounds.h"
#include "harness/table.h"
#include "spirv/analysis/analyzed_module.h"
#include "spirv/analysis/block_map.h"
#include "spirv/testing/block_count.h"
#include "spirv/testing/large_modules.h"

namespace tally::bench {
namespace {

constexpr uint32_t kFew = 10'000;
constexpr uint32_t kMany = 100'000;

using spirv::test::LargeModule;

spirv::BlockCountOptions options_of(const LargeModule& module) {
  spirv::BlockCountOptions options;
  options.stage = module.stage;
  options.address = {spirv::AddressSource::Kind::UniformBuffer, 0, 7, 0};
  options.int64 = options.int64_atomics = options.subgroup_operations = true;
  options.max_shards_log2 = 6;
  options.driver.hangs_on_discards = true;
  return options;
}

// The work that the layer does on a module.
void work_on(const LargeModule& module) {
  const auto parsed = spirv::Module::parse(module.words);
  const bool mapped = parsed && spirv::BlockMap::build(*parsed, module.stage, "main");
  const auto counted = add_block_counts(module.words, options_of(module));
  if (!mapped) throw std::runtime_error(fmt::format("{}: no map of blocks", module.shape));
  if (!counted) {
    throw std::runtime_error(fmt::format("{}: {}", module.shape, counted.error().message));
  }
}

double best_time(const LargeModule& module, int rounds) {
  double best = time_of([&] { work_on(module); });
  for (int round = 1; round < rounds; ++round) {
    best = std::min(best, time_of([&] { work_on(module); }));
  }
  return best;
}

// A module of this many blocks, or of this many cuts for a shape with a single block.
LargeModule module_of(std::string_view shape, uint32_t blocks) {
  constexpr uint32_t kProbe = 1000;
  const auto probe = spirv::Module::parse(spirv::test::large_module(shape, kProbe).words);
  const auto each = static_cast<uint32_t>(probe->blocks().size() / kProbe);
  return spirv::test::large_module(shape, blocks / std::max(each, 1u));
}

void run(int rounds) {
  Table table({"shape", fmt::format("{}", kFew), fmt::format("{}", kMany), "ratio"});
  for (const std::string_view shape : spirv::test::large_shapes()) {
    const double few = best_time(module_of(shape, kFew), rounds);
    const double many = best_time(module_of(shape, kMany), rounds);
    table.add({std::string(shape), duration(few), duration(many), number(many / few, 1)});
  }
  fmt::print("{}\n", table.text());
}

}  // namespace
}  // namespace tally::bench

int main(int argc, char** argv) try {
  CLI::App app("How the time of the pass grows with the module");
  int rounds = 3;
  app.add_option("--rounds", rounds, "the least of so many times is printed")
      ->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  tally::bench::run(rounds);
  return 0;
} catch (const std::exception& error) {
  return tally::bench::fail(error);
}
