#include "egl/gl/functions.h"

#include <algorithm>
#include <array>

namespace tally::egl {
namespace {

constexpr std::array<std::string_view, kFnCount> kGlNames = {
#define GL(function, handler) #function,
#include "egl/gl/functions.def"
#undef GL
};

// Indices of kGlNames sorted by name, because filling a driver's table takes a few thousand
// lookups.
constexpr std::array<uint16_t, kFnCount> kByName = [] {
  std::array<uint16_t, kFnCount> order{};
  for (size_t i = 0; i < kFnCount; i++) order[i] = static_cast<uint16_t>(i);
  std::sort(order.begin(), order.end(),
            [](uint16_t a, uint16_t b) { return kGlNames[a] < kGlNames[b]; });
  return order;
}();

}  // namespace

const char* name_of(Fn function) { return kGlNames[static_cast<size_t>(function)].data(); }

std::optional<Fn> find_function(std::string_view name) {
  const auto found =
      std::lower_bound(kByName.begin(), kByName.end(), name,
                       [](uint16_t i, std::string_view n) { return kGlNames[i] < n; });
  if (found == kByName.end() || kGlNames[*found] != name) return std::nullopt;
  return static_cast<Fn>(*found);
}

}  // namespace tally::egl
