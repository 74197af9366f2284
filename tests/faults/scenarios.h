// Programs for the tests of failures: what each enables, and what it does on its device. They use a
// device as applications do, and on an error they wait for the device before they destroy anything.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "support/context.h"

namespace tally::test {

struct Scenario {
  std::string name;
  std::vector<const char*> layers;
  std::vector<const char*> extensions;
  std::map<std::string, std::string> settings;  // variables of the environment
  void* features = nullptr;                     // of the extensions
  // Commands that shaders run for and that are submitted; 0: the program is not captured.
  int64_t commands = 0;
  // Throws VulkanError on the first error of a call. Returns what is wrong with its own results.
  std::function<std::vector<std::string>(Context&)> run;
};

std::vector<Scenario> fault_scenarios();

}  // namespace tally::test
