#include "store/rows.h"

#include <iterator>

namespace tally::store {
namespace {

// In the order of the enumerators.
template <typename Enum>
struct Words;
template <>
struct Words<Ending> {
  static constexpr const char* kList[] = {"running", "closed", "cut off", "refused"};
};
template <>
struct Words<CallKind> {
  static constexpr const char* kList[] = {"draw", "dispatch", "trace rays", "generated"};
};
template <>
struct Words<FrameEnd> {
  static constexpr const char* kList[] = {"present", "submit", "open"};
};
template <>
struct Words<PassKind> {
  static constexpr const char* kList[] = {"render pass", "rendering"};
};
template <>
struct Words<Severity> {
  static constexpr const char* kList[] = {"info", "warning", "error"};
};

}  // namespace

const char* word(Ending value) { return Words<Ending>::kList[static_cast<size_t>(value)]; }
const char* word(CallKind value) { return Words<CallKind>::kList[static_cast<size_t>(value)]; }
const char* word(FrameEnd value) { return Words<FrameEnd>::kList[static_cast<size_t>(value)]; }
const char* word(PassKind value) { return Words<PassKind>::kList[static_cast<size_t>(value)]; }
const char* word(Severity value) { return Words<Severity>::kList[static_cast<size_t>(value)]; }

template <typename Enum>
std::optional<Enum> from_word(const std::string& text) {
  for (size_t i = 0; i < std::size(Words<Enum>::kList); ++i) {
    if (text == Words<Enum>::kList[i]) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

template std::optional<Ending> from_word(const std::string&);
template std::optional<CallKind> from_word(const std::string&);
template std::optional<FrameEnd> from_word(const std::string&);
template std::optional<PassKind> from_word(const std::string&);
template std::optional<Severity> from_word(const std::string&);

}  // namespace tally::store
