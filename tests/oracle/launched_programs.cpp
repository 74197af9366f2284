// Dispatches random programs (generator.h) again and again, for launches_test: with other contents
// of memory each time, with images and buffers of several sizes (sized_resources.h), and often with
// the inputs of an earlier dispatch. A seed always records the same commands. Usage:
// launched_programs SEED COUNT
#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "oracle/generator.h"
#include "oracle/sized_resources.h"
#include "support/environment.h"
#include "support/pipeline.h"
#include "support/spirv.h"

namespace tally::test {
namespace {

constexpr uint32_t kOwnWords = 1024, kReadWords = 256, kBufferWords = 2048;
constexpr VkDeviceSize kUniformBytes = 64, kUniformStride = 256;
constexpr uint32_t kSubmissions = 12;

using Words = std::array<uint32_t, 10>;  // the push constants of launch_parts.cpp
using Groups = std::array<uint32_t, 3>;

class Launched {
 public:
  explicit Launched(Context& context)
      : context_(context),
        values_(context, kBufferWords * sizeof(uint32_t),
                VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT),
        uniforms_(context, 2 * kUniformStride,
                  VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT),
        groups_(context, sizeof(Groups), VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT),
        sized_(context, [this](uint32_t below) { return pick(below); }) {
    const VkDescriptorSetLayoutBinding bindings[] = {
        {0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr},
        {1, VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr}};
    for (const uint32_t words : {kOwnWords + kReadWords, kBufferWords}) {
      DescriptorSet& set = sets_.emplace_back(context, bindings);
      const VkDescriptorBufferInfo buffers[] = {{values_, 0, words * sizeof(uint32_t)},
                                                {uniforms_, 0, kUniformBytes}};
      set.write(0, &buffers[0]);
      set.write(1, &buffers[1]);
    }
    for (const bool pushed : {false, true}) {
      const VkDescriptorSetLayout layouts[] = {sets_[0].layout(),
                                               sized_.layout(pushed && sized_.can_push())};
      layouts_[pushed] =
          make_pipeline_layout(context, layouts, sizeof(Words), VK_SHADER_STAGE_COMPUTE_BIT);
    }
    sized_.make_push_template(layouts_[true]);
    other_layout_ = make_pipeline_layout(context, {}, sizeof(Words), VK_SHADER_STAGE_FRAGMENT_BIT);
    name_ = context.function<PFN_vkSetDebugUtilsObjectNameEXT>("vkSetDebugUtilsObjectNameEXT");
  }

  void run(uint64_t seed) {
    random_.seed(seed);
    program_ = random_program(seed, ProgramKind::Launch);
    std::vector<uint32_t> code = assemble(program_.text, SPV_ENV_UNIVERSAL_1_3);
    // SPIRV-Tools rejects an exit from a switch in a few programs. Others take their places, and
    // have their own names in the capture.
    constexpr uint64_t kOthers = 1'000'000;
    if (!validate(code).empty()) {
      seed += kOthers;
      program_ = random_program(seed, ProgramKind::Launch);
      code = assemble(program_.text, SPV_ENV_UNIVERSAL_1_3);
    }
    if (const std::string why = validate(code); !why.empty()) throw std::runtime_error(why);
    pushes_ = {sized_.can_push() && pick(3) == 0, sized_.can_push() && pick(2) == 0};
    make_pipelines(code, seed);
    only_sizes_ = pick(2) == 0;
    usual_ = some_words();
    usual_groups_ = some_groups();
    values_.clear();
    for (uint32_t i = 0; i < kSubmissions; ++i) {
      change_memory();
      if (pick(6) == 0) make_pipelines(code, seed);
      submit();
    }
    pipelines_ = {};
  }

 private:
  uint32_t pick(uint32_t below) { return static_cast<uint32_t>(random_() % below); }

