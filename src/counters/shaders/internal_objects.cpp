#include "counters/shaders/internal_objects.h"

#include <tally/vulkan_newer.h>
#include <tally/vulkan_newest.h>
#include <spirv/unified1/spirv.hpp11>

#include <array>
#include <vector>

#include "catalogue/catalogue.h"
#include "query_copy.comp.h"
#include "query_feedback.comp.h"
#include "query_finish.comp.h"
#include "query_indirect.comp.h"
#include "query_records.comp.h"
#include "query_small_records.comp.h"
#include "query_timestamp.comp.h"
#include "region_draws.comp.h"
#include "region_links.comp.h"
#include "region_values.comp.h"
#include "vk/own_call.h"

namespace tally::counters {
namespace {

constexpr uint32_t kOffsetInSource = 96;
constexpr size_t kHeaderWords = 5;

// The code with the push constant at this device's offset, which cannot be a specialization
// constant.
std::vector<uint32_t> with_offset(std::span<const uint32_t> code, uint32_t offset) {
  std::vector<uint32_t> words(code.begin(), code.end());
  for (size_t i = kHeaderWords; i < words.size(); i += std::max(1u, words[i] >> 16)) {
    const bool decorates_member =
        (words[i] & 0xffff) == static_cast<uint32_t>(spv::Op::OpMemberDecorate);
    if (decorates_member && words[i + 3] == static_cast<uint32_t>(spv::Decoration::Offset) &&
        words[i + 4] == kOffsetInSource) {
      words[i + 4] = offset;
    }
  }
  return words;
}

}  // namespace

InternalPipelines::~InternalPipelines() {
  if (layout_ != VK_NULL_HANDLE) next_.DestroyPipelineLayout(device_, layout_, nullptr);
}

void InternalPipelines::destroy(const InternalPipeline& pipeline) const {
  for (const VkPipeline one : {pipeline.sets, pipeline.heaps}) {
    if (one != VK_NULL_HANDLE) next_.DestroyPipeline(device_, one, nullptr);
  }
}

VkResult InternalPipelines::make_layout() {
  if (layout_ != VK_NULL_HANDLE) return VK_SUCCESS;
  const VkPushConstantRange range{VK_SHADER_STAGE_COMPUTE_BIT, offsets_.constants,
                                  sizeof(uint64_t)};
  const VkPipelineLayoutCreateInfo info{.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                        .pushConstantRangeCount = 1,
                                        .pPushConstantRanges = &range};
  return vk::own("vkCreatePipelineLayout",
                 next_.CreatePipelineLayout(device_, &info, nullptr, &layout_), layout_);
}

VkResult InternalPipelines::make(std::span<const uint32_t> code,
                                 std::span<const uint32_t> constants, InternalPipeline& pipeline) {
  VkResult result = make_one(code, constants, false, pipeline.sets);
  if (result == VK_SUCCESS && offsets_.heaps) {
    result = make_one(code, constants, true, pipeline.heaps);
  }
  return result;
}

VkResult InternalPipelines::make_one(std::span<const uint32_t> code,
                                     std::span<const uint32_t> constants, bool heaps,
                                     VkPipeline& pipeline) {
  if (pipeline != VK_NULL_HANDLE) return VK_SUCCESS;
  if (!heaps) TALLY_TRY(make_layout());
  const std::vector<uint32_t> words = with_offset(code, heaps ? offsets_.data : offsets_.constants);
  const VkShaderModuleCreateInfo module_info{.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                             .codeSize = words.size() * sizeof(uint32_t),
                                             .pCode = words.data()};
  VkShaderModule module = VK_NULL_HANDLE;
  TALLY_TRY(vk::own("vkCreateShaderModule",
                    next_.CreateShaderModule(device_, &module_info, nullptr, &module), module));
  std::vector<VkSpecializationMapEntry> entries;
  for (uint32_t i = 0; i < constants.size(); ++i) entries.push_back({i, i * 4, 4});
  const VkSpecializationInfo specialization{static_cast<uint32_t>(entries.size()), entries.data(),
                                            constants.size_bytes(), constants.data()};
  const VkPipelineCreateFlags2CreateInfoKHR flags{
      .sType = VK_STRUCTURE_TYPE_PIPELINE_CREATE_FLAGS_2_CREATE_INFO_KHR,
      .flags = VK_PIPELINE_CREATE_2_DESCRIPTOR_HEAP_BIT_EXT};
  const VkComputePipelineCreateInfo info{
      .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
      .pNext = heaps ? &flags : nullptr,
      .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                .module = module,
                .pName = "main",
                .pSpecializationInfo = &specialization},
      .layout = heaps ? VK_NULL_HANDLE : layout_};
  const VkResult result =
      vk::own("vkCreateComputePipelines",
              next_.CreateComputePipelines(device_, VK_NULL_HANDLE, 1, &info, nullptr, &pipeline),
              pipeline);
  next_.DestroyShaderModule(device_, module, nullptr);
  return result;
}

