#include "support/gpu_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <stdexcept>

#include "probe/record.h"
#include "spirv/analysis/interface.h"
#include "spirv/testing/block_count.h"
#include "support/spirv.h"
#include "support/stages.h"

namespace tally::test {
namespace {

using spirv::AddressSource;
using spirv::BlockCountOptions;
using spirv::Counting;
using spirv::Placement;

constexpr VkSubgroupFeatureFlags kSubgroupOperations =
    VK_SUBGROUP_FEATURE_BASIC_BIT | VK_SUBGROUP_FEATURE_VOTE_BIT | VK_SUBGROUP_FEATURE_BALLOT_BIT |
    VK_SUBGROUP_FEATURE_ARITHMETIC_BIT;
constexpr uint32_t kAddressSet = 1;

// A stage as it is passed to the pipeline.
struct Part {
  VkShaderStageFlagBits stage;
  std::vector<uint32_t> words;
  std::vector<VkSpecializationMapEntry> entries;
  std::vector<uint32_t> data;
  VkSpecializationInfo info = {};
  spirv::CounterPlan plan;
  uint32_t first_counter = 0;
  std::optional<spirv::RecordSpecIds> spec_ids;

  void specialize(uint32_t constant_id, uint32_t value) {
    entries.push_back({constant_id, static_cast<uint32_t>(data.size() * 4), 4});
    data.push_back(value);
  }
};

BlockCountOptions options_for(const ShaderStage& stage, const Way& way, uint32_t push_offset,
                              const DeviceAbilities& abilities) {
  BlockCountOptions options;
  options.stage = execution_model(stage.stage);
  options.placement = way.placement;
  options.counting = way.counting;
  options.int64 = abilities.int64 && !way.narrow;
  options.int64_atomics = abilities.int64_atomics && !way.narrow;
  options.subgroup_operations = (abilities.subgroup_stages & stage.stage) && !way.no_subgroups;
  options.wide_subgroups = abilities.wide_subgroups;
  options.max_shards_log2 = way.shards_log2;
  options.sm_builtins = way.sm_builtins;
  options.count_subgroups = way.count_subgroups;
  options.count_branches = way.count_branches;
  options.sites = way.sites;
  options.driver.hangs_on_discards = abilities.hangs_on_discards || way.hangs_on_discards;
  options.driver.prefers_small_code = options.driver.keeps_draws_apart = way.small_code;
  if (way.in_workgroups) options.driver.workgroup_bytes = 16384;  // all devices have that
  options.driver.masks_branches = abilities.masks_branches;
  options.driver.max_nested_conditionals = abilities.max_nested_conditionals;
  if (way.uniform_buffer) {
    options.address = {AddressSource::Kind::UniformBuffer, 0, kAddressSet, 0};
  } else {
    options.address.push_constant_offset = push_offset;
  }
  return options;
}

// The record pointer, and the address of the sets of virtual subgroups.
using Pointers = std::array<uint64_t, 2>;

// The descriptor set with the pointers in a uniform buffer.
class AddressSet : public DescriptorSet {
 public:
  AddressSet(const Context& context, const Pointers& pointers)
      : DescriptorSet(context, {&kBinding, 1}),
        buffer_(context, 256, VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT) {
    std::ranges::copy(pointers, buffer_.as<uint64_t>().begin());
    const VkDescriptorBufferInfo info = {buffer_, 0, VK_WHOLE_SIZE};
    write(0, &info);
  }

 private:
  static constexpr VkDescriptorSetLayoutBinding kBinding = {0, VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, 1,
                                                            VK_SHADER_STAGE_ALL, nullptr};