  void make_pipelines(std::span<const uint32_t> code, uint64_t seed) {
    for (uint32_t i = 0; i < 2; ++i) {
      const uint32_t data[] = {program_.specialization[1] + i, program_.specialization[3] + 2 * i};
      const VkSpecializationMapEntry entries[] = {{10, 0, 4}, {11, 4, 4}};
      const VkSpecializationInfo specialization{2, entries, sizeof data, data};
      pipelines_[i] = make_compute_pipeline(
          context_, {.shader = {.code = code, .specialization = &specialization},
                     .layout = layouts_[pushes_[i]]});
      const std::string name = std::to_string(seed);
      const VkDebugUtilsObjectNameInfoEXT info{VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT,
                                               nullptr, VK_OBJECT_TYPE_PIPELINE,
                                               handle_bits(pipelines_[i]), name.c_str()};
      check(name_(context_.device(), &info));
    }
  }

  static uint64_t handle_bits(VkPipeline pipeline) { return reinterpret_cast<uint64_t>(pipeline); }

  // The host writes this between submissions.
  void change_memory() {
    const auto values = values_.as<uint32_t>();
    for (uint32_t i = kOwnWords; i < kBufferWords; ++i) values[i] = pick(~0u);
    if (pick(2)) {
      for (uint32_t i = 0; i < kOwnWords; ++i) values[i] = pick(~0u);
    }
    for (uint32_t& word : uniforms_.as<uint32_t>()) word = pick(~0u);
    const Groups groups = some_groups();
    std::memcpy(groups_.as<uint32_t>().data(), groups.data(), sizeof groups);
  }

  Words some_words() {
    return {pick(3),  pick(50), pick(2) * 7,
            pick(4),  pick(9),  pick(2) * 3,
            pick(60), pick(5),  std::bit_cast<uint32_t>(0.5f + float(pick(40))),
            pick(9)};
  }
  Groups some_groups() { return {1 + pick(3), 1 + pick(2), 1}; }

  // Mostly the usual ones.
  Words next_words() {
    Words words = usual_;
    const Words others = some_words();
    const uint32_t word = pick(30);
    if (!only_sizes_ && word < words.size()) words[word] = others[word];
    return words;
  }
  Groups next_groups() { return only_sizes_ || pick(4) ? usual_groups_ : some_groups(); }

  // Pushes all words, or only those that change.
  void push(VkCommandBuffer commands, VkPipelineLayout layout, std::optional<Words>& pushed) {
    const Words words = next_words();
    const auto part = [&](uint32_t first, uint32_t count) {
      vkCmdPushConstants(commands, layout, VK_SHADER_STAGE_COMPUTE_BIT, 4 * first, 4 * count,
                         &words[first]);
    };
    if (!pushed || pick(3) == 0) {
      const uint32_t first = pick(11);
      if (first != 0) part(0, first);
      if (first != 10) part(first, 10 - first);
    } else {
      for (uint32_t i = 0; i < 10; ++i) {
        if (words[i] != (*pushed)[i]) part(i, 1);
      }
    }
    pushed = words;
  }

  void dispatch(VkCommandBuffer commands, std::optional<Words>& pushed) {
    const bool second = pick(only_sizes_ ? 8 : 4) == 0;
    const bool pushes = pushes_[second];
    const VkPipelineLayout layout = layouts_[pushes];
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipelines_[second]);
    const VkDescriptorSet set = sets_[pick(2)].set();
    const uint32_t offset = pick(2) * kUniformStride;
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &set, 1,
                            &offset);
    // Otherwise the last one stays.
    if (bound_ != pushes || pick(4) != 0) sized_.bind(commands, layout, pushes);
    bound_ = pushes;
    push(commands, layout, pushed);
    if (pick(12) == 0) {  // drivers may take these for those of compute shaders
      const Words others = some_words();
      vkCmdPushConstants(commands, other_layout_, VK_SHADER_STAGE_FRAGMENT_BIT, 0, sizeof others,
                         others.data());
      pushed.reset();
    }
    const Groups groups = next_groups();
    switch (pick(only_sizes_ ? 30 : 10)) {
      case 0:
        vkCmdDispatchIndirect(commands, groups_, 0);
        break;
      case 1:
      case 2:
        vkCmdDispatchBase(commands, pick(3), pick(2), 0, groups[0], groups[1], 1);
        break;
      default:
        vkCmdDispatch(commands, groups[0], groups[1], 1);
    }
    full_barrier(commands);
  }

