#include "egl/driver/driver.h"

#include <algorithm>
#include <array>

namespace tally::egl {
namespace {

constexpr std::array<std::string_view, kEglFnCount> kNames = {
#define EGL(function, handler) #function,
#include "egl/front/functions.def"
#undef EGL
};
static_assert(std::is_sorted(kNames.begin(), kNames.end()));

}  // namespace

const char* name_of(EglFn function) { return kNames[static_cast<size_t>(function)].data(); }

std::optional<EglFn> find_egl_function(std::string_view name) {
  const auto found = std::lower_bound(kNames.begin(), kNames.end(), name);
  if (found == kNames.end() || *found != name) return std::nullopt;
  return static_cast<EglFn>(found - kNames.begin());
}

}  // namespace tally::egl
