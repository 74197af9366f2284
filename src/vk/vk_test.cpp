#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <tally/vulkan_arm.h>
#include <tally/vulkan_newer.h>
#include <tally/vulkan_newest.h>
#include <vulkan/vk_layer.h>

#include "vk/chain.h"
#include "vk/handles.h"
#include "vk/layer.h"
#include "vk/own_call.h"
#include "vk/queue_timeline.h"

namespace tally::vk {
namespace {

constexpr auto kUnknownType = static_cast<VkStructureType>(1999999000);

struct UnknownStruct {
  VkStructureType sType;
  const void* pNext;
  uint32_t payload[6];
};

TEST(Hiding, switches_off_the_features_of_hidden_extensions_alone) {
  VkPhysicalDeviceSubpassShadingFeaturesHUAWEI hidden{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBPASS_SHADING_FEATURES_HUAWEI, nullptr, VK_TRUE};
  VkPhysicalDeviceMultiviewFeatures kept{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MULTIVIEW_FEATURES,
                                         &hidden, VK_TRUE, VK_TRUE, VK_TRUE};
  VkPhysicalDeviceFeatures2 features{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &kept};
  features.features.geometryShader = VK_TRUE;
  hide_features(features);
  EXPECT_FALSE(hidden.subpassShading);
  EXPECT_TRUE(kept.multiview && kept.multiviewGeometryShader && kept.multiviewTessellationShader);
  EXPECT_TRUE(features.features.geometryShader);
}

// vkGetPhysicalDeviceFeatures2 writes as many features as the struct has.
TEST(Hiding, knows_the_number_of_features_of_each_struct) {
  for (const catalogue::HiddenExtension& extension : catalogue::hidden_extensions()) {
    for (const catalogue::HiddenFeatures& features : extension.features) {
      const size_t size = struct_size(static_cast<VkStructureType>(features.structure_type));
      if (features.count == 0 || size == 0) continue;  // newer than the installed headers
      const size_t last = 2 * sizeof(void*) + features.count * sizeof(VkBool32);
      EXPECT_EQ(size, (last + alignof(void*) - 1) / alignof(void*) * alignof(void*))
          << extension.name;
    }
  }
}

// Handles as allocators give them: at equal distances, and many more than have a place of their
// own.
TEST(HandleIndex, finds_what_was_inserted_and_nothing_else) {
  struct State {
    int number = 0;
  };
  static HandleIndex<VkCommandBuffer, State> index;
  const auto find = [](VkCommandBuffer handle) {
    State* const near = index.find_near(handle);
    return near ? near : index.find_far(handle);
  };
  constexpr size_t kCount = 20'000;
  std::vector<State> states(kCount);
  const auto handle_of = [](size_t i, size_t distance) {
    return reinterpret_cast<VkCommandBuffer>((i + 1) * distance);
  };
  for (const size_t distance : {16, 4096, 1'000'016}) {
    for (size_t i = 0; i < kCount; ++i) index.insert(handle_of(i, distance), &states[i]);
    size_t near = 0;
    for (size_t i = 0; i < kCount; ++i) {
      ASSERT_EQ(find(handle_of(i, distance)), &states[i]);
      near += index.find_near(handle_of(i, distance)) ? 1 : 0;
    }
    EXPECT_GT(near, 500u);
    index.insert(handle_of(7, distance), &states[0]);  // the driver has reused the handle
    EXPECT_EQ(find(handle_of(7, distance)), &states[0]);
    for (size_t i = 0; i < kCount; i += 2) index.erase(handle_of(i, distance));
    for (size_t i = 0; i < kCount; ++i) {
      ASSERT_EQ(find(handle_of(i, distance)) != nullptr, i % 2 == 1) << i;
    }
    for (size_t i = 1; i < kCount; i += 2) index.erase(handle_of(i, distance));
    for (size_t i = 0; i < kCount; ++i) ASSERT_EQ(find(handle_of(i, distance)), nullptr);
  }
}

// Each thread looks up its own while others come and go.
TEST(HandleIndex, finds_while_others_are_inserted_and_erased) {
  static HandleIndex<VkCommandBuffer, int> index;
  constexpr size_t kThreads = 4, kRounds = 2'000, kLive = 40;
  std::vector<std::thread> threads;
  std::atomic<uint64_t> wrong = 0;
  for (size_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&wrong, thread] {
      std::vector<int> states(kLive);
      for (size_t round = 0; round < kRounds; ++round) {
        const auto handle_of = [&](size_t i) {
          return reinterpret_cast<VkCommandBuffer>(
              (((round % 7) * kLive + i) * kThreads + thread + 1) * 512);
        };
        for (size_t i = 0; i < kLive; ++i) index.insert(handle_of(i), &states[i]);
        for (size_t i = 0; i < kLive; ++i) {
          const int* const near = index.find_near(handle_of(i));
          if ((near ? near : index.find_far(handle_of(i))) != &states[i]) ++wrong;
        }
        for (size_t i = 0; i < kLive; ++i) index.erase(handle_of(i));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0u);
}

TEST(ChainCopy, edits_do_not_change_the_original) {
  VkPhysicalDeviceShaderInstrumentationFeaturesARM ours{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INSTRUMENTATION_FEATURES_ARM, nullptr, VK_TRUE};
  const VkPhysicalDeviceVulkan12Features core{
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES, .pNext = &ours};
  ChainCopy copy(&core);
  EXPECT_TRUE(copy.remove(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INSTRUMENTATION_FEATURES_ARM));
  EXPECT_FALSE(copy.remove(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INSTRUMENTATION_FEATURES_ARM));
  auto* edited = copy.find<VkPhysicalDeviceVulkan12Features>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES);
  ASSERT_NE(edited, nullptr);
  EXPECT_EQ(edited->pNext, nullptr);
  edited->bufferDeviceAddress = VK_TRUE;
  EXPECT_EQ(core.bufferDeviceAddress, VK_FALSE);
  EXPECT_EQ(core.pNext, &ours);
}

TEST(ChainCopy, an_unknown_struct_is_passed_on_uncopied) {
  VkPhysicalDeviceVulkan13Features last{.sType =
                                            VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES};
  UnknownStruct unknown{kUnknownType, &last, {1, 2, 3, 4, 5, 6}};
  const VkPhysicalDeviceVulkan12Features core{
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES, .pNext = &unknown};
  ChainCopy copy(&core);
  ASSERT_NE(copy.find<VkPhysicalDeviceVulkan12Features>(core.sType), nullptr);
  EXPECT_FALSE(copy.remove(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MULTIVIEW_FEATURES));
  EXPECT_NE(copy.head(), &core);
  EXPECT_EQ(find_in_chain<UnknownStruct>(copy.head(), kUnknownType), &unknown);
  EXPECT_EQ(ChainCopy(&unknown).head(), &unknown);
}

TEST(ChainCopy, an_unknown_struct_is_left_out_where_one_behind_it_changes) {
  UnknownStruct last{kUnknownType, nullptr, {}};
  VkPhysicalDeviceVulkan13Features changed{
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES, .pNext = &last};
  UnknownStruct unknown{kUnknownType, &changed, {1, 2, 3, 4, 5, 6}};
  VkPhysicalDeviceMultiviewFeatures first{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MULTIVIEW_FEATURES,
                                          &unknown};
  ChainCopy copy(&first);
  auto* found = copy.find<VkPhysicalDeviceVulkan13Features>(changed.sType);
  ASSERT_NE(found, nullptr);
  EXPECT_NE(found, &changed);
  EXPECT_EQ(find_in_chain<UnknownStruct>(copy.head(), kUnknownType), &last) << "nothing is behind";
  EXPECT_NE(copy.find<VkPhysicalDeviceMultiviewFeatures>(first.sType), nullptr);
  EXPECT_TRUE(copy.remove(changed.sType));
  EXPECT_EQ(find_in_chain<VkBaseInStructure>(copy.head(), changed.sType), nullptr);
  EXPECT_EQ(first.pNext, &unknown);
  EXPECT_EQ(unknown.pNext, &changed);
}

TEST(ChainCopy, the_largest_struct_is_copied_whole) {
  VkPhysicalDeviceFeatures2 largest{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2};
  largest.features.inheritedQueries = VK_TRUE;  // the last one
  const VkPhysicalDeviceVulkan12Features core{
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
      .pNext = &largest,
      .subgroupBroadcastDynamicId = VK_TRUE};  // the last one
  ChainCopy copy(&core);
  EXPECT_TRUE(copy.find<VkPhysicalDeviceFeatures2>(largest.sType)->features.inheritedQueries);
  EXPECT_TRUE(copy.find<VkPhysicalDeviceVulkan12Features>(core.sType)->subgroupBroadcastDynamicId);
}

TEST(ChainCopy, a_long_chain_is_copied_to_its_end) {
  constexpr size_t kStructs = 1000;
  std::vector<VkPhysicalDeviceVulkan12Features> chain(kStructs);
  for (size_t i = 0; i < kStructs; ++i) {
    chain[i] = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
                .pNext = i + 1 < kStructs ? &chain[i + 1] : nullptr,
                .subgroupBroadcastDynamicId = static_cast<VkBool32>(i)};
  }
  const ChainCopy copy(chain.data());
  const auto original = chain;
  for (VkPhysicalDeviceVulkan12Features& one : chain) one = {};
  size_t i = 0;
  for (auto* node = static_cast<const VkPhysicalDeviceVulkan12Features*>(copy.head()); node;
       node = static_cast<const VkPhysicalDeviceVulkan12Features*>(node->pNext), ++i) {
    ASSERT_LT(i, kStructs);
    ASSERT_EQ(node->sType, original[i].sType);
    ASSERT_EQ(node->subgroupBroadcastDynamicId, original[i].subgroupBroadcastDynamicId);
  }
  EXPECT_EQ(i, kStructs);
}

TEST(CopyMemory, copies_of_all_sizes_stay_where_they_are) {
  CopyMemory memory;
  std::vector<std::pair<std::byte*, size_t>> copies;
  for (size_t size = 1; size < 3000; size += 37) {
    const std::vector<std::byte> bytes(size, static_cast<std::byte>(size));
    copies.emplace_back(static_cast<std::byte*>(memory.copy_bytes(bytes.data(), size)), size);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(copies.back().first) % alignof(std::max_align_t), 0u);
  }
  for (const auto& [copy, size] : copies) {
    EXPECT_EQ(std::vector<std::byte>(copy, copy + size),
              std::vector<std::byte>(size, static_cast<std::byte>(size)));
  }
  const VkBaseInStructure unknown{kUnknownType, nullptr};
  EXPECT_EQ(memory.copy_struct(&unknown), nullptr);
}