  void begin_commands() {
    bound_.reset();
    sized_.begin_commands();
  }

  // A write of the device to memory that programs read.
  void update(VkCommandBuffer commands) {
    std::vector<uint32_t> words(kReadWords);
    for (uint32_t& word : words) word = pick(~0u);
    vkCmdUpdateBuffer(commands, values_, kOwnWords * sizeof(uint32_t),
                      kReadWords * sizeof(uint32_t), words.data());
    vkCmdUpdateBuffer(commands, uniforms_, 0, kUniformBytes, words.data());
    full_barrier(commands);
  }

  VkCommandBuffer record(VkCommandBufferUsageFlags usage) {
    // The context has one pool, and a secondary is recorded before its primary.
    VkCommandBuffer secondary = VK_NULL_HANDLE;
    if (pick(3) == 0) {
      secondary = context_.begin_secondary({}, usage);
      begin_commands();
      std::optional<Words> pushed;
      for (uint32_t i = 1 + pick(2); i > 0; --i) dispatch(secondary, pushed);
      check(vkEndCommandBuffer(secondary));
      used_.push_back(secondary);
    }
    const VkCommandBuffer commands = context_.begin_commands(usage);
    used_.push_back(commands);
    begin_commands();
    std::optional<Words> pushed;
    full_barrier(commands);
    for (uint32_t i = 1 + pick(3); i > 0; --i) {
      dispatch(commands, pushed);
      if (pick(3) == 0) update(commands);
    }
    if (secondary) {
      vkCmdExecuteCommands(commands, 1, &secondary);
      begin_commands();  // nothing is bound
      pushed.reset();
      if (pick(2)) dispatch(commands, pushed);
    }
    check(vkEndCommandBuffer(commands));
    return commands;
  }

  void submit() {
    switch (pick(4)) {
      case 0: {  // again, with other memory
        const VkCommandBuffer commands = record(0);
        context_.submit_and_wait(commands);
        change_memory();
        context_.submit_and_wait(commands);
        break;
      }
      case 1: {  // twice in one submission
        const VkCommandBuffer commands = record(VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT);
        const VkCommandBuffer both[] = {commands, commands};
        context_.submit_and_wait(both);
        break;
      }
      default:
        context_.submit_and_wait(record(VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT));
    }
    vkFreeCommandBuffers(context_.device(), context_.command_pool(),
                         static_cast<uint32_t>(used_.size()), used_.data());
    used_.clear();
    sized_.end_submission();
  }

  Context& context_;
  std::mt19937_64 random_;
  Buffer values_, uniforms_, groups_;
  SizedResources sized_;
  std::vector<DescriptorSet> sets_;
  std::array<PipelineLayout, 2> layouts_;  // the second one's set 1 is pushed
  PipelineLayout other_layout_;
  PFN_vkSetDebugUtilsObjectNameEXT name_ = nullptr;
  std::array<bool, 2> pushes_{};  // by pipeline
  std::optional<bool> bound_;     // the command buffer has set 1; true: it was pushed
  RandomProgram program_;
  std::array<Pipeline, 2> pipelines_;
  bool only_sizes_ = false;  // dispatches mostly differ in nothing else
  Words usual_{};
  Groups usual_groups_{};
  std::vector<VkCommandBuffer> used_;
};

}  // namespace
}  // namespace tally::test

int main(int argc, char** argv) {
  if (argc != 3) return 99;
  const uint64_t seed = std::strtoull(argv[1], nullptr, 10);
  const uint64_t count = std::strtoull(argv[2], nullptr, 10);
  tally::test::set_default_environment();
  try {
    const tally::test::Context device;
    tally::test::Context context(
        {.device_extensions = tally::test::SizedResources::extensions_of(device)});
    tally::test::Launched launched(context);
    for (uint64_t i = 0; i < count; ++i) launched.run(seed + i);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
  return 0;
}
