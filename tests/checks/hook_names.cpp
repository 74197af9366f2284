// Prints "LAYER COMMAND" for every command that a layer stands in front of, for check_commands.py.
#include <cstdio>

#include "capture/entry/debug_utils.h"
#include "capture/entry/entry.h"
#include "counters/layer/entry_points.h"

namespace {

template <typename Table>
void print(const char* layer, const Table& table) {
  for (const auto& hook : table) {
    std::printf("%s %.*s\n", layer, static_cast<int>(hook.name.size()), hook.name.data());
  }
}

}  // namespace

int main() {
  print("counters", tally::counters::instance_hooks());
  print("counters", tally::counters::physical_device_hooks());
  print("counters", tally::counters::device_hooks());
  print("capture", tally::capture::instance_hooks());
  print("capture", tally::capture::any_device_hooks());
  print("capture", tally::capture::debug_utils_hooks());
  print("capture", tally::capture::device_hooks());
  return 0;
}
