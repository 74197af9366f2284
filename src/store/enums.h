// The enumerations of a capture. The file holds their names, the stream their numbers.
#pragma once

#include <cstddef>
#include <iterator>
#include <optional>
#include <string_view>

namespace tally::store {

enum class Ending { Running, Closed, CutOff, Refused };
enum class CallKind { Draw, Dispatch, TraceRays, Generated };
// Present: also a swap of EGL. Boundary: of VK_EXT_frame_boundary.
enum class FrameEnd { Present, Submit, Open, Boundary, Label, Fence, QueueIdle };
enum class PassKind { RenderPass, Rendering };
enum class Severity { Info, Warning, Error };

// kNames: the names in the order of the enumerators.
template <typename Enum>
struct EnumNames;
template <>
struct EnumNames<Ending> {
  static constexpr const char* kNames[] = {"running", "closed", "cut off", "refused"};
};
template <>
struct EnumNames<CallKind> {
  static constexpr const char* kNames[] = {"draw", "dispatch", "trace rays", "generated"};
};
template <>
struct EnumNames<FrameEnd> {
  static constexpr const char* kNames[] = {"present", "submit", "open",      "boundary",
                                           "label",   "fence",  "queue idle"};
};
template <>
struct EnumNames<PassKind> {
  static constexpr const char* kNames[] = {"render pass", "rendering"};
};
template <>
struct EnumNames<Severity> {
  static constexpr const char* kNames[] = {"info", "warning", "error"};
};

template <typename Enum>
constexpr std::string_view enum_name(Enum value) {
  return EnumNames<Enum>::kNames[static_cast<size_t>(value)];
}

// None: no enumerator has this name.
template <typename Enum>
constexpr std::optional<Enum> enum_from_name(std::string_view name) {
  for (size_t i = 0; i < std::size(EnumNames<Enum>::kNames); ++i) {
    if (name == EnumNames<Enum>::kNames[i]) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

}  // namespace tally::store