  Buffer buffer_;
};

// The location that passes the draw index from the vertex to the fragment stage, if there is one.
spirv::PackedDrawIndices packed_draw_indices_for(const Program& program) {
  uint32_t location = 0;
  bool has_fragments = false;
  for (const ShaderStage& stage : program.stages) {
    const bool reads = stage.stage == VK_SHADER_STAGE_FRAGMENT_BIT;
    has_fragments |= reads;
    const auto module = spirv::Module::parse(stage.code);
    if (!module) throw std::runtime_error(module.error().message);
    const auto* entry = module->find_entry_point(execution_model(stage.stage), "main");
    const auto storage = reads ? spv::StorageClass::Input : spv::StorageClass::Output;
    const auto free =
        entry != nullptr ? spirv::first_free_location(*module, *entry, storage) : std::nullopt;
    if (!free) throw std::runtime_error("no location is known to be free");
    location = std::max(location, *free);
  }
  if (has_fragments) return {location};
  return {};
}

class Run {
 public:
  Run(Context& context, const Program& program, const std::optional<Way>& way)
      : context_(context),
        program_(program),
        way_(way),
        values_(context, std::max<size_t>(program.values.size(), 1) * 4),
        set_(context, {values_}) {
    std::ranges::copy(program.values, values_.as<uint32_t>().begin());
    const DeviceAbilities abilities = abilities_of(context);
    if (way_ && way_->numbers != Numbers::None)
      packed_draw_indices_ = packed_draw_indices_for(program);
    for (const ShaderStage& stage : program.stages) add_stage(stage, abilities);
    for (Part& part : parts_) place_counters(part);
    if (way_) make_records();
    const std::vector<VkDescriptorSetLayout> sets =
        address_set_ ? std::vector{set_.layout(), address_set_->layout()}
                     : std::vector{set_.layout()};
    layout_ = make_pipeline_layout(context, sets, push_bytes());
    for (Part& part : parts_) {
      part.info = {static_cast<uint32_t>(part.entries.size()), part.entries.data(),
                   part.data.size() * 4, part.data.data()};
      stages_.push_back({part.stage, part.words, "main", &part.info});
    }
  }

  Outcome run() {
    Outcome outcome;
    if (program_.stages[0].stage == VK_SHADER_STAGE_COMPUTE_BIT) {
      dispatch();
    } else {
      outcome.picture = draw(outcome);
    }
    const auto values = values_.as<uint32_t>().first(program_.values.size());
    outcome.values.assign(values.begin(), values.end());
    if (way_) read_counts(outcome);
    return outcome;
  }

 private:
  uint32_t application_push_bytes() const {
    return static_cast<uint32_t>((program_.push.size() + 1) / 2 * 8);
  }
  bool pushes_address() const { return way_ && !way_->uniform_buffer; }
  uint32_t pointer_bytes() const { return way_->sites.memory_lanes == 0 ? 8 : 16; }
  uint32_t push_bytes() const {
    return application_push_bytes() + (pushes_address() ? pointer_bytes() : 0);
  }

  // Few small sets, so that workgroups wait for them.
  spirv::SiteOptions with_lane_sets(spirv::SiteOptions sites) {
    if (sites.memory_lanes == 0) return sites;
    sites.lane_sets = {.sets_log2 = 2, .entries_log2 = 14};
    lane_sets_ =
        Buffer(context_, sites.lane_sets.bytes(),
               VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT);
    lane_sets_.clear();
    sites.lane_sets.exist = true;
    pointers_[1] = lane_sets_.address();
    VkPhysicalDeviceProperties properties{};
    vkGetPhysicalDeviceProperties(context_.gpu(), &properties);
    sites.workgroup_bytes = properties.limits.maxComputeSharedMemorySize;
    return sites;
  }

  void add_stage(const ShaderStage& stage, const DeviceAbilities& abilities) {
    Part& part = parts_.emplace_back();
    part.stage = stage.stage;
    part.words = stage.code;
    for (size_t i = 0; i + 1 < stage.specialization.size(); i += 2) {
      part.specialize(stage.specialization[i], stage.specialization[i + 1]);
    }
    if (!way_) return;
    auto options = options_for(stage, *way_, application_push_bytes(), abilities);
    options.packed_draw_indices = packed_draw_indices_;
    options.sites = with_lane_sets(options.sites);
    auto result = spirv::add_block_counts(stage.code, options);
    if (!result) throw std::runtime_error("refused: " + result.error().message);
    const std::string message = validate(result->words, SPV_ENV_VULKAN_1_3);
    if (!message.empty()) throw std::runtime_error("not valid: " + message);
    part.words = std::move(result->words);
    part.plan = std::move(result->plan);
    part.first_counter = capacity_;
    part.spec_ids = result->record_spec_ids;
    capacity_ += probe::stage_capacity(part.plan.record_counters());
  }

