#include "egl/front/own_error.h"

#include <utility>

namespace tally::egl {
namespace {
constinit thread_local std::optional<EGLint> t_error;
}

void set_own_error(EGLint error) { t_error = error; }
std::optional<EGLint> take_own_error() { return std::exchange(t_error, std::nullopt); }

}  // namespace tally::egl
