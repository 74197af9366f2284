// Runs work in child processes. An item that kills its process or never ends (a driver's compiler
// may do either) costs only that item, and the parent learns which one it was.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace tally::test {

// Sends a line to the parent immediately.
using SendLine = std::function<void(std::string_view line)>;
using Work = std::function<void(size_t item, const SendLine& send_line)>;

struct Death {
  std::string how;    // "Aborted"
  bool slow = false;  // it used up its processor time, so it may be right
};

struct Supervision {
  size_t count = 0;  // items 0, 1, ...
  // The processor time of an item. A busy machine does not shorten it.
  std::chrono::seconds limit = std::chrono::minutes(10);
  // An item that uses no processor time for so long hangs.
  std::chrono::seconds idle_limit = std::chrono::minutes(2);
  // Called in a child before its first item. A child processes the remaining items until all are
  // done or it dies. The parent must not have started threads or created a Vulkan instance.
  std::function<Work()> begin;
  // Both are called in the parent.
  std::function<void(size_t item, std::string_view line)> on_line;
  std::function<void(size_t item, const Death& death)> on_death;
};

// Throws std::runtime_error if a child dies before its first item.
void supervise(const Supervision& supervision);

}  // namespace tally::test
