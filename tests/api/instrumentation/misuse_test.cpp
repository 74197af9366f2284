// Rules that no validation layer checks: each violation reports a message with its VUID and the
// object, and does no harm.
#include "api/kit.h"

namespace tally::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Pair = std::pair<uint32_t, uint64_t>;

class Misuse : public CountersTest {
 protected:
  template <typename T>
  static uint64_t bits(T handle) {
    return (uint64_t)handle;  // NOLINT: a handle is a number
  }
  // Expects exactly one error since the last call, with this id and about this object.
  template <typename T>
  void expect_error(const std::string& vuid, VkObjectType type, T object) {
    const std::vector<Message> errors = context().take_errors();
    ASSERT_EQ(errors.size(), 1u) << vuid;
    EXPECT_EQ(errors[0].id, vuid);
    EXPECT_THAT(errors[0].objects, ElementsAre(std::pair(type, bits(object))));
    EXPECT_NE(errors[0].text.find(vuid), std::string::npos);
  }
};

TEST_F(Misuse, ending_the_command_buffer_while_active) {
  const Instrumentation instrumentation(context());
  const VkCommandBuffer commands = context().begin_commands();
  instrumentation.begin(commands);
  dispatch(commands, work().counting, 1);
  EXPECT_EQ(vkEndCommandBuffer(commands), VK_SUCCESS);
  expect_error("VUID-vkEndCommandBuffer-commandBuffer-12372", VK_OBJECT_TYPE_COMMAND_BUFFER,
               commands);
  context().submit_and_wait(commands);
  EXPECT_THAT(invocations(instrumentation), ElementsAre(Pair(0, 8)));
}

TEST_F(Misuse, executing_secondaries_while_active) {
  const VkCommandBuffer secondary = context().begin_secondary();
  check(vkEndCommandBuffer(secondary));
  const Instrumentation instrumentation(context());
  const VkCommandBuffer commands = context().begin_commands();
  instrumentation.begin(commands);
  vkCmdExecuteCommands(commands, 1, &secondary);
  expect_error("VUID-vkCmdExecuteCommands-commandBuffer-12373", VK_OBJECT_TYPE_COMMAND_BUFFER,
               commands);
  instrumentation.end(commands);
  check(vkEndCommandBuffer(commands));
}

TEST_F(Misuse, destroying_an_object_in_use) {
  const VkEventCreateInfo info{VK_STRUCTURE_TYPE_EVENT_CREATE_INFO};
  VkEvent event = VK_NULL_HANDLE;
  check(vkCreateEvent(context().device(), &info, nullptr, &event));
  const Handle<VkEvent, vkDestroyEvent> owner(context().device(), event);
  std::optional<Instrumentation> instrumentation(std::in_place, context());
  const VkCommandBuffer commands = context().begin_commands();
  // The queue waits for the host.
  const VkMemoryBarrier all{VK_STRUCTURE_TYPE_MEMORY_BARRIER};
  vkCmdWaitEvents(commands, 1, &event, VK_PIPELINE_STAGE_HOST_BIT,
                  VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 1, &all, 0, nullptr, 0, nullptr);
  instrumentation->begin(commands);
  dispatch(commands, work().counting, 1);
  instrumentation->end(commands);
  check(vkEndCommandBuffer(commands));
  VkSubmitInfo submit{VK_STRUCTURE_TYPE_SUBMIT_INFO};
  submit.commandBufferCount = 1;
  submit.pCommandBuffers = &commands;
  check(vkQueueSubmit(context().queue(), 1, &submit, VK_NULL_HANDLE));
  const VkShaderInstrumentationARM handle = instrumentation->handle();
  instrumentation.reset();
  expect_error("VUID-vkDestroyShaderInstrumentationARM-instrumentation-12374",
               VK_OBJECT_TYPE_SHADER_INSTRUMENTATION_ARM, handle);
  check(vkSetEvent(context().device(), event));
  check(vkQueueWaitIdle(context().queue()));
  EXPECT_EQ(work().values.as<uint32_t>()[0], 1u);
}

TEST_F(Misuse, beginning_while_active) {
  const Instrumentation first(context()), second(context());
  const VkCommandBuffer commands = context().begin_commands();
  first.begin(commands);
  second.begin(commands);
  expect_error("VUID-vkCmdBeginShaderInstrumentationARM-commandBuffer-12375",
               VK_OBJECT_TYPE_COMMAND_BUFFER, commands);
  dispatch(commands, work().counting, 1);
  first.end(commands);
  check(vkEndCommandBuffer(commands));
  context().submit_and_wait(commands);
  EXPECT_THAT(invocations(first), ElementsAre(Pair(0, 8)));
  EXPECT_THAT(second.read(), IsEmpty());
}

TEST_F(Misuse, ending_what_is_not_active) {
  const Instrumentation instrumentation(context());
  const VkCommandBuffer commands = context().begin_commands();
  instrumentation.end(commands);
  expect_error("VUID-vkCmdEndShaderInstrumentationARM-commandBuffer-12377",
               VK_OBJECT_TYPE_COMMAND_BUFFER, commands);
  check(vkEndCommandBuffer(commands));
}

