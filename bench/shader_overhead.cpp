// The device cost of counting blocks: three kernels, plain and with each technique of the pass,
// without any layer. All techniques must produce the same counts, otherwise no table is printed.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <ctime>
#include <optional>

#include "harness/program.h"
#include "harness/rounds.h"
#include "harness/table.h"
#include "kernels.h"

namespace tally::bench {
namespace {

constexpr uint32_t kMaxRecords = 16;

// A kernel, plain or instrumented, and a command buffer with `units` units of its work.
class Variant {
 public:
  Variant(test::Context& context, const Capabilities& capabilities, const Kernel& kernel,
          const Technique* technique)
      : context_(context), kernel_(kernel), timer_(context) {
    if (technique) {
      shaders_.emplace(capabilities, *technique, kernel.sources(), kKernelPushBytes);
      stride_ = shaders_->record_bytes();
      records_ = DeviceBuffer(context, stride_ * kMaxRecords, Residence::Visible);
      pipeline_ = kernel.make_pipeline(shaders_->stages());
    } else {
      pipeline_ = kernel.make_pipeline(stages_of(kernel.sources()));
    }
  }

  // Counts manually.
  Variant(test::Context& context, const Kernel& kernel)
      : context_(context),
        kernel_(kernel),
        timer_(context),
        stride_(probe::record_bytes(1, probe::kMaxShardsLog2)) {
    records_ = DeviceBuffer(context, stride_ * kMaxRecords, Residence::Visible);
    pipeline_ = kernel.make_pipeline(stages_of(kernel.counted_by_hand()));
  }

  // Records what measure() runs from now on. Every unit has its own record, as commands do.
  void record(uint32_t units) {
    commands_ = context_.begin_commands(0);
    timer_.begin(commands_);
    kernel_.begin(commands_, pipeline_);
    for (uint32_t unit = 0; unit < units; ++unit) {
      if (stride_ != 0) push_record(unit % kMaxRecords);
      kernel_.add_unit(commands_);
    }
    kernel_.end(commands_);
    timer_.end(commands_);
    test::full_barrier(commands_);
    test::check(vkEndCommandBuffer(commands_));
  }

  // Device time, wall-clock time, and processor time of all threads of the process.
  Sample measure() {
    const std::clock_t begin = std::clock();
    const double wall = time_of([&] { context_.submit_and_wait(commands_); });
    const auto used = static_cast<double>(std::clock() - begin) * (1e9 / CLOCKS_PER_SEC);
    return {timer_.nanoseconds(), wall, used};
  }

  // Executions of each block in one unit.
  std::vector<uint64_t> executions() {
    std::ranges::fill(records_.words(), 0);
    record(1);
    measure();
    return shaders_->executions(records_.words());
  }

  // The manual counts of one unit.
  std::array<uint64_t, 3> counted_by_hand() {
    std::ranges::fill(records_.words(), 0);
    record(1);
    measure();
    std::array<uint64_t, 3> sums{};
    for (const uint64_t counter : records_.words()) {
      for (size_t i = 0; i < sums.size(); ++i) sums[i] += counter >> (21 * i) & 0x1fffff;
    }
    return sums;
  }

  const InstrumentedShaders* shaders() const { return shaders_ ? &*shaders_ : nullptr; }

 private:
  static std::vector<test::Stage> stages_of(std::span<const ShaderSource> sources) {
    std::vector<test::Stage> stages;
    for (const ShaderSource& source : sources) stages.push_back({source.stage, source.words});
    return stages;
  }

  // The manual variant gets the plain address.
  void push_record(uint32_t index) {
    const VkDeviceAddress address = records_.address() + index * stride_;
    const uint64_t word = shaders_ ? shaders_->record_pointer(address) : address;
    vkCmdPushConstants(commands_, kernel_.layout(), VK_SHADER_STAGE_ALL, kKernelPushBytes,
                       sizeof word, &word);
  }

  test::Context& context_;
  const Kernel& kernel_;
  GpuTimer timer_;
  std::optional<InstrumentedShaders> shaders_;
  DeviceBuffer records_;
  VkDeviceSize stride_ = 0;
  test::Pipeline pipeline_;
  VkCommandBuffer commands_ = VK_NULL_HANDLE;
};

// The number of units for which the plain kernel takes `target` nanoseconds.
uint32_t units_for(Variant& plain, double target) {
  plain.record(1);
  plain.measure();
  const double one = std::max(plain.measure()[0], 1.0);
  return static_cast<uint32_t>(std::clamp(target / one, 1.0, 1000.0));
}

// The differences of each technique's counts from the naive counts, one per line.
std::string differences(std::vector<std::unique_ptr<Variant>>& variants) {
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

void require_equal_counts(std::vector<std::unique_ptr<Variant>>& variants) {
  const std::string lines = differences(variants);
  if (!lines.empty()) throw std::runtime_error("techniques differ in their counts:" + lines);
}

// Rows: plain, the techniques, manual counting.
const char* row_name(size_t row) {
  if (row == 0) return "plain";
  return row <= techniques().size() ? techniques()[row - 1].name
                                    : "by hand: three counts in one addition";
}

struct Options {
  int rounds = 7;
  double target_ms = 20;
  std::string only;
};

void measure_kernel(test::Context& context, const Capabilities& capabilities, const Kernel& kernel,
                    const Options& options) {
  std::vector<std::unique_ptr<Variant>> variants;
  variants.push_back(std::make_unique<Variant>(context, capabilities, kernel, nullptr));
  for (const Technique& technique : techniques()) {
    variants.push_back(std::make_unique<Variant>(context, capabilities, kernel, &technique));
  }
  require_equal_counts(variants);
  if (!kernel.counted_by_hand().empty()) {
    variants.push_back(std::make_unique<Variant>(context, kernel));
    const std::vector<uint64_t> counts = variants[1]->executions();
    if (variants.back()->counted_by_hand() != std::array{counts[0], counts[2], counts[3]}) {
      throw std::runtime_error("manual counting gives different counts");
    }
  }

  const uint32_t units = units_for(*variants[0], options.target_ms * 1e6);
  std::vector<Candidate> candidates;
  for (size_t i = 0; i < variants.size(); ++i) {
    variants[i]->record(units);
    candidates.push_back(
        {row_name(i), [variant = variants[i].get()] { return variant->measure(); }});
  }
  const std::vector<Measured> measured = measure_in_turn(candidates, options.rounds);

  Table table(
      {kernel.name(), "counters", "device time", "of plain", "by the clock", "processor time"});
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
    measure_kernel(context, capabilities, *kernel, options);
  }
}

}  // namespace
}  // namespace tally::bench

int main(int argc, char** argv) {
  tally::bench::Options options;
  CLI::App app("What counting blocks costs on the device, for each technique");
  app.add_option("--rounds", options.rounds)->check(CLI::PositiveNumber);
  app.add_option("--target-ms", options.target_ms, "device time of one plain measurement");
  app.add_option("--kernel", options.only, "only kernels whose name contains this");
  CLI11_PARSE(app, argc, argv);
  return tally::bench::run_program([&] { tally::bench::run(options); });
}
