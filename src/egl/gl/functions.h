// The GL functions that Tally stands in front of (functions.def): numbers, names and the stubs that
// applications call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tally::egl {

// A function of any signature; cast back to its own before it is called.
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

// What the application gets instead of the driver's function. It calls the driver through the table
// of the current context's driver (hot.h).
AnyFunction stub_of(Fn function);

}  // namespace tally::egl