// The pool's flag makes it protected. Drivers without protected memory ignore the flag, and layers
// below may report it.
TEST_F(Misuse, a_protected_command_buffer) {
  const VkCommandPoolCreateInfo info{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO, nullptr,
                                     VK_COMMAND_POOL_CREATE_PROTECTED_BIT,
                                     context().queue_family()};
  VkCommandPool handle = VK_NULL_HANDLE;
  check(vkCreateCommandPool(context().device(), &info, nullptr, &handle));
  const CommandPool pool(context().device(), handle);
  const VkCommandBufferAllocateInfo allocate{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                             nullptr, handle, VK_COMMAND_BUFFER_LEVEL_PRIMARY, 1};
  VkCommandBuffer commands = VK_NULL_HANDLE;
  check(vkAllocateCommandBuffers(context().device(), &allocate, &commands));
  const VkCommandBufferBeginInfo begin{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  check(vkBeginCommandBuffer(commands, &begin));
  const Instrumentation instrumentation(context());
  static_cast<void>(work());
  context().take_errors();
  instrumentation.begin(commands);
  expect_error("VUID-vkCmdBeginShaderInstrumentationARM-commandBuffer-12376",
               VK_OBJECT_TYPE_COMMAND_BUFFER, commands);
  instrumentation.end(commands);
  expect_error("VUID-vkCmdEndShaderInstrumentationARM-commandBuffer-12378",
               VK_OBJECT_TYPE_COMMAND_BUFFER, commands);
  EXPECT_EQ(vkEndCommandBuffer(commands), VK_SUCCESS);
  EXPECT_THAT(instrumentation.read(), IsEmpty());
}

TEST_F(Misuse, handles_that_are_none) {
  constexpr VkObjectType kType = VK_OBJECT_TYPE_SHADER_INSTRUMENTATION_ARM;
  VkShaderInstrumentationARM stale = VK_NULL_HANDLE;
  {
    const Instrumentation instrumentation(context());
    stale = instrumentation.handle();
  }
  const VkDevice device = context().device();
  uint32_t count = 7;
  EXPECT_EQ(function<PFN_vkGetShaderInstrumentationValuesARM>(
                "vkGetShaderInstrumentationValuesARM")(device, stale, &count, nullptr, 0),
            VK_ERROR_VALIDATION_FAILED_EXT);
  EXPECT_EQ(count, 0u);
  expect_error("VUID-vkGetShaderInstrumentationValuesARM-instrumentation-parameter", kType, stale);
  function<PFN_vkClearShaderInstrumentationMetricsARM>("vkClearShaderInstrumentationMetricsARM")(
      device, stale);
  expect_error("VUID-vkClearShaderInstrumentationMetricsARM-instrumentation-parameter", kType,
               stale);
  function<PFN_vkDestroyShaderInstrumentationARM>("vkDestroyShaderInstrumentationARM")(
      device, stale, nullptr);
  expect_error("VUID-vkDestroyShaderInstrumentationARM-instrumentation-parameter", kType, stale);
  const VkCommandBuffer commands = context().begin_commands();
  function<PFN_vkCmdBeginShaderInstrumentationARM>("vkCmdBeginShaderInstrumentationARM")(commands,
                                                                                         stale);
  expect_error("VUID-vkCmdBeginShaderInstrumentationARM-instrumentation-parameter", kType, stale);
  check(vkEndCommandBuffer(commands));
}

TEST_F(Misuse, an_object_of_another_device) {
  Context second(with_instrumentation());
  const Instrumentation here(context()), there(second);
  const VkCommandBuffer commands = context().begin_commands();
  function<PFN_vkCmdBeginShaderInstrumentationARM>("vkCmdBeginShaderInstrumentationARM")(
      commands, there.handle());
  expect_error("VUID-vkCmdBeginShaderInstrumentationARM-instrumentation-parameter",
               VK_OBJECT_TYPE_SHADER_INSTRUMENTATION_ARM, there.handle());
  check(vkEndCommandBuffer(commands));
}

TEST_F(Misuse, flags_that_are_reserved) {
  const Instrumentation instrumentation(context());
  uint32_t count = 0;
  EXPECT_EQ(
      function<PFN_vkGetShaderInstrumentationValuesARM>("vkGetShaderInstrumentationValuesARM")(
          context().device(), instrumentation.handle(), &count, nullptr, 4),
      VK_SUCCESS);
  expect_error("VUID-vkGetShaderInstrumentationValuesARM-flags-zerobitmask",
               VK_OBJECT_TYPE_SHADER_INSTRUMENTATION_ARM, instrumentation.handle());
}

TEST_F(Misuse, destroying_nothing_is_no_misuse) {
  function<PFN_vkDestroyShaderInstrumentationARM>("vkDestroyShaderInstrumentationARM")(
      context().device(), VK_NULL_HANDLE, nullptr);
  EXPECT_THAT(error_ids(), IsEmpty());
}

}  // namespace
}  // namespace tally::test