void InternalPipelines::use(const InternalCommands& commands, const InternalPipeline& pipeline,
                            uint64_t address) const {
  const bool heaps = commands.uses_heaps && offsets_.heaps;
  next_.CmdBindPipeline(commands.handle, VK_PIPELINE_BIND_POINT_COMPUTE,
                        heaps ? pipeline.heaps : pipeline.sets);
  if (!heaps) {
    next_.CmdPushConstants(commands.handle, layout_, VK_SHADER_STAGE_COMPUTE_BIT,
                           offsets_.constants, sizeof address, &address);
    return;
  }
  const VkPushDataInfoEXT data{
      VK_STRUCTURE_TYPE_PUSH_DATA_INFO_EXT, nullptr, offsets_.data, {&address, sizeof address}};
  next_.CmdPushDataEXT(commands.handle, &data);
}

namespace {

template <typename... Operands>
constexpr auto instruction(spv::Op op, Operands... operands) {
  return std::array{static_cast<uint32_t>(op) | uint32_t{1 + sizeof...(operands)} << 16,
                    static_cast<uint32_t>(operands)...};
}

// An entry point that returns.
std::vector<uint32_t> make_empty_shader() {
  enum : uint32_t { kMain = 1, kVoid, kFunction, kLabel, kBound };
  constexpr uint32_t kName = 'm' | 'a' << 8 | 'i' << 16 | 'n' << 24;
  std::vector<uint32_t> words = {spv::MagicNumber, 0x10000, 0, kBound, 0};
  const auto add = [&](const auto& added) {
    words.insert(words.end(), added.begin(), added.end());
  };
  using enum spv::Op;
  add(instruction(OpCapability, spv::Capability::Shader));
  add(instruction(OpMemoryModel, spv::AddressingModel::Logical, spv::MemoryModel::GLSL450));
  add(instruction(OpEntryPoint, spv::ExecutionModel::GLCompute, kMain, kName, 0));
  add(instruction(OpExecutionMode, kMain, spv::ExecutionMode::LocalSize, 1, 1, 1));
  add(instruction(OpTypeVoid, kVoid));
  add(instruction(OpTypeFunction, kFunction, kVoid));
  add(instruction(OpFunction, kVoid, kMain, spv::FunctionControlMask::MaskNone, kFunction));
  add(instruction(OpLabel, kLabel));
  add(instruction(OpReturn));
  add(instruction(OpFunctionEnd));
  return words;
}

}  // namespace

VkResult StandIns::make(VkPipeline& pipeline) {
  const std::lock_guard lock(mutex_);
  InternalPipeline made;
  TALLY_TRY(programs_.make(make_empty_shader(), {}, made));
  pipeline = made.sets;
  return VK_SUCCESS;
}

VkResult ClockProgram::make(const ClockReading& reading) {
  programs_.destroy(pipeline_);
  pipeline_ = {};
  const auto low = [](uint64_t number) { return static_cast<uint32_t>(number); };
  const auto high = [](uint64_t number) { return static_cast<uint32_t>(number >> 32); };
  return programs_.make(query_timestamp_comp,
                        std::array{reading.scale.whole, reading.scale.fraction, low(reading.start),
                                   high(reading.start), low(reading.lately), high(reading.lately)},
                        pipeline_);
}

void ClockProgram::write(const InternalCommands& commands, VkDeviceAddress parameters) const {
  programs_.use(commands, pipeline_, parameters);
  next_.CmdDispatch(commands.handle, 1, 1, 1);
}

namespace {

constexpr uint32_t kMaxGroups = 65535;  // the same in glsl/query.glsl
constexpr uint32_t kCopyLanes = 64;

}  // namespace

QueryPrograms::~QueryPrograms() {
  programs_.destroy(records_);
  programs_.destroy(small_records_);
  programs_.destroy(finish_);
  programs_.destroy(indirects_);
  programs_.destroy(copy_);
  programs_.destroy(feedback_);
}

VkResult QueryPrograms::prepare() {
  const std::lock_guard lock(mutex_);
  VkResult result = programs_.make(query_records_comp, {&lanes_, 1}, records_);
  if (result == VK_SUCCESS) {
    result = programs_.make(query_small_records_comp, {&lanes_, 1}, small_records_);
  }
  if (result == VK_SUCCESS) result = programs_.make(query_finish_comp, {&lanes_, 1}, finish_);
  if (result == VK_SUCCESS) result = programs_.make(query_indirect_comp, {}, indirects_);
  if (result == VK_SUCCESS) result = programs_.make(query_copy_comp, {}, copy_);
  if (result == VK_SUCCESS) result = programs_.make(query_feedback_comp, {}, feedback_);
  return result;
}

