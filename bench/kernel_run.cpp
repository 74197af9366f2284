#include "kernel_run.h"

#include <algorithm>
#include <ctime>
#include <stdexcept>

namespace tally::bench {
namespace {

constexpr uint32_t kMaxRecords = 16;

std::vector<test::Stage> stages_of(std::span<const ShaderSource> sources) {
  std::vector<test::Stage> stages;
  for (const ShaderSource& source : sources) stages.push_back({source.stage, source.words});
  return stages;
}

}  // namespace

KernelRun::KernelRun(test::Context& context, const Capabilities& capabilities, const Kernel& kernel,
                     const Technique* technique, VkPipelineCreateFlags flags)
    : context_(context), kernel_(kernel), timer_(context) {
  if (technique) {
    shaders_.emplace(capabilities, *technique, kernel.sources(), kKernelPushBytes);
    stride_ = shaders_->record_bytes();
    records_ = DeviceBuffer(context, stride_ * kMaxRecords, Residence::Visible);
    pipeline_ = kernel.make_pipeline(shaders_->stages(), flags);
  } else {
    pipeline_ = kernel.make_pipeline(stages_of(kernel.sources()), flags);
  }
}

KernelRun::KernelRun(test::Context& context, const Kernel& kernel, const CountedByHand& by_hand)
    : context_(context),
      kernel_(kernel),
      timer_(context),
      packed_(by_hand.packed),
      stride_(probe::record_bytes(1, probe::kMaxShardsLog2)) {
  records_ = DeviceBuffer(context, stride_ * kMaxRecords, Residence::Visible);
  pipeline_ = kernel.make_pipeline(stages_of(by_hand.sources), 0);
}

void KernelRun::record(uint32_t units) {
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

Sample KernelRun::measure() {
  const std::clock_t begin = std::clock();
  const double wall = time_of([&] { context_.submit_and_wait(commands_); });
  const auto used = static_cast<double>(std::clock() - begin) * (1e9 / CLOCKS_PER_SEC);
  return {timer_.nanoseconds(), wall, used};
}

uint32_t KernelRun::units_for(double target) {
  record(1);
  measure();
  const double one = std::max(measure()[0], 1.0);
  return static_cast<uint32_t>(std::clamp(target / one, 1.0, 1000.0));
}

std::vector<uint64_t> KernelRun::executions() {
  std::ranges::fill(records_.words(), 0);
  record(1);
  measure();
  return shaders_->executions(records_.words());
}

std::array<uint64_t, 3> KernelRun::counts_by_hand() {
  std::ranges::fill(records_.words(), 0);
  record(1);
  measure();
  std::array<uint64_t, 3> sums{};
  const auto words = records_.words();
  for (size_t at = 0; at < words.size(); at += probe::kShardAlignment / sizeof words[0]) {
    for (size_t i = 0; i < sums.size(); ++i) {
      sums[i] += packed_ ? words[at] >> (21 * i) & 0x1fffff : words[at + i];
    }
  }
  return sums;
}

void KernelRun::require_counts(const std::vector<uint64_t>& executions) {
  const std::array<uint64_t, 3> counts = counts_by_hand();
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] != executions.at(kernel_.blocks_counted_by_hand()[i])) {
      throw std::runtime_error("manual counting gives different counts");
    }
  }
}

// The manual variant gets the plain address.
void KernelRun::push_record(uint32_t index) {
  const VkDeviceAddress address = records_.address() + index * stride_;
  const uint64_t word = shaders_ ? shaders_->record_pointer(address) : address;
  vkCmdPushConstants(commands_, kernel_.layout(), VK_SHADER_STAGE_ALL, kKernelPushBytes,
                     sizeof word, &word);
}

void run_plain(test::Context& context, const Capabilities& capabilities, const Kernel& kernel,
               int rounds) {
  KernelRun plain(context, capabilities, kernel, nullptr);
  plain.record(1);
  for (int round = 0; round < rounds; ++round) plain.measure();
}

}  // namespace tally::bench