// struct_sizes.py computes the sizes from the registry.
TEST(StructSizes, are_those_of_the_compiler) {
#define TALLY_STRUCT(value, name) EXPECT_EQ(struct_size(value), sizeof(name)) << #name;
#include <vk/struct_sizes.inc>
  TALLY_STRUCT(VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO, VkLayerInstanceCreateInfo)
  TALLY_STRUCT(VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO, VkLayerDeviceCreateInfo)
  TALLY_STRUCT(VK_STRUCTURE_TYPE_PIPELINE_CREATE_FLAGS_2_CREATE_INFO_KHR,
               VkPipelineCreateFlags2CreateInfoKHR)
  TALLY_STRUCT(VK_STRUCTURE_TYPE_LAYER_SETTINGS_CREATE_INFO_EXT, VkLayerSettingsCreateInfoEXT)
  TALLY_STRUCT(VK_STRUCTURE_TYPE_FRAME_BOUNDARY_EXT, VkFrameBoundaryEXT)
  TALLY_STRUCT(VK_STRUCTURE_TYPE_RENDER_PASS_PERFORMANCE_COUNTERS_BY_REGION_BEGIN_INFO_ARM,
               VkRenderPassPerformanceCountersByRegionBeginInfoARM)
  TALLY_STRUCT(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ELAPSED_TIMER_QUERY_FEATURES_QCOM,
               VkPhysicalDeviceElapsedTimerQueryFeaturesQCOM)
  TALLY_STRUCT(VK_STRUCTURE_TYPE_SHADER_DESCRIPTOR_SET_AND_BINDING_MAPPING_INFO_EXT,
               VkShaderDescriptorSetAndBindingMappingInfoEXT)
#undef TALLY_STRUCT
  EXPECT_EQ(struct_size(kUnknownType), 0u);
}

