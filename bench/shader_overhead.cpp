// The device cost of counting blocks: three kernels, plain and with each technique of the pass,
// without any layer. All techniques must produce the same counts, otherwise no table is printed.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <optional>

#include "harness/program.h"
#include "harness/rounds.h"
#include "harness/table.h"
#include "kernel_run.h"
#include "kernels.h"
#include "real_overhead.h"

namespace tally::bench {
namespace {

// The differences of each technique's counts from the naive counts, one per line.
std::string differences(std::vector<std::unique_ptr<KernelRun>>& variants) {
  const std::vector<uint64_t> expected = variants[1]->executions();
  std::string lines;
  for (size_t i = 2; i < variants.size(); ++i) {
    const std::vector<uint64_t> counts = variants[i]->executions();
    for (size_t block = 0; block < expected.size(); ++block) {
      if (counts[block] == expected[block]) continue;
      lines += fmt::format("\n  block {}: {} by \"{}\", {} by \"{}\"", block, expected[block],
                           techniques()[0].name, counts[block], techniques()[i - 1].name);
    }
  }
  return lines;
}

void require_equal_counts(std::vector<std::unique_ptr<KernelRun>>& variants) {
  const std::string lines = differences(variants);
  if (!lines.empty()) throw std::runtime_error("techniques differ in their counts:" + lines);
}

// Rows: plain, the techniques, manual counting.
const char* row_name(const Kernel& kernel, size_t row) {
  if (row == 0) return "plain";
  if (row <= techniques().size()) return techniques()[row - 1].name;
  return kernel.counted_by_hand()[row - techniques().size() - 1].name;
}

struct Options {
  int rounds = 7;
  double target_ms = 20;
  std::string only;
  std::string set = "techniques";
  bool subgroups = false;
  bool run = false;
};

void measure_kernel(test::Context& context, const Capabilities& capabilities, const Kernel& kernel,
                    const Options& options) {
  std::vector<std::unique_ptr<KernelRun>> variants;
  variants.push_back(std::make_unique<KernelRun>(context, capabilities, kernel, nullptr));
  for (const Technique& technique : techniques()) {
    variants.push_back(std::make_unique<KernelRun>(context, capabilities, kernel, &technique));
  }
  require_equal_counts(variants);
  for (const CountedByHand& by_hand : kernel.counted_by_hand()) {
    variants.push_back(std::make_unique<KernelRun>(context, kernel, by_hand));
    variants.back()->require_counts(variants[1]->executions());
  }

  const uint32_t units = variants[0]->units_for(options.target_ms * 1e6);
  std::vector<Candidate> candidates;
  for (size_t i = 0; i < variants.size(); ++i) {
    variants[i]->record(units);
    candidates.push_back(
        {row_name(kernel, i), [variant = variants[i].get()] { return variant->measure(); }});
  }
  const std::vector<Measured> measured = measure_in_turn(candidates, options.rounds);

  Table table(
      {kernel.name(), "counters", "device time", "of plain", "wall clock", "processor time"});
  for (size_t i = 0; i < measured.size(); ++i) {
    const InstrumentedShaders* shaders = variants[i]->shaders();
    table.add({measured[i].name, shaders ? fmt::format("{}", shaders->counters()) : "-",
               duration(measured[i].values[0].median / units),
               with_quartiles(measured[i].ratios[0]), number(measured[i].ratios[1].median),
               capabilities.software ? with_quartiles(measured[i].ratios[2]) : "-"});
  }
  fmt::print("{}{} blocks; {} units of work in one measurement, {} rounds\n\n", table.text(),
             variants[1]->shaders()->blocks(), units, options.rounds);
}

void run(const Options& options) {
  test::Context context;
  const Capabilities capabilities(context.gpu());
  print_device(capabilities);
  using Make = std::unique_ptr<Kernel> (*)(test::Context&, const Capabilities&);
  for (Make make : {make_hot_loop, make_memory_bound, make_fragment_heavy}) {
    const std::unique_ptr<Kernel> kernel = make(context, capabilities);
    if (kernel->name().find(options.only) == std::string::npos) continue;
    if (options.run) {
      run_plain(context, capabilities, *kernel, options.rounds);
      continue;
    }
    measure_kernel(context, capabilities, *kernel, options);
  }
}

}  // namespace
}  // namespace tally::bench

int main(int argc, char** argv) try {
  tally::bench::Options options;
  CLI::App app("The cost of counting blocks on the device, for each technique");
  app.add_option("--rounds", options.rounds)->check(CLI::PositiveNumber);
  app.add_option("--target-ms", options.target_ms, "device time of one plain measurement");
  app.add_option("--kernel", options.only, "only kernels whose name contains this");
  app.add_option("--set", options.set,
                 "techniques: three kernels, with each technique; real: real shaders, as the layer "
                 "counts them")
      ->check(CLI::IsMember({"techniques", "real"}));
  app.add_flag("--subgroups", options.subgroups,
               "with the real set: also count the subgroups that execute each block");
  app.add_flag("--run", options.run,
               "only run the plain kernels, a unit a submission, for a tool around this program");
  CLI11_PARSE(app, argc, argv);
  return tally::bench::run_program([&] {
    if (options.set == "techniques") return tally::bench::run(options);
    tally::bench::measure_real_set(
        {options.rounds, options.target_ms, options.only, options.subgroups, options.run});
  });
} catch (const std::exception& error) {
  return tally::bench::fail(error);
}