  probe::StageCounters counters(const Part& part) const {
    return {part.first_counter, probe::shard_stride(capacity_)};
  }

  void place_counters(Part& part) const {
    if (!part.spec_ids) return;
    part.specialize(part.spec_ids->first_byte, probe::counter_bytes(counters(part).first_counter));
    part.specialize(part.spec_ids->stride_bytes, probe::counter_bytes(counters(part).stride));
  }

  bool uses_packed_draw_index() const { return way_ && way_->numbers == Numbers::Used; }

  // The records of the draws follow the record that the record pointer addresses.
  void make_records() {
    record_bytes_ = probe::record_bytes(capacity_, way_->shards_log2);
    const uint64_t records = uses_packed_draw_index() ? 1 + program_.draws.size() : 1;
    records_ =
        Buffer(context_, records * record_bytes_ + probe::kShardAlignment,
               VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT);
    records_.clear();
    const uint64_t base = records_.address();
    const uint64_t aligned = probe::align_up(base, probe::kShardAlignment);
    records_offset_ = static_cast<size_t>(aligned - base);
    pointers_[0] = probe::record_pointer(aligned, way_->shards_log2);
    if (uses_packed_draw_index()) pointers_[0] |= probe::kNumberedDraws;
    if (way_->uniform_buffer) address_set_.emplace(context_, pointers_);
  }

  void draw(VkCommandBuffer commands, size_t index) const {
    const Draw& draw = program_.draws[index];
    uint32_t first_instance = draw.first_instance;
    if (uses_packed_draw_index()) {
      const uint64_t number = (1 + index) * record_bytes_ / probe::kRecordAlignment;
      const uint64_t end = uint64_t{first_instance} + draw.instances;
      if (number >> probe::kPackedDrawIndexShift != 0 || end > 1 << probe::kPackedDrawIndexShift) {
        throw std::runtime_error("too many draws, or instances, for draw numbers");
      }
      first_instance |= static_cast<uint32_t>(number) << probe::kPackedDrawIndexShift;
    }
    vkCmdDraw(commands, draw.vertices, draw.instances, 0, first_instance);
  }

  void bind(VkCommandBuffer commands, VkPipelineBindPoint point) const {
    set_.bind(commands, layout_, point);
    if (!program_.push.empty()) {
      vkCmdPushConstants(commands, layout_, VK_SHADER_STAGE_ALL, 0,
                         static_cast<uint32_t>(program_.push.size() * 4), program_.push.data());
    }
    if (pushes_address()) {
      vkCmdPushConstants(commands, layout_, VK_SHADER_STAGE_ALL, application_push_bytes(),
                         pointer_bytes(), pointers_.data());
    }
    if (address_set_) {
      const VkDescriptorSet set = address_set_->set();
      vkCmdBindDescriptorSets(commands, point, layout_, kAddressSet, 1, &set, 0, nullptr);
    }
  }

  void dispatch() {
    const Pipeline pipeline = make_compute_pipeline(context_, {stages_[0], layout_});
    context_.run([&](VkCommandBuffer commands) {
      vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
      bind(commands, VK_PIPELINE_BIND_POINT_COMPUTE);
      vkCmdDispatch(commands, program_.groups[0], program_.groups[1], program_.groups[2]);
      full_barrier(commands);
    });
  }

  std::vector<uint32_t> draw(Outcome& outcome) {
    const RenderTarget target(context_, program_.target);
    GraphicsPipelineInfo info = program_.pipeline;
    info.stages = stages_;
    info.layout = layout_;
    info.samples = program_.target.samples;
    info.color_format = program_.target.color_format;
    info.depth_format = program_.target.depth_format;
    const Pipeline pipeline = make_graphics_pipeline(context_, info);
    const StatisticsQuery statistics(context_);
    const OcclusionQuery occlusion(context_);
    context_.run([&](VkCommandBuffer commands) {
      statistics.reset(commands);
      occlusion.reset(commands);
      statistics.begin(commands);
      target.begin(commands);
      occlusion.begin(commands);
      vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, pipeline);
      bind(commands, VK_PIPELINE_BIND_POINT_GRAPHICS);
      for (size_t i = 0; i < program_.draws.size(); ++i) draw(commands, i);
      occlusion.end(commands);
      target.end(commands);
      statistics.end(commands);
      full_barrier(commands);
    });
    if (statistics.available()) outcome.statistics = statistics.read();
    outcome.samples_passed = occlusion.read();
    return target.read();
  }

