// The kernels whose instrumentation is measured, each with a workload sized for the device.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "harness/instrumented.h"
#include "support/render_target.h"

namespace tally::bench {

// The kernels' own push constants come first; the record pointer follows.
inline constexpr uint32_t kKernelPushBytes = 16;

// A program with manual counting of three blocks, in each of 256 shards.
struct CountedByHand {
  const char* name;
  std::vector<ShaderSource> sources;
  bool packed = true;  // three counts of 21 bits in the first counter; otherwise a counter each
};

// One shader program and one unit of work for it, dispatched or drawn.
class Kernel {
 public:
  virtual ~Kernel() = default;

  const std::string& name() const { return name_; }
  std::span<const ShaderSource> sources() const { return sources_; }
  // The same kernel with manual counting. Empty if the kernel has none.
  std::span<const CountedByHand> counted_by_hand() const { return counted_by_hand_; }
  std::array<size_t, 3> blocks_counted_by_hand() const { return blocks_counted_by_hand_; }
  VkPipelineLayout layout() const { return layout_; }

  virtual test::Pipeline make_pipeline(const std::vector<test::Stage>& stages,
                                       VkPipelineCreateFlags flags) const = 0;
  // Records what surrounds all units of a command buffer (begin, end), and one unit.
  virtual void begin(VkCommandBuffer commands, VkPipeline pipeline) const = 0;
  virtual void add_unit(VkCommandBuffer commands) const = 0;
  virtual void end(VkCommandBuffer commands) const = 0;

 protected:
  Kernel(std::string name, std::vector<ShaderSource> sources,
         std::vector<CountedByHand> counted_by_hand = {},
         std::array<size_t, 3> blocks_counted_by_hand = {})
      : name_(std::move(name)),
        sources_(std::move(sources)),
        counted_by_hand_(std::move(counted_by_hand)),
        blocks_counted_by_hand_(blocks_counted_by_hand) {}

  test::PipelineLayout layout_;

 private:
  std::string name_;
  std::vector<ShaderSource> sources_;
  std::vector<CountedByHand> counted_by_hand_;
  std::array<size_t, 3> blocks_counted_by_hand_;
};

// Fills the buffer with `count` pseudo-random numbers between -1 and 1.
void fill(test::Context& context, const DeviceBuffer& buffer, uint32_t count, uint32_t seed);

std::unique_ptr<Kernel> make_hot_loop(test::Context& context, const Capabilities& capabilities);
std::unique_ptr<Kernel> make_memory_bound(test::Context& context, const Capabilities& capabilities);
std::unique_ptr<Kernel> make_fragment_heavy(test::Context& context,
                                            const Capabilities& capabilities);
std::unique_ptr<Kernel> make_tiny_draws(test::Context& context);

}  // namespace tally::bench
