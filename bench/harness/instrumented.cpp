#include "harness/instrumented.h"

#include <cstddef>
#include <stdexcept>

#include "spirv/testing/block_count.h"
#include "support/stages.h"

namespace tally::bench {
namespace {

using spirv::Counting;
using spirv::Placement;

constexpr uint32_t kShards = probe::kMaxShardsLog2;

constexpr Technique kTechniques[] = {
    {"naive: every block, every lane", Placement::Every, Counting::Lane, 0},
    {"aggregated: every block, subgroup", Placement::Every, Counting::Subgroup, 0},
    {"private: every block, one flush", Placement::Every, Counting::Private, 0},
    {"minimal: fewest blocks, one flush", Placement::Minimal, Counting::Private, 0},
    {"sharded: the same over 256 shards", Placement::Minimal, Counting::Private, kShards},
    {"one exit: one flush for all returns", Placement::Minimal, Counting::Private, kShards, true},
    {"trips: variables of loops count", Placement::Minimal, Counting::Private, kShards, true, true},
    {"short: little code, on llvmpipe", Placement::Minimal, Counting::Private, kShards, true, true,
     false, true},
};

}  // namespace

std::span<const Technique> techniques() { return kTechniques; }

InstrumentedShaders::InstrumentedShaders(const Capabilities& capabilities,
                                         const Technique& technique,
                                         std::span<const ShaderSource> sources,
                                         uint32_t push_offset)
    : shards_log2_(technique.shards_log2) {
  for (const ShaderSource& source : sources) {
    spirv::BlockCountOptions options;
    options.stage = test::execution_model(source.stage);
    options.address.push_constant_offset = push_offset;
    options.placement = technique.placement;
    options.counting = technique.counting;
    options.int64 = capabilities.int64;
    options.int64_atomics = capabilities.int64_atomics;
    options.subgroup_operations = capabilities.subgroups_in(source.stage);
    options.max_shards_log2 = technique.shards_log2;
    options.single_exit = technique.single_exit;
    options.trip_counts = technique.trip_counts;
    options.count_subgroups = technique.count_subgroups;
    options.driver.prefers_small_code = technique.small_code && capabilities.prefers_small_code;
    auto result = spirv::add_block_counts(source.words, options);
    if (!result) throw std::runtime_error(result.error().message);

    auto shader = std::make_unique<Shader>();
    shader->stage = source.stage;
    shader->result = std::move(*result);
    shader->counters.first_counter = capacity_;
    capacity_ += probe::stage_capacity(shader->result.plan.record_counters());
    shaders_.push_back(std::move(shader));
  }
  for (const auto& shader : shaders_) {
    const auto ids = shader->result.record_spec_ids.value_or(spirv::RecordSpecIds{});
    shader->counters.stride = probe::shard_stride(capacity_);
    shader->constants = {probe::counter_bytes(shader->counters.first_counter),
                         probe::counter_bytes(shader->counters.stride)};
    shader->entries = {{{ids.first_byte, 0, sizeof(uint32_t)},
                        {ids.stride_bytes, sizeof(uint32_t), sizeof(uint32_t)}}};
    shader->specialization = {2, shader->entries.data(), sizeof(shader->constants),
                              shader->constants.data()};
  }
}

std::vector<test::Stage> InstrumentedShaders::stages() const {
  std::vector<test::Stage> stages;
  for (const auto& shader : shaders_) {
    test::Stage& stage = stages.emplace_back();
    stage.stage = shader->stage;
    stage.code = shader->result.words;
    if (shader->result.record_spec_ids) stage.specialization = &shader->specialization;
  }
  return stages;
}

VkDeviceSize InstrumentedShaders::record_bytes() const {
  return probe::record_bytes(capacity_, shards_log2_);
}

std::vector<uint64_t> InstrumentedShaders::executions(std::span<const uint64_t> record) const {
  std::vector<uint64_t> all;
  for (const auto& shader : shaders_) {
    if (shader->stage == VK_SHADER_STAGE_VERTEX_BIT) continue;
    std::vector<uint64_t> sums(shader->result.plan.record_counters());
    if (!probe::sum_shards(record, shader->counters, shards_log2_, sums)) {
      throw std::runtime_error("the record is too short");
    }
    const spirv::BlockCounts counts = derive(shader->result.plan, sums);
    all.insert(all.end(), counts.executions.begin(), counts.executions.end());
  }
  return all;
}

uint32_t InstrumentedShaders::counters() const {
  uint32_t sum = 0;
  for (const auto& shader : shaders_) sum += shader->result.plan.record_counters();
  return sum;
}

uint32_t InstrumentedShaders::blocks() const {
  uint32_t sum = 0;
  for (const auto& shader : shaders_) sum += shader->result.plan.block_count;
  return sum;
}

}  // namespace tally::bench
