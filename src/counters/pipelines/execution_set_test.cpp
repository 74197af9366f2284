#include "counters/pipelines/execution_set.h"

#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <set>

#include "counters/memory/device_memory.h"
#include "counters/pipelines/object_state.h"

namespace tally::counters {
namespace {

template <typename Handle>
Handle handle_of(uint64_t number) {
  Handle handle{};
  std::memcpy(&handle, &number, sizeof number);
  return handle;
}

// The driver's sets.
std::set<uint64_t> driver_sets;
uint64_t last_set = 0;

DeviceTable make_driver() {
  DeviceTable driver{};
  driver.CreateIndirectExecutionSetEXT = [](VkDevice, const VkIndirectExecutionSetCreateInfoEXT*,
                                            const VkAllocationCallbacks*,
                                            VkIndirectExecutionSetEXT* set) {
    driver_sets.insert(++last_set);
    *set = handle_of<VkIndirectExecutionSetEXT>(last_set);
    return VK_SUCCESS;
  };
  driver.DestroyIndirectExecutionSetEXT = [](VkDevice, VkIndirectExecutionSetEXT set,
                                             const VkAllocationCallbacks*) {
    EXPECT_EQ(driver_sets.erase(vk::handle_bits(set)), 1u);
  };
  driver.UpdateIndirectExecutionSetPipelineEXT = [](VkDevice, VkIndirectExecutionSetEXT set,
                                                    uint32_t,
                                                    const VkWriteIndirectExecutionSetPipelineEXT*) {
    EXPECT_TRUE(driver_sets.contains(vk::handle_bits(set)));
  };
  driver.DestroyPipeline = [](VkDevice, VkPipeline, const VkAllocationCallbacks*) {};
  return driver;
}

// A set of two pipelines that count.
class ExecutionSets : public testing::Test {
 protected:
  void SetUp() override {
    driver_sets.clear();
    for (const VkPipeline pipeline : pipelines_) add_pipeline(pipeline);
    const VkIndirectExecutionSetPipelineInfoEXT pipelines = {
        VK_STRUCTURE_TYPE_INDIRECT_EXECUTION_SET_PIPELINE_INFO_EXT, nullptr, pipelines_[0], 2};
    VkIndirectExecutionSetCreateInfoEXT info = {
        VK_STRUCTURE_TYPE_INDIRECT_EXECUTION_SET_CREATE_INFO_EXT};
    info.type = VK_INDIRECT_EXECUTION_SET_INFO_TYPE_PIPELINES_EXT;
    info.info.pPipelineInfo = &pipelines;
    ASSERT_EQ(create_execution_set(state_, words_, info, nullptr, handle_), VK_SUCCESS);
    set_ = state_.execution_sets.find(handle_);
    driver_sets.erase(vk::handle_bits(handle_));  // the application's own
  }
  void TearDown() override { destroy_set(); }

  void add_pipeline(VkPipeline handle) {
    auto pipeline = std::make_shared<Pipeline>(VkDevice{}, driver_);
    pipeline->handle = handle;
    pipeline->instrumented = true;
    auto program = std::make_shared<Program>();
    program->own_ranges = true;
    pipeline->keep(Variant::Blocks,
                   {handle_of<VkPipeline>(vk::handle_bits(handle) + 100), program, {}});
    state_.pipelines.insert(handle, pipeline);
  }
  // As the application does.
  void destroy_set() {
    set_.reset();
    state_.execution_sets.take(handle_);
  }
  void update(uint32_t index) {
    const VkWriteIndirectExecutionSetPipelineEXT write = {
        VK_STRUCTURE_TYPE_WRITE_INDIRECT_EXECUTION_SET_PIPELINE_EXT, nullptr, index,
        pipelines_[index]};
    set_->update(std::span(&write, 1));
  }

  const DeviceTable driver_ = make_driver();
  const PhysicalDevice gpu_{};
  const Options options_{};
  Messages messages_;
  const DeviceContext device_{{}, driver_, gpu_, options_, messages_, nullptr};
  const MemoryContext memory_{.next = &driver_};
  WordPool words_{memory_};
  ObjectState state_{device_, {}, {}, {}};
  const std::array<VkPipeline, 2> pipelines_{handle_of<VkPipeline>(1), handle_of<VkPipeline>(2)};
  VkIndirectExecutionSetEXT handle_{};
  std::shared_ptr<ExecutionSet> set_;
};

TEST_F(ExecutionSets, are_copied_for_a_variant_once) {
  EXPECT_TRUE(driver_sets.empty());
  const auto first = set_->record(Variant::Blocks);
  const auto second = set_->record(Variant::Blocks);
  ASSERT_TRUE(first.copy);
  EXPECT_EQ(first.copy, second.copy);
  EXPECT_EQ(driver_sets.size(), 1u);
}

TEST_F(ExecutionSets, stay_as_they_are_for_a_recording_when_they_are_updated) {
  const auto before = set_->record(Variant::Blocks);
  update(1);
  const auto after = set_->record(Variant::Blocks);
  EXPECT_NE(before.copy, after.copy);
  EXPECT_NE(before.program, after.program);
  EXPECT_EQ(driver_sets.size(), 2u);
}

TEST_F(ExecutionSets, that_no_recording_keeps_are_updated_in_place) {
  const VkIndirectExecutionSetEXT before = set_->record(Variant::Blocks).copy->handle();
  update(1);
  EXPECT_EQ(set_->record(Variant::Blocks).copy->handle(), before);
  EXPECT_EQ(driver_sets.size(), 1u);
}

// As a program does that records two frames ahead.
TEST_F(ExecutionSets, of_earlier_recordings_go_with_them) {
  std::array<ExecutionSet::Recorded, 2> frames;
  for (uint32_t frame = 0; frame < 100; ++frame) {
    frames[frame % 2] = set_->record(Variant::Blocks);
    update(frame % 2);
    EXPECT_LE(driver_sets.size(), 3u) << frame;
  }
  frames = {};
  EXPECT_EQ(driver_sets.size(), 1u);
}

TEST_F(ExecutionSets, that_a_recording_keeps_outlive_that_of_the_application) {
  auto recorded = std::make_optional(set_->record(Variant::Blocks));
  destroy_set();
  EXPECT_EQ(driver_sets.size(), 1u);
  recorded.reset();
  EXPECT_TRUE(driver_sets.empty());
}

}  // namespace
}  // namespace tally::counters
