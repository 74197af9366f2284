// The commands that the layer only hooks where command buffers are recorded twice: they go to both.
#include <type_traits>

#include "base/log.h"
#include "capture/entry/entry.h"
#include "vk/boundary.h"

namespace tally::capture {
namespace {

#ifdef __clang__
// The types of the list are those of the C ABI, not those of the headers.
#define TALLY_CALLS_BY_ABI __attribute__((no_sanitize("function")))
#else
#define TALLY_CALLS_BY_ABI
#endif

template <Command kCommand, typename Types>
struct Both;

template <Command kCommand, typename Result, typename... Arguments>
struct Both<kCommand, Result(Arguments...)> {
  TALLY_CALLS_BY_ABI static VKAPI_ATTR Result VKAPI_CALL call(VkCommandBuffer b,
                                                              Arguments... arguments) noexcept {
    using Next = Result(VKAPI_PTR*)(VkCommandBuffer, Arguments...);
    const CommandBuffer* state = nullptr;
    vk::guarded_void([&] { state = find_command_buffer(b); });
    if (!state) return Result();
    const auto next = reinterpret_cast<Next>(state->context().commands()[kCommand]);
    if constexpr ((std::is_same_v<Arguments, VkCommandBuffer> || ...)) {
      // Commands that are preprocessed with the state of a command buffer do not fit its copy.
      vk::guarded_void([&] {
        stop_copies(state->context(), "commands are preprocessed with a command buffer's state");
      });
    } else if (const VkCommandBuffer copy = state->copy()) {
      next(copy, arguments...);
    }
    return next(b, arguments...);
  }
};

}  // namespace

void stop_copies(RecordingContext& context, std::string_view reason) {
  if (!context.copies()) return;
  context.stop_copies();
  log_once(LogLevel::Warning, "{}: command buffers that are submitted again count in all frames",
           reason);
}

const vk::HookTable& recorded_command_hooks() {
#define TALLY_COMMAND(name, types) vk::hook(#name, Both<Command::name, types>::call),
  // Intentionally leaked: applications call Vulkan from static destructors.
  static const auto* const table = new vk::HookTable({
#include "capture/recording/command_list.inc"
  });
#undef TALLY_COMMAND
  return *table;
}

}  // namespace tally::capture
