// The EGL functions that Tally intercepts (functions.def): indices and names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "egl/gl/functions.h"

namespace tally::egl {

enum class EglFn : uint8_t {
#define EGL(function, handler) function,
#include "egl/front/functions.def"
#undef EGL
};

inline constexpr size_t kEglFnCount = 0
#define EGL(function, handler) +1
#include "egl/front/functions.def"
#undef EGL
    ;

const char* name_of(EglFn function);
std::optional<EglFn> find_egl_function(std::string_view name);

}  // namespace tally::egl
