// Prints "LAYER COMMAND" for every command that a layer stands in front of, "hidden COMMAND" for
// every command that they hide, and "hidden_extension NAME", for check_commands.py.
#include <cstdio>

#include "capture/entry/entry.h"
#include "catalogue/hidden_extensions.h"
#include "counters/layer/entry_points.h"

namespace {

void print(const char* what, std::string_view name) {
  std::printf("%s %.*s\n", what, static_cast<int>(name.size()), name.data());
}

template <typename Table>
void print_hooks(const char* layer, const Table& table) {
  for (const auto& hook : table) print(layer, hook.name);
}

void print_hidden() {
  for (const auto& extension : tally::catalogue::hidden_extensions()) {
    print("hidden_extension", extension.name);
    for (const std::string_view command : extension.commands) {
      if (!command.empty()) print("hidden", command);
    }
  }
}

}  // namespace

int main() {
  print_hooks("counters", tally::counters::instance_hooks());
  print_hooks("counters", tally::counters::physical_device_hooks());
  print_hooks("counters", tally::counters::device_hooks());
  print_hooks("capture", tally::capture::instance_hooks());
  print_hooks("capture", tally::capture::physical_device_hooks());
  print_hooks("capture", tally::capture::any_device_hooks());
  print_hooks("capture", tally::capture::debug_utils_hooks());
  print_hooks("capture", tally::capture::device_hooks());
  print_hidden();
  return 0;
}
