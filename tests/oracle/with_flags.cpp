#include "oracle/with_flags.h"

#include <fmt/format.h>
#include <array>
#include <stdexcept>

namespace tally::test {
namespace {

// lavapipe 22.3 runs it wrongly, lavapipe 25.0 and SwiftShader do not.
constexpr uint64_t kProgram3555 = 3555;
constexpr std::array<std::string_view, 2> kLabelsOf3555 = {"body9", "after20"};

void replace(std::string& text, std::string_view old, const std::string& replacement) {
  const size_t at = text.find(old);
  if (at == std::string::npos) {
    throw std::runtime_error(fmt::format("the program has no line '{}'", old));
  }
  text.replace(at, old.size(), replacement);
}

}  // namespace

std::span<const std::string_view> labels_to_flag(uint64_t seed) {
  if (seed == kProgram3555) return kLabelsOf3555;
  return {};
}

std::string with_flags(std::string text, std::span<const std::string_view> labels) {
  constexpr std::string_view kFuel = "%fuel = OpVariable %private_uint Private\n";
  constexpr std::string_view kStart = "%start = OpLabel\n";
  constexpr std::string_view kEnd = "OpStore %slot %result\n";
  replace(text, kFuel, fmt::format("{}%flags = OpVariable %private_uint Private\n", kFuel));
  replace(text, kStart, fmt::format("{}OpStore %flags %c0\n", kStart));
  replace(text, kEnd,
          "%all_flags = OpLoad %uint %flags\n"
          "%highest_flag = OpShiftRightLogical %uint %all_flags %c31\n"
          "%sum = OpIAdd %uint %result %highest_flag\n"
          "OpStore %slot %sum\n");
  for (size_t i = 0; i < labels.size(); ++i) {
    const std::string label = fmt::format("%{} = OpLabel\n", labels[i]);
    replace(text, label,
            fmt::format("{0}%old_flags{1} = OpLoad %uint %flags\n"
                        "%new_flags{1} = OpBitwiseOr %uint %old_flags{1} %c{2}\n"
                        "OpStore %flags %new_flags{1}\n",
                        label, i, 4u << i));
  }
  return text;
}

}  // namespace tally::test