  std::vector<uint64_t> counters_of(const Part& part, size_t record) const {
    const size_t offset = records_offset_ + record * record_bytes_;
    std::vector<uint64_t> sums(part.plan.record_counters());
    if (!probe::sum_shards(records_.as<uint64_t>().subspan(offset / 8), counters(part),
                           way_->shards_log2, sums)) {
      throw std::runtime_error("the record is too short");
    }
    return sums;
  }

  static StageCounts stage_counts(const Part& part, std::span<const uint64_t> counters) {
    return {part.stage, derive(part.plan, counters), part.plan.verify(counters)};
  }

  void read_counts(Outcome& outcome) const {
    if (uses_packed_draw_index()) outcome.counts_by_draw.resize(program_.draws.size());
    for (const Part& part : parts_) {
      std::vector<uint64_t> all = counters_of(part, 0);
      if (uses_packed_draw_index() && std::ranges::any_of(all, [](uint64_t n) { return n != 0; })) {
        throw std::runtime_error("something was counted for no draw");
      }
      for (size_t i = 0; i < outcome.counts_by_draw.size(); ++i) {
        const std::vector<uint64_t> counters = counters_of(part, 1 + i);
        outcome.counts_by_draw[i].push_back(stage_counts(part, counters));
        std::ranges::transform(all, counters, all.begin(), std::plus());
      }
      outcome.counts.push_back(stage_counts(part, all));
    }
  }

  Context& context_;
  const Program& program_;
  const std::optional<Way>& way_;
  Buffer values_;
  StorageSet set_;
  std::vector<Part> parts_;
  std::vector<Stage> stages_;
  uint32_t capacity_ = 0;  // of all stages in a shard
  std::optional<spirv::PackedDrawIndices> packed_draw_indices_;
  Buffer lane_sets_;
  Buffer records_;
  uint64_t record_bytes_ = 0;
  size_t records_offset_ = 0;
  Pointers pointers_{};
  std::optional<AddressSet> address_set_;
  PipelineLayout layout_;
};

}  // namespace

DeviceAbilities abilities_of(const Context& context) {
  VkPhysicalDeviceVulkan12Features features12 = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
  VkPhysicalDeviceFeatures2 features = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &features12};
  vkGetPhysicalDeviceFeatures2(context.gpu(), &features);
  VkPhysicalDeviceDriverProperties driver = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES};
  VkPhysicalDeviceSubgroupProperties subgroup = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES, &driver};
  VkPhysicalDeviceProperties2 properties = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                            &subgroup};
  vkGetPhysicalDeviceProperties2(context.gpu(), &properties);
  DeviceAbilities abilities;
  abilities.int64 = features.features.shaderInt64;
  abilities.int64_atomics = features12.shaderBufferInt64Atomics;
  abilities.wide_subgroups = features12.shaderSubgroupExtendedTypes;
  abilities.sm_builtins = context.has_sm_builtins();
  abilities.max_push_bytes = properties.properties.limits.maxPushConstantsSize;
  abilities.hangs_on_discards = driver.driverID == VK_DRIVER_ID_NVIDIA_PROPRIETARY;
  if (driver.driverID == VK_DRIVER_ID_MESA_LLVMPIPE) {
    abilities.max_nested_conditionals = 80;
    const std::string_view info = driver.driverInfo;  // "Mesa 22.3.6 (LLVM 15.0.6)"
    abilities.masks_branches = info.starts_with("Mesa 22.") || info.starts_with("Mesa 23.") ||
                               info.starts_with("Mesa 24.");
    abilities.prefers_small_code = subgroup.subgroupSize <= spirv::kMaxLanesOfSmallCode;
  }
  if ((subgroup.supportedOperations & kSubgroupOperations) == kSubgroupOperations) {
    abilities.subgroup_stages = subgroup.supportedStages;
  }
  return abilities;
}

