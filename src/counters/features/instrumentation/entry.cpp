// The functions of VK_ARM_shader_instrumentation.

#include <fmt/format.h>

#include <atomic>

#include "counters/layer/entry_points.h"
#include "counters/recording/command_buffer.h"
#include "vk/own_call.h"

namespace tally::counters {
namespace {

constexpr VkObjectType kObjectType = VK_OBJECT_TYPE_SHADER_INSTRUMENTATION_ARM;
// In the upper bits of every handle, to distinguish it from handles of drivers when debugging.
constexpr uint64_t kHandleTag = uint64_t{0x7a11} << 48;

// Reports a handle that is not, or no longer, an object of this device.
std::shared_ptr<Instrumentation> find_object(const DeviceState& device,
                                             VkShaderInstrumentationARM handle, const char* vuid,
                                             const char* function) {
  auto object = device.instrumentation.objects.find(handle);
  if (!object) {
    device.context.messages.misuse(
        vuid, kObjectType, vk::handle_bits(handle),
        fmt::format("{}(): {:#x} is not a VkShaderInstrumentationARM of this device", function,
                    vk::handle_bits(handle)));
  }
  return object;
}

VkResult create(VkDevice handle, VkShaderInstrumentationARM* instrumentation) {
  Device& device = *find_device(handle);
  DeviceState* state = device.state();
  if (!state || !state->instrumentation.enabled) return VK_ERROR_FEATURE_NOT_PRESENT;
  auto object = std::make_shared<Instrumentation>(state->memory);
  // Unique across devices, so that the layer recognizes an object of another device.
  static std::atomic<uint64_t> next_object = 1;
  const uint64_t bits = kHandleTag | next_object.fetch_add(1, std::memory_order_relaxed);
  const auto created = (VkShaderInstrumentationARM)bits;  // NOLINT: a handle is a number
  state->instrumentation.objects.insert(created, std::move(object));
  *instrumentation = created;
  return VK_SUCCESS;
}

// Ignores the application's allocator: an object grows while commands are recorded.
VKAPI_ATTR VkResult VKAPI_CALL hook_create(VkDevice device,
                                           const VkShaderInstrumentationCreateInfoARM*,
                                           const VkAllocationCallbacks*,
                                           VkShaderInstrumentationARM* instrumentation) {
  return vk::guarded([&] { return create(device, instrumentation); });
}

void destroy(VkDevice handle, VkShaderInstrumentationARM instrumentation) {
  Device& device = *find_device(handle);
  DeviceState* state = device.state();
  if (instrumentation == VK_NULL_HANDLE || !state) return;
  if (!find_object(*state, instrumentation,
                   "VUID-vkDestroyShaderInstrumentationARM-instrumentation-parameter",
                   "vkDestroyShaderInstrumentationARM")) {
    return;
  }
  const auto object = state->instrumentation.objects.take(instrumentation);
  state->instrumentation.names.remove(vk::handle_bits(instrumentation));
  const bool in_use = object->in_use();
  if (in_use) {
    device.messages().misuse(
        "VUID-vkDestroyShaderInstrumentationARM-instrumentation-12374", kObjectType,
        vk::handle_bits(instrumentation),
        "vkDestroyShaderInstrumentationARM(): submitted commands that use the object have not "
        "completed");
  }
  state->instrumentation.defer_destruction(in_use ? object : nullptr);
}

VKAPI_ATTR void VKAPI_CALL hook_destroy(VkDevice device, VkShaderInstrumentationARM instrumentation,
                                        const VkAllocationCallbacks*) {
  vk::guarded_void([&] { destroy(device, instrumentation); });
}

// True if the command buffer is protected, which is then reported.
bool is_refused(const CommandBuffer& commands, const char* vuid, const char* function) {
  if (!commands.is_protected()) return false;
  commands.device().context.messages.misuse(
      vuid, VK_OBJECT_TYPE_COMMAND_BUFFER, vk::handle_bits(commands.handle()),
      fmt::format("{}(): the command buffer is protected", function));
  return true;
}

void begin(VkCommandBuffer handle, VkShaderInstrumentationARM instrumentation) {
  CommandBuffer* commands = find_command_buffer(handle);
  if (!commands) return;
  const auto object =
      find_object(commands->device(), instrumentation,
                  "VUID-vkCmdBeginShaderInstrumentationARM-instrumentation-parameter",
                  "vkCmdBeginShaderInstrumentationARM");
  if (!object ||
      is_refused(*commands, "VUID-vkCmdBeginShaderInstrumentationARM-commandBuffer-12376",
                 "vkCmdBeginShaderInstrumentationARM")) {
    return;
  }
  if (commands->instrumented()) {
    commands->device().context.messages.misuse(
        "VUID-vkCmdBeginShaderInstrumentationARM-commandBuffer-12375",
        VK_OBJECT_TYPE_COMMAND_BUFFER, vk::handle_bits(handle),
        "vkCmdBeginShaderInstrumentationARM(): shader instrumentation is already active");
    return;
  }
  commands->begin_instrumentation(object);
}

// vkEndCommandBuffer returns the error.
void note_failure(VkCommandBuffer commands, VkResult error) {
  if (CommandBuffer* state = find_command_buffer(commands)) state->fail(error);
}

VKAPI_ATTR void VKAPI_CALL hook_begin(VkCommandBuffer commands,
                                      VkShaderInstrumentationARM instrumentation) {
  vk::guarded_void([&] { begin(commands, instrumentation); },
                   [&](VkResult error) { note_failure(commands, error); });
}

void end(VkCommandBuffer handle) {
  CommandBuffer* commands = find_command_buffer(handle);
  if (!commands ||
      is_refused(*commands, "VUID-vkCmdEndShaderInstrumentationARM-commandBuffer-12378",
                 "vkCmdEndShaderInstrumentationARM")) {
    return;
  }
  if (!commands->instrumented()) {
    commands->device().context.messages.misuse(
        "VUID-vkCmdEndShaderInstrumentationARM-commandBuffer-12377", VK_OBJECT_TYPE_COMMAND_BUFFER,
        vk::handle_bits(handle),
        "vkCmdEndShaderInstrumentationARM(): no shader instrumentation is active");
    return;
  }
  commands->end_instrumentation();
}

VKAPI_ATTR void VKAPI_CALL hook_end(VkCommandBuffer commands) {
  vk::guarded_void([&] { end(commands); }, [&](VkResult error) { note_failure(commands, error); });
}

VkResult get_values(VkDevice handle, VkShaderInstrumentationARM instrumentation, uint32_t* count,
                    void* blocks, VkShaderInstrumentationValuesFlagsARM flags) {
  Device& device = *find_device(handle);
  if (!device.state()) return VK_ERROR_FEATURE_NOT_PRESENT;
  if (flags != 0) {
    device.messages().misuse(
        "VUID-vkGetShaderInstrumentationValuesARM-flags-zerobitmask", kObjectType,
        vk::handle_bits(instrumentation),
        fmt::format("vkGetShaderInstrumentationValuesARM(): flags is {:#x}, not 0", flags));
  }
  const auto object =
      find_object(*device.state(), instrumentation,
                  "VUID-vkGetShaderInstrumentationValuesARM-instrumentation-parameter",
                  "vkGetShaderInstrumentationValuesARM");
  if (!object) {
    *count = 0;
    return VK_ERROR_VALIDATION_FAILED_EXT;
  }
  std::vector<std::string> findings;
  const bool verify = device.instance().options().verify_counts;
  const VkResult result = object->values({device.instance().metrics(), device.gpu().subgroup_size,
                                          count, blocks, verify ? &findings : nullptr});
  if (result < 0) {
    device.messages().notice("TALLY-unread-values", kObjectType, vk::handle_bits(instrumentation),
                             "vkGetShaderInstrumentationValuesARM(): the values cannot be read: " +
                                 vk::take_own_failure(result).text());
  }
  for (const std::string& finding : findings) {
    device.messages().internal_error("TALLY-verify-counts", kObjectType,
                                     vk::handle_bits(instrumentation), finding);
  }
  return result;
}

VKAPI_ATTR VkResult VKAPI_CALL hook_get_values(VkDevice device,
                                               VkShaderInstrumentationARM instrumentation,
                                               uint32_t* count, void* blocks,
                                               VkShaderInstrumentationValuesFlagsARM flags) {
  return vk::guarded([&] { return get_values(device, instrumentation, count, blocks, flags); });
}

void clear(VkDevice handle, VkShaderInstrumentationARM instrumentation) {
  Device& device = *find_device(handle);
  if (!device.state()) return;
  const auto object =
      find_object(*device.state(), instrumentation,
                  "VUID-vkClearShaderInstrumentationMetricsARM-instrumentation-parameter",
                  "vkClearShaderInstrumentationMetricsARM");
  if (!object) return;
  const VkResult result = object->clear();
  if (result != VK_SUCCESS) {
    device.messages().notice("TALLY-uncleared-values", kObjectType,
                             vk::handle_bits(instrumentation),
                             "vkClearShaderInstrumentationMetricsARM(): the values cannot be "
                             "cleared: " +
                                 vk::take_own_failure(result).text());
  }
}

VKAPI_ATTR void VKAPI_CALL hook_clear(VkDevice device, VkShaderInstrumentationARM instrumentation) {
  vk::guarded_void([&] { clear(device, instrumentation); });
}

}  // namespace

void add_shader_instrumentation_entry_points(Hooks& hooks) {
  const auto add = [&](std::string_view name, auto* function) {
    hooks.push_back(make_hook(name, function, HookCondition::InstrumentationExtension));
  };
  add("vkClearShaderInstrumentationMetricsARM", hook_clear);
  add("vkCmdBeginShaderInstrumentationARM", hook_begin);
  add("vkCmdEndShaderInstrumentationARM", hook_end);
  add("vkCreateShaderInstrumentationARM", hook_create);
  add("vkDestroyShaderInstrumentationARM", hook_destroy);
  add("vkGetShaderInstrumentationValuesARM", hook_get_values);
}

}  // namespace tally::counters
