#include "real_overhead.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "../tests/corpus/code_statistics.h"
#include "harness/program.h"
#include "harness/table.h"
#include "kernel_run.h"
#include "real_kernels.h"

namespace tally::bench {
namespace {

constexpr uint32_t kAllStages = 0x7fffffff;

// The device with what the set needs beyond its core features.
struct RealDevice {
  RealDevice() {
    const test::Context probe;
    if (probe.has_extension(VK_EXT_MESH_SHADER_EXTENSION_NAME)) {
      has_mesh = true;
      mesh.pNext = options.device_next;
      options.device_next = &mesh;
      options.device_extensions.push_back(VK_EXT_MESH_SHADER_EXTENSION_NAME);
    }
    if (probe.has_extension(VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME)) {
      has_statistics = true;
      statistics.pNext = options.device_next;
      options.device_next = &statistics;
      options.device_extensions.push_back(VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME);
    }
  }

  VkPhysicalDeviceMeshShaderFeaturesEXT mesh = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MESH_SHADER_FEATURES_EXT, nullptr, VK_FALSE, VK_TRUE};
  VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR statistics = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR, nullptr,
      VK_TRUE};
  test::ContextOptions options;
  bool has_mesh = false, has_statistics = false;
};

// One number of a pipeline's code: the sum of those statistics that drivers give one of the names.
std::string statistic(const test::CodeStatistics& of, std::initializer_list<const char*> names) {
  uint64_t sum = 0;
  bool found = false;
  for (const char* name : names) {
    const auto at = of.find(name);
    if (at == of.end()) continue;
    found = true;
    sum += at->second;
  }
  return found ? fmt::format("{}", sum) : "-";
}

class RealSet {
 public:
  RealSet(const RealSetOptions& options, const RealDevice& device)
      : options_(options),
        context_(device.options),
        capabilities_(context_.gpu()),
        inputs_(context_, capabilities_),
        set_(make_real_set(context_, capabilities_, inputs_, device.has_mesh)),
        flags_(device.has_statistics ? VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR : 0) {}

  void run() {
    print_device(capabilities_);
    for (const auto& kernel : set_) {
      if (kernel->name().find(options_.only) == std::string::npos) continue;
      if (options_.run) {
        run_plain(context_, capabilities_, *kernel, options_.rounds);
      } else {
        measure(*kernel);
      }
    }
    if (options_.run) return;
    fmt::print("{}", table_.text());
    if (ratios_.empty()) return;
    double logarithms = 0;
    for (const double ratio : ratios_) logarithms += std::log(ratio);
    fmt::print("geometric mean {:.2f}, worst {:.2f}\n",
               std::exp(logarithms / static_cast<double>(ratios_.size())),
               *std::ranges::max_element(ratios_));
  }

 private:
  void measure(const Kernel& kernel) {
    KernelRun plain(context_, capabilities_, kernel, nullptr, flags_);
    Technique technique = techniques().back();
    technique.count_subgroups = options_.subgroups;
    KernelRun counted(context_, capabilities_, kernel, &technique, flags_);
    const std::string differs = difference(kernel, counted);
    const uint32_t units = plain.units_for(options_.target_ms * 1e6);
    std::vector<Candidate> candidates = {{"plain", [&] { return plain.measure(); }},
                                         {"counted", [&] { return counted.measure(); }}};
    const auto by_hand = kernel.counted_by_hand();
    std::vector<std::unique_ptr<KernelRun>> runs_by_hand;
    for (const CountedByHand& variant : by_hand) {
      KernelRun& run =
          *runs_by_hand.emplace_back(std::make_unique<KernelRun>(context_, kernel, variant));
      run.require_counts(counted.executions());
      run.record(units);
      candidates.push_back({variant.name, [&run] { return run.measure(); }});
    }
    plain.record(units);
    counted.record(units);  // last: executions() records a single unit
    const std::vector<Measured> measured = measure_in_turn(candidates, options_.rounds);
    ratios_.push_back(measured[1].ratios[0].median);
    const auto code = [&](std::initializer_list<const char*> names) {
      if (flags_ == 0) return std::string("-");
      return fmt::format(
          "{} {}", statistic(test::code_statistics(context_, plain.pipeline(), kAllStages), names),
          statistic(test::code_statistics(context_, counted.pipeline(), kAllStages), names));
    };
    table_.add({kernel.name(), fmt::format("{}", counted.shaders()->counters()),
                fmt::format("{}", counted.shaders()->blocks()),
                duration(measured[0].values[0].median / units),
                with_quartiles(measured[1].ratios[0]), number(measured[1].ratios[2].median),
                code({"VGPRs", "Register Count"}),
                code({"Spilled VGPRs", "Spilled SGPRs", "Stack Size"}),
                code({"Subgroups per SIMD"}), differs});
    for (size_t i = 0; i < by_hand.size(); ++i) {
      const auto& ratios = measured[2 + i].ratios;
      table_.add({fmt::format("{}, {}", kernel.name(), by_hand[i].name), "-", "-", "-",
                  with_quartiles(ratios[0]), number(ratios[2].median), "-", "-", "-", "0"});
    }
  }

  // The largest difference of a block's count from the count by lane, in
  // percent. Compilers may round differently where code differs, and a branch then goes elsewhere.
  std::string difference(const Kernel& kernel, KernelRun& counted) {
    KernelRun every(context_, capabilities_, kernel, &techniques().front(), 0);
    const std::vector<uint64_t> expected = every.executions(), counts = counted.executions();
    double worst = 0;
    for (size_t i = 0; i < counts.size(); ++i) {
      const auto a = static_cast<double>(expected[i]), b = static_cast<double>(counts[i]);
      if (a != b) worst = std::max(worst, std::abs(a - b) / std::max(a, b));
    }
    return worst == 0 ? "0" : fmt::format("{:.2g} %", worst * 100);
  }

  RealSetOptions options_;
  test::Context context_;
  Capabilities capabilities_;
  RealInputs inputs_;
  std::vector<std::unique_ptr<Kernel>> set_;
  VkPipelineCreateFlags flags_;
  std::vector<double> ratios_;
  Table table_{{"real set", "counters", "blocks", "plain", "counted / plain", "processor time",
                "registers", "spills", "occupancy", "counts differ"}};
};

}  // namespace

void measure_real_set(const RealSetOptions& options) {
  const RealDevice device;
  RealSet(options, device).run();
}

}  // namespace tally::bench
