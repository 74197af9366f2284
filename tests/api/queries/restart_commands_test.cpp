// Queries on restarted strips, with every command that draws or sets draw state. Every
// scene runs with the layer's queries and with the driver's.
#include <array>

#include "api/queries/restart.h"
#include "patch.vert.h"
#include "plain.frag.h"

namespace tally::test {
namespace {

// Draws: first index, number of indices, instances.
using Draws = std::initializer_list<std::array<uint32_t, 3>>;

Assembled assemble_all(const Indices& indices, const Draws& draws) {
  Assembled all;
  for (const auto& [first, count, instances] : draws) {
    all = all + assemble(kStrip, std::span(indices).subspan(first, count)) * instances;
  }
  return all;
}

using RestartCommands = PrimitiveRestart;

TEST_F(RestartCommands, of_draws_whose_arguments_stand_in_a_buffer_and_of_parts_of_the_indices) {
  const Indices indices = some_indices(1000);
  const Assembled expected = assemble_all(indices, {{100, 77, 1}, {13, 600, 2}, {999, 1, 5}});
  for (const bool emulated : {true, false}) {
    if (!start_source(emulated)) return;
    if (!context().features().multiDrawIndirect) GTEST_SKIP() << "no multi-draw";
    const Pipeline pipeline = make_restarting(kStrip.topology);
    const Buffer buffer = make_indices(VK_INDEX_TYPE_UINT16, indices);
    const Buffer arguments(context(), 64, VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT);
    const uint32_t words[] = {600, 2, 13, 0, 0, 1, 5, 999, 0, 0};
    std::ranges::copy(words, arguments.as<uint32_t>().begin());
    const auto numbers = drawn([&](VkCommandBuffer commands) {
      vkCmdBindPipeline(commands, kGraphics, pipeline);
      vkCmdBindIndexBuffer(commands, buffer, 0, VK_INDEX_TYPE_UINT16);
      vkCmdDrawIndexed(commands, 77, 1, 100, 0, 0);
      vkCmdDrawIndexedIndirect(commands, arguments, 0, 2, 20);
    });
    SCOPED_TRACE(emulated ? "emulated" : "native");
    expect_assembled(numbers, emulated, expected);
  }
}

TEST_F(RestartCommands, of_several_draws_in_one_command) {
  const Indices indices = some_indices(1000);
  // The stride between draws is larger than their size.
  struct Spaced {
    VkMultiDrawIndexedInfoEXT info;
    uint32_t nothing[2];
  };
  const Spaced spaced[] = {{{0, 1000, 0}, {}},
                           {{13, 600, 7}, {}},
                           {{500, 0, 0}, {}},
                           {{999, 1, -1}, {}},
                           {{400, 11, 100}, {}}};
  const VkMultiDrawIndexedInfoEXT packed[] = {{3, 500, 0}, {17, 64, 0}};
  const Assembled expected = assemble_all(
      indices, {{0, 1000, 2}, {13, 600, 2}, {999, 1, 2}, {400, 11, 2}, {3, 500, 1}, {17, 64, 1}});
  for (const bool emulated : {true, false}) {
    if (!start_source(emulated)) return;
    if (!has_multi_draw()) GTEST_SKIP() << "the driver has no VK_EXT_multi_draw";
    const auto draw_multi =
        context().function<PFN_vkCmdDrawMultiIndexedEXT>("vkCmdDrawMultiIndexedEXT");
    const Pipeline pipeline = make_restarting(kStrip.topology);
    const Buffer buffer = make_indices(VK_INDEX_TYPE_UINT32, indices);
    const int32_t offset = 5;
    const auto numbers = drawn([&](VkCommandBuffer commands) {
      vkCmdBindPipeline(commands, kGraphics, pipeline);
      vkCmdBindIndexBuffer(commands, buffer, 0, VK_INDEX_TYPE_UINT32);
      draw_multi(commands, 5, &spaced[0].info, 2, 0, sizeof(Spaced), nullptr);
      draw_multi(commands, 0, nullptr, 1, 0, 0, nullptr);
      draw_multi(commands, 2, packed, 1, 0, sizeof *packed, &offset);
    });
    SCOPED_TRACE(emulated ? "emulated" : "native");
    expect_assembled(numbers, emulated, expected);
  }
}

TEST_F(RestartCommands, of_indices_that_are_bound_with_their_size) {
  const Indices indices = some_indices(1000);
  const Assembled expected =
      assemble_all(indices, {{100, 300, 1}, {150, 250, 3}, {250, 750, 1}, {250, 1, 1}});
  for (const bool emulated : {true, false}) {
    if (!start_source(emulated)) return;
    if (!binds_sizes()) GTEST_SKIP() << "the driver has no VK_KHR_maintenance5";
    const auto bind = context().function<PFN_vkCmdBindIndexBuffer2>("vkCmdBindIndexBuffer2KHR");
    const Pipeline pipeline = make_restarting(kStrip.topology);
    const Buffer buffer = make_indices(VK_INDEX_TYPE_UINT16, indices);
    const Buffer arguments(context(), 64, VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT);
    const uint32_t words[] = {250, 3, 50, 0, 0};
    std::ranges::copy(words, arguments.as<uint32_t>().begin());
    const auto numbers = drawn([&](VkCommandBuffer commands) {
      vkCmdBindPipeline(commands, kGraphics, pipeline);
      bind(commands, buffer, 200, 600, VK_INDEX_TYPE_UINT16);
      vkCmdDrawIndexed(commands, 300, 1, 0, 0, 0);
      vkCmdDrawIndexedIndirect(commands, arguments, 0, 1, 20);
      bind(commands, buffer, 500, VK_WHOLE_SIZE, VK_INDEX_TYPE_UINT16);
      vkCmdDrawIndexed(commands, 750, 1, 0, 0, 0);
      bind(commands, buffer, 500, 2, VK_INDEX_TYPE_UINT16);
      vkCmdDrawIndexed(commands, 1, 1, 0, 0, 0);
    });
    SCOPED_TRACE(emulated ? "emulated" : "native");
    expect_assembled(numbers, emulated, expected);
  }
}

TEST_F(RestartCommands, is_what_the_command_buffer_sets_where_it_is_dynamic) {
  const Indices indices = some_indices(1000);
  for (const bool emulated : {true, false}) {
    if (!start_source(emulated)) return;
    GraphicsPipelineInfo info;
    info.topology = kStrip.topology;
    info.dynamic = {VK_DYNAMIC_STATE_PRIMITIVE_RESTART_ENABLE};
    const Pipeline pipeline = make_graphics({{kVertex, patch_vert}, {kFragment, plain_frag}}, info);
    const Buffer buffer = make_indices(VK_INDEX_TYPE_UINT16, indices);
    for (const VkBool32 restarts : {VK_TRUE, VK_FALSE}) {
      const auto numbers = drawn([&](VkCommandBuffer commands) {
        vkCmdBindPipeline(commands, kGraphics, pipeline);
        vkCmdBindIndexBuffer(commands, buffer, 0, VK_INDEX_TYPE_UINT16);
        vkCmdSetPrimitiveRestartEnable(commands, restarts);
        vkCmdDrawIndexed(commands, 1000, 1, 0, 0, 0);
      });
      SCOPED_TRACE(emulated ? "emulated" : "native");
      expect_assembled(numbers, emulated,
                       restarts ? assemble(kStrip, indices) : Assembled{1000, 998});
    }
  }
}

}  // namespace
}  // namespace tally::test
