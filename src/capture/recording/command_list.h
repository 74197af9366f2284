// All commands that are recorded into command buffers, and the next layer's functions for them. For
// command buffers that are recorded twice (counting_copy.h): a command that one of the two lacks
// would change what it draws.
#pragma once

#include <vulkan/vulkan_core.h>

#include <array>
#include <cstddef>

namespace tally::capture {

// Indexes of the functions.
enum class Command : size_t {
#define TALLY_COMMAND(name, types) name,
#include "capture/recording/command_list.inc"
#undef TALLY_COMMAND
  Count,
};

class CommandFunctions {
 public:
  template <typename Get>
  void load(const Get& get) {
#define TALLY_COMMAND(name, types) functions_[static_cast<size_t>(Command::name)] = get(#name);
#include "capture/recording/command_list.inc"
#undef TALLY_COMMAND
  }

  PFN_vkVoidFunction operator[](Command command) const {
    return functions_[static_cast<size_t>(command)];
  }

 private:
  std::array<PFN_vkVoidFunction, static_cast<size_t>(Command::Count)> functions_{};
};

}  // namespace tally::capture