void QueryPrograms::run(const InternalCommands& commands, const InternalPipeline& program,
                        VkDeviceAddress address, uint32_t groups) const {
  programs_.use(commands, program, address);
  next_.CmdDispatch(commands.handle, std::min(groups, kMaxGroups),
                    (groups + kMaxGroups - 1) / kMaxGroups, 1);
}

void QueryPrograms::add_records(const InternalCommands& commands, VkDeviceAddress batch,
                                const probe::QueryBatch& header) const {
  if (header.records != 0) run(commands, records_, batch, header.records);
  if (header.small_records != 0) {
    run(commands, small_records_, batch, groups_for(header.small_records));
  }
}

void QueryPrograms::add_indirects(const InternalCommands& commands, VkDeviceAddress batch,
                                  uint32_t count) const {
  run(commands, indirects_, batch, count);
}

void QueryPrograms::follow_feedback(const InternalCommands& commands, VkDeviceAddress spans) const {
  run(commands, feedback_, spans, 1);
}

void QueryPrograms::finish(const InternalCommands& commands, VkDeviceAddress batch,
                           uint32_t count) const {
  run(commands, finish_, batch, groups_for(count));
}

void QueryPrograms::copy(const InternalCommands& commands, VkDeviceAddress parameters,
                         uint32_t count) const {
  run(commands, copy_, parameters, (count + kCopyLanes - 1) / kCopyLanes);
}

namespace {

uint32_t accumulator_of(catalogue::Number number) {
  const auto all = catalogue::counters_of(catalogue::Scope::Region);
  return static_cast<uint32_t>(std::ranges::find(all, number, &catalogue::Counter::number) -
                               all.begin());
}

}  // namespace

RegionPrograms::~RegionPrograms() {
  programs_.destroy(values_);
  programs_.destroy(draws_);
  programs_.destroy(links_);
}

VkResult RegionPrograms::prepare() {
  const std::lock_guard lock(mutex_);
  const uint32_t accumulators[] = {accumulator_of(catalogue::Number::FragmentWarps),
                                   accumulator_of(catalogue::Number::FragmentInvocations),
                                   accumulator_of(catalogue::Number::FragmentPrimitives)};
  TALLY_TRY(programs_.make(region_values_comp, accumulators, values_));
  TALLY_TRY(programs_.make(region_draws_comp, std::span(accumulators).first(2), draws_));
  return programs_.make(region_links_comp, {}, links_);
}

void RegionPrograms::write_values(const InternalCommands& commands, VkDeviceAddress block,
                                  uint32_t columns, uint32_t rows, uint32_t layers) const {
  run(commands, values_, block, columns, rows, layers);
}

void RegionPrograms::add_draws(const InternalCommands& commands, VkDeviceAddress list,
                               uint32_t columns, uint32_t rows, uint32_t layers) const {
  run(commands, draws_, list, columns, rows, layers);
}

void RegionPrograms::run(const InternalCommands& commands, const InternalPipeline& program,
                         VkDeviceAddress address, uint32_t columns, uint32_t rows,
                         uint32_t layers) const {
  programs_.use(commands, program, address);
  next_.CmdDispatch(commands.handle, (columns + kTile - 1) / kTile, (rows + kTile - 1) / kTile,
                    layers);
}

void RegionPrograms::link(const InternalCommands& commands, VkDeviceAddress list,
                          bool unlink) const {
  programs_.use(commands, links_, list | (unlink ? 1 : 0));
  next_.CmdDispatch(commands.handle, 1, 1, 1);
}

OwnQueries::~OwnQueries() {
  for (const VkQueryPool pool : all_) next_.DestroyQueryPool(device_, pool, nullptr);
}

VkResult OwnQueries::acquire(VkQueryPool& pool) {
  const std::lock_guard lock(mutex_);
  if (!free_.empty()) {
    pool = free_.back();
    free_.pop_back();
    return VK_SUCCESS;
  }
  all_.reserve(all_.size() + 1);
  free_.reserve(all_.size() + 1);  // so that release() does not allocate
  const VkQueryPoolCreateInfo info{.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                   .queryType = type_,
                                   .queryCount = kQueries,
                                   .pipelineStatistics = statistics_};
  TALLY_TRY(
      vk::own("vkCreateQueryPool", next_.CreateQueryPool(device_, &info, nullptr, &pool), pool));
  next_.ResetQueryPool(device_, pool, 0, kQueries);
  all_.push_back(pool);
  return VK_SUCCESS;
}

void OwnQueries::release(const Pool& pool) {
  next_.ResetQueryPool(device_, pool.handle, 0, pool.used);
  const std::lock_guard lock(mutex_);
  free_.push_back(pool.handle);
}

}  // namespace tally::counters
