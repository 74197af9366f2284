// The output of `tally --version`.
#pragma once

#include <string>

namespace tally::cli {

// The program's version, the sources and the compiler that it was built with, and the versions of
// SPIR-V, SPIRV-Tools and Vulkan's headers that it knows. Without a line break at the end.
std::string version_text();

}  // namespace tally::cli