std::string to_string(const Way& way) {
  constexpr const char* kCountings[] = {"lane", "subgroup", "private"};
  constexpr const char* kNumbers[] = {"", " numbers", " unused-numbers"};
  return fmt::format(
      "{} {}{}{}{}{}{}{}{}{}{}{}{}{}{}", kCountings[static_cast<int>(way.counting)],
      way.placement == Placement::Every ? "every" : "minimal",
      way.shards_log2 ? fmt::format(" {} shards", 1 << way.shards_log2) : "",
      way.uniform_buffer ? " uniform" : "", way.narrow ? " narrow" : "",
      way.no_subgroups ? " no-subgroups" : "", way.sm_builtins ? " sm-builtins" : "",
      way.count_subgroups ? " count-subgroups" : "", way.count_branches ? " count-branches" : "",
      way.sites.any() ? " sites" : "",
      way.sites.memory_lanes ? fmt::format(" of {} lanes", way.sites.memory_lanes) : "",
      way.hangs_on_discards ? " hangs-on-discards" : "", way.small_code ? " small-code" : "",
      way.in_workgroups ? " in-workgroups" : "", kNumbers[static_cast<int>(way.numbers)]);
}

std::vector<Way> all_ways(const DeviceAbilities& abilities, VkShaderStageFlagBits stage) {
  const auto every = Placement::Every;
  const auto minimal = Placement::Minimal;
  std::vector<Way> ways = {
      {.placement = every, .counting = Counting::Lane},
      {.placement = minimal, .counting = Counting::Lane, .narrow = true},
      {.placement = every, .counting = Counting::Private, .no_subgroups = true},
      {.placement = minimal, .counting = Counting::Private, .shards_log2 = 8},
      {.placement = minimal, .counting = Counting::Private, .uniform_buffer = true, .narrow = true},
  };
  if (abilities.subgroup_stages & stage) {
    ways.push_back({.placement = every, .counting = Counting::Subgroup, .shards_log2 = 3});
    ways.push_back({.placement = minimal, .counting = Counting::Subgroup, .uniform_buffer = true});
    ways.push_back({.placement = every, .counting = Counting::Private, .count_subgroups = true});
    ways.push_back({.placement = minimal, .counting = Counting::Subgroup, .count_subgroups = true});
  }
  if (abilities.sm_builtins && stage == VK_SHADER_STAGE_VERTEX_BIT) {
    ways.push_back({.placement = minimal, .shards_log2 = 6, .sm_builtins = true});
  }
  if (stage == VK_SHADER_STAGE_VERTEX_BIT || stage == VK_SHADER_STAGE_FRAGMENT_BIT) {
    ways.push_back({.placement = minimal, .shards_log2 = 4, .numbers = Numbers::Used});
    ways.push_back({.placement = every, .uniform_buffer = true, .numbers = Numbers::Unused});
    if (abilities.prefers_small_code) {
      ways.push_back({.shards_log2 = 2, .small_code = true, .numbers = Numbers::Used});
    }
  }
  if (abilities.prefers_small_code) {
    ways.push_back({.shards_log2 = 2, .small_code = true});
    ways.push_back({.placement = every, .count_subgroups = true, .small_code = true});
    ways.push_back({.narrow = true, .no_subgroups = true, .small_code = true});
  }
  if (abilities.prefers_small_code && stage == VK_SHADER_STAGE_COMPUTE_BIT) {
    ways.push_back({.shards_log2 = 2, .small_code = true, .in_workgroups = true});
    ways.push_back({.placement = every,
                    .count_subgroups = true,
                    .count_branches = true,
                    .small_code = true,
                    .in_workgroups = true});
  }
  if (stage == VK_SHADER_STAGE_FRAGMENT_BIT) {
    ways.push_back({.shards_log2 = 1, .hangs_on_discards = true, .numbers = Numbers::Used});
  }
  return ways;
}

Outcome run_program(Context& context, const Program& program, const std::optional<Way>& way) {
  return Run(context, program, way).run();
}

}  // namespace tally::test
