// A Vulkan device that runs kernels as compute and as fragment shaders and times them. Vulkan is
// loaded at run time.
#pragma once

#include <vulkan/vulkan_core.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "cli/predict/pass_kernels.h"

namespace tally::cli {

struct GpuFacts {
  std::string name, driver;
  bool is_cpu = false;
  uint32_t subgroup_size = 0;
  bool subgroup_arithmetic = false;  // in compute shaders
  bool float64 = false, int64 = false;
  bool graphics = false;  // without, no pass runs
  uint32_t words = 0;     // of the buffer that kernels use, a power of two
  // The driver has no hardware: it compiles, and executes nothing.
  bool compiles_only = false;
};

// The compiler's estimates for one subgroup of a kernel, in cycles.
struct CompiledKernel {
  double busy = 0;  // of the unit that is busy longest
  double latency = 0;
  uint32_t subgroup_size = 0;
};

// The push constants of calibrate.comp and calibrate.frag.
struct KernelParameters {
  uint32_t count = 0;
  uint32_t mask = 0;
  uint32_t stride = 0;
  uint32_t odd = 0x9e3779b1;
  float near_one = 0.9999F;
  float small = 0.0001F;
  float never = -12345.678F;
};

// One dispatch of workgroups of 64 invocations, or one render pass.
struct KernelRun {
  VkPipeline pipeline = VK_NULL_HANDLE;
  uint32_t groups = 1;
  KernelParameters parameters;
  std::optional<KernelPass> pass;
};

class Gpu {
 public:
  // `number` is the device's, as `tally list` numbers them.
  static Result<std::unique_ptr<Gpu>> open(size_t number);
  virtual ~Gpu() = default;

  virtual const GpuFacts& facts() const = 0;
  // The pipeline lives as long as the device.
  virtual Result<VkPipeline> make_kernel(std::span<const uint32_t> words) = 0;
  virtual Result<VkPipeline> make_pass_kernel(std::span<const uint32_t> fragment) = 0;
  // Compiles a compute kernel whose number of iterations the compiler knows. Only for a driver
  // without hardware.
  virtual Result<CompiledKernel> compile(std::span<const uint32_t> words, uint32_t iterations) = 0;
  // Runs at most 16 dispatches and passes one after the other; the seconds of each.
  virtual Result<std::vector<double>> time(std::span<const KernelRun> runs) = 0;
};

}  // namespace tally::cli