TEST(StructSizes, what_has_a_pointer_or_a_handle_is_not_flat) {
  EXPECT_TRUE(is_flat(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2));
  EXPECT_FALSE(is_flat(VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO)) << "points to formats";
  EXPECT_FALSE(is_flat(VK_STRUCTURE_TYPE_SAMPLER_YCBCR_CONVERSION_INFO)) << "has a handle";
  EXPECT_FALSE(is_flat(VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT)) << "a function";
  EXPECT_FALSE(is_flat(kUnknownType));
}

TEST(ChainCopy, added_struct_is_first) {
  const VkPhysicalDeviceVulkan12Features core{
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
  ChainCopy copy(&core);
  const auto* added = copy.add(VkPhysicalDeviceVulkan13Features{
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES, .maintenance4 = VK_TRUE});
  EXPECT_EQ(copy.head(), added);
  EXPECT_NE(copy.find<VkPhysicalDeviceVulkan12Features>(
                VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES),
            nullptr);
}

TEST(UnlinkedStructs, are_unlinked_during_its_lifetime_and_relinked_in_place) {
  VkPhysicalDeviceVulkan13Features last{.sType =
                                            VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES};
  VkPhysicalDeviceShaderInstrumentationFeaturesARM second{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INSTRUMENTATION_FEATURES_ARM, &last, VK_FALSE};
  VkPhysicalDevicePerformanceCountersByRegionFeaturesARM first{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PERFORMANCE_COUNTERS_BY_REGION_FEATURES_ARM, &second,
      VK_FALSE};
  VkPhysicalDeviceFeatures2 head{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
                                 .pNext = &first};
  {
    const UnlinkedStructs away(&head, {first.sType, second.sType});
    EXPECT_EQ(head.pNext, &last);
  }
  EXPECT_EQ(head.pNext, &first);
  EXPECT_EQ(first.pNext, &second);
  EXPECT_EQ(second.pNext, &last);
}

TEST(Hooks, are_found_by_exact_name) {
  const auto function = reinterpret_cast<void (*)()>(0x10);
  const HookTable hooks({hook("vkBC", function), hook("vkB", function, 3), hook("vkA", function)});
  ASSERT_NE(hooks.find("vkB"), nullptr);
  EXPECT_EQ(hooks.find("vkB")->condition, 3u);
  EXPECT_EQ(hooks.find("vkBCD"), nullptr);
  EXPECT_EQ(hooks.find(""), nullptr);
}

TEST(HandleMap, lookup_of_an_unknown_handle_creates_nothing) {
  HandleMap<VkPipeline, int> map;
  const auto handle = reinterpret_cast<VkPipeline>(0x1234);
  EXPECT_EQ(map.find(handle), 0);
  EXPECT_TRUE(map.values().empty());
  map.insert(handle, 5);
  map.insert(handle, 6);
  EXPECT_EQ(map.find(handle), 6);
  EXPECT_EQ(map.take(handle), 6);
  EXPECT_EQ(map.take(handle), 0);
}

TEST(ApiSettings, only_values_for_this_layer_are_read) {
  const VkBool32 on = VK_TRUE;
  const char* texts[] = {"a", "b"};
  const std::array settings{
      VkLayerSettingEXT{"VK_LAYER_TALLY_counters", "flag", VK_LAYER_SETTING_TYPE_BOOL32_EXT, 1,
                        &on},
      VkLayerSettingEXT{"VK_LAYER_OTHER", "flag2", VK_LAYER_SETTING_TYPE_BOOL32_EXT, 1, &on},
      VkLayerSettingEXT{"VK_LAYER_TALLY_counters", "list", VK_LAYER_SETTING_TYPE_STRING_EXT, 2,
                        texts}};
  const VkLayerSettingsCreateInfoEXT info{VK_STRUCTURE_TYPE_LAYER_SETTINGS_CREATE_INFO_EXT, nullptr,
                                          3, settings.data()};
  const VkInstanceCreateInfo create{.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                    .pNext = &info};
  const Settings::Values values = api_settings(create, "VK_LAYER_TALLY_counters");
  EXPECT_EQ(values, (Settings::Values{{"flag", "1"}, {"list", "a,b"}}));
}

TEST(WriteArray, reports_incomplete_and_what_was_written) {
  const std::array source{1, 2, 3};
  uint32_t count = 0;
  EXPECT_EQ(write_array<int>(source, &count, nullptr), VK_SUCCESS);
  EXPECT_EQ(count, 3u);
  int target[3]{};
  count = 2;
  EXPECT_EQ(write_array<int>(source, &count, target), VK_INCOMPLETE);
  EXPECT_EQ(count, 2u);
  EXPECT_EQ(target[2], 0);
  count = 9;
  EXPECT_EQ(write_array<int>(source, &count, target), VK_SUCCESS);
  EXPECT_EQ(count, 3u);
}

TEST(Boundary, exceptions_become_results) {
  EXPECT_EQ(guarded([]() -> VkResult { throw std::bad_alloc(); }), VK_ERROR_OUT_OF_HOST_MEMORY);
  VkResult noted = VK_SUCCESS;
  guarded_void([] { throw std::bad_alloc(); }, [&](VkResult result) { noted = result; });
  EXPECT_EQ(noted, VK_ERROR_OUT_OF_HOST_MEMORY);
  // An exception of the report ends there.
  guarded_void([] { throw std::bad_alloc(); }, [](VkResult) { throw std::bad_alloc(); });
}

TEST(CoreVersions, functions_are_newer_than_versions_in_which_they_were_not_core) {
  for (const uint32_t version : {0u, VK_API_VERSION_1_0}) {
    EXPECT_TRUE(is_newer_than("vkTrimCommandPool", version));
    EXPECT_TRUE(is_newer_than("vkResetQueryPool", version));
    EXPECT_FALSE(is_newer_than("vkCmdDraw", version));
  }
  EXPECT_FALSE(is_newer_than("vkTrimCommandPool", VK_API_VERSION_1_1));
  EXPECT_TRUE(is_newer_than("vkResetQueryPool", VK_API_VERSION_1_1));
  EXPECT_FALSE(is_newer_than("vkResetQueryPool", VK_API_VERSION_1_2));
  EXPECT_FALSE(is_newer_than("vkResetQueryPoolEXT", VK_API_VERSION_1_0)) << "of an extension";
  EXPECT_FALSE(is_newer_than("vkCmdSetCullMode", VK_API_VERSION_1_0)) << "the driver decides";
}

template <typename Handle>
Handle handle_of(uint64_t bits) {
  return (Handle)bits;
}

TEST(SignalledBatches, the_last_batch_signals_after_the_semaphores_of_the_application) {
  const std::array semaphores = {handle_of<VkSemaphore>(1), handle_of<VkSemaphore>(2)};
  const std::array<uint64_t, 2> values = {7, 8};
  const uint64_t waited = 9;
  VkTimelineSemaphoreSubmitInfo timeline{.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                         .waitSemaphoreValueCount = 1,
                                         .pWaitSemaphoreValues = &waited,
                                         .signalSemaphoreValueCount = 2,
                                         .pSignalSemaphoreValues = values.data()};
  const std::array<VkSubmitInfo, 2> infos = {VkSubmitInfo{.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO},
                                             VkSubmitInfo{.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                                                          .pNext = &timeline,
                                                          .commandBufferCount = 3,
                                                          .signalSemaphoreCount = 2,
                                                          .pSignalSemaphores = semaphores.data()}};
  const VkTimelineSemaphoreSubmitInfo without_values{.sType = timeline.sType};
  const VkTimelineSemaphoreSubmitInfo without_array{.sType = timeline.sType,
                                                    .signalSemaphoreValueCount = 2};
  for (const auto& chain : {timeline, without_values, without_array}) {
    const bool has_values = chain.pSignalSemaphoreValues != nullptr;  // else both are binary
    timeline = chain;
    const SignalledBatches<VkSubmitInfo> all(infos, handle_of<VkSemaphore>(3), 5);
    ASSERT_EQ(all.count(), 2u);
    EXPECT_EQ(all.data()[0].signalSemaphoreCount, 0u);
    const VkSubmitInfo& last = all.data()[1];
    EXPECT_EQ(last.commandBufferCount, 3u);
    ASSERT_EQ(last.signalSemaphoreCount, 3u);
    EXPECT_EQ(last.pSignalSemaphores[1], semaphores[1]);
    EXPECT_EQ(last.pSignalSemaphores[2], handle_of<VkSemaphore>(3));
    const auto& sent = *static_cast<const VkTimelineSemaphoreSubmitInfo*>(last.pNext);
    ASSERT_EQ(sent.signalSemaphoreValueCount, 3u);
    EXPECT_EQ(sent.pSignalSemaphoreValues[1], has_values ? 8u : 0u);
    EXPECT_EQ(sent.pSignalSemaphoreValues[2], 5u);
    EXPECT_EQ(sent.waitSemaphoreValueCount, has_values ? 1u : 0u);
    EXPECT_FALSE(sent.pNext);
  }
  EXPECT_EQ(infos[1].signalSemaphoreCount, 2u);

  const VkSemaphoreSubmitInfo signal{VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO, nullptr,
                                     semaphores[0], 7};
  const VkSubmitInfo2 info{.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2,
                           .signalSemaphoreInfoCount = 1,
                           .pSignalSemaphoreInfos = &signal};
  const SignalledBatches<VkSubmitInfo2> all({&info, 1}, handle_of<VkSemaphore>(3), 5);
  ASSERT_EQ(all.count(), 1u);
  ASSERT_EQ(all.data()[0].signalSemaphoreInfoCount, 2u);
  EXPECT_EQ(all.data()[0].pSignalSemaphoreInfos[0].value, 7u);
  EXPECT_EQ(all.data()[0].pSignalSemaphoreInfos[1].semaphore, handle_of<VkSemaphore>(3));
  EXPECT_EQ(all.data()[0].pSignalSemaphoreInfos[1].value, 5u);
}

TEST(SignalledBatches, a_batch_of_their_own_signals_behind_one_with_extensions) {
  const VkProtectedSubmitInfo more{VK_STRUCTURE_TYPE_PROTECTED_SUBMIT_INFO, nullptr, VK_TRUE};
  const VkTimelineSemaphoreSubmitInfo timeline{
      .sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO, .pNext = &more};
  for (const void* chain : {static_cast<const void*>(&more), static_cast<const void*>(&timeline)}) {
    const VkSubmitInfo info{.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .pNext = chain};
    const SignalledBatches<VkSubmitInfo> all({&info, 1}, handle_of<VkSemaphore>(3), 5);
    ASSERT_EQ(all.count(), 2u);
    EXPECT_EQ(all.data()[0].pNext, chain);
    EXPECT_EQ(all.data()[0].signalSemaphoreCount, 0u);
    EXPECT_EQ(all.data()[1].signalSemaphoreCount, 1u);
  }
  const VkSubmitInfo2 info{.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2, .pNext = &more};
  EXPECT_EQ(SignalledBatches<VkSubmitInfo2>({&info, 1}, handle_of<VkSemaphore>(3), 5).count(), 2u);
  EXPECT_EQ(SignalledBatches<VkSubmitInfo2>({}, handle_of<VkSemaphore>(3), 5).count(), 1u);
}

TEST(OwnCalls, a_failure_is_named_once) {
  take_own_failure();
  EXPECT_EQ(own("vkCreateBuffer", VK_SUCCESS), VK_SUCCESS);
  EXPECT_EQ(take_own_failure().what, nullptr);
  VkFence fence = reinterpret_cast<VkFence>(uintptr_t{0xbad});
  own("vkCreateFence", VK_ERROR_OUT_OF_HOST_MEMORY, fence);
  EXPECT_EQ(fence, VkFence{VK_NULL_HANDLE});
  EXPECT_EQ(take_own_failure(VK_ERROR_DEVICE_LOST).text(), "VK_ERROR_DEVICE_LOST");
  EXPECT_EQ(take_own_failure(VK_ERROR_OUT_OF_HOST_MEMORY).text(),
            "vkCreateFence failed with VK_ERROR_OUT_OF_HOST_MEMORY");
  EXPECT_EQ(take_own_failure().result, VK_SUCCESS);
}

// A driver whose waits fail.
struct FenceTable {
  VkResult wait = VK_ERROR_OUT_OF_HOST_MEMORY;
  int polls = 0;  // until the fence is signalled
  VkResult WaitForFences(VkDevice, uint32_t, const VkFence*, VkBool32, uint64_t) const {
    return wait;
  }
  VkResult GetFenceStatus(VkDevice, VkFence) { return polls-- > 0 ? VK_NOT_READY : VK_SUCCESS; }
};

TEST(OwnCalls, a_wait_that_fails_goes_on_until_the_fence_is_signalled) {
  FenceTable table{.polls = 3};
  EXPECT_EQ(wait_for_own_fence(table, VkDevice{}, VkFence{}, UINT64_MAX), VK_SUCCESS);
  EXPECT_EQ(table.polls, -1);
  table.polls = 1'000'000;
  EXPECT_EQ(wait_for_own_fence(table, VkDevice{}, VkFence{}, 5'000'000), VK_TIMEOUT);
  table.wait = VK_ERROR_DEVICE_LOST;
  EXPECT_EQ(wait_for_own_fence(table, VkDevice{}, VkFence{}, UINT64_MAX), VK_ERROR_DEVICE_LOST);
}

struct TimelineTable {
  VkResult wait = VK_ERROR_OUT_OF_HOST_MEMORY;
  uint64_t reached = 0;  // one more at each poll
  VkResult WaitSemaphores(VkDevice, const VkSemaphoreWaitInfo*, uint64_t) const { return wait; }
  VkResult GetSemaphoreCounterValue(VkDevice, VkSemaphore, uint64_t* value) {
    *value = reached++;
    return VK_SUCCESS;
  }
};

TEST(OwnCalls, a_wait_that_fails_goes_on_until_the_value_is_reached) {
  const auto wait = [](TimelineTable& table, uint64_t value, uint64_t timeout) {
    return wait_for_own_value(table, VkDevice{}, VkSemaphore{}, value, timeout);
  };
  TimelineTable table;
  EXPECT_EQ(wait(table, 3, UINT64_MAX), VK_SUCCESS);
  EXPECT_EQ(table.reached, 4u);
  EXPECT_EQ(wait(table, 1'000'000, 5'000'000), VK_TIMEOUT);
  table.wait = VK_ERROR_DEVICE_LOST;
  EXPECT_EQ(wait(table, 1'000'000, UINT64_MAX), VK_ERROR_DEVICE_LOST);
}

}  // namespace
}  // namespace tally::vk
