#include "egl/front/own_error.h"

#include <utility>

namespace tally::egl {
namespace {
constinit thread_local EGLint t_error = EGL_SUCCESS;
}

void set_own_error(EGLint error) { t_error = error; }
EGLint take_own_error() { return std::exchange(t_error, EGL_SUCCESS); }

}  // namespace tally::egl
