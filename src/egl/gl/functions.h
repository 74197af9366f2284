// The GL functions that Tally intercepts (functions.def): indices, names and the stubs that
// applications call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tally::egl {

// A function of any signature. Cast it back to its own type before the call.
using AnyFunction = void (*)();

enum class Fn : uint16_t {
#define GL(function, handler) function,
#include "egl/gl/functions.def"
#undef GL
};

inline constexpr size_t kFnCount = 0
#define GL(function, handler) +1
#include "egl/gl/functions.def"
#undef GL
    ;

const char* name_of(Fn function);
std::optional<Fn> find_function(std::string_view name);

// The function that the application gets in place of the driver's. It calls the driver through the
// table of the current context's driver (hot.h).
AnyFunction stub_of(Fn function);

}  // namespace tally::egl
