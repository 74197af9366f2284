// Work in child processes. What kills its process or never ends (a driver's compiler may do either)
// costs one item, and the parent learns which.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace tally::test {

// Sends a line to the parent, at once.
using Say = std::function<void(std::string_view line)>;
using Work = std::function<void(size_t item, const Say& say)>;

struct Supervision {
  size_t count = 0;                                       // items 0, 1, ...
  std::chrono::seconds limit = std::chrono::minutes(10);  // for one item
  // Called in a child before its first item; a child does what is left until it is done or dies.
  // The parent must not have started threads, nor have a Vulkan instance.
  std::function<Work()> begin;
  // Called in the parent.
  std::function<void(size_t item, std::string_view line)> heard;
  std::function<void(size_t item, const std::string& how)> died;
};

// Throws std::runtime_error where a child does not even come to its first item.
void supervise(const Supervision& supervision);

}  // namespace tally::test
