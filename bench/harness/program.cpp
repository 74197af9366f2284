#include "harness/program.h"

#include <fmt/format.h>
#include <malloc.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <limits>

namespace tally::bench {

int run_program(const std::function<void()>& body) {
  try {
    const auto program = std::filesystem::read_symlink("/proc/self/exe");
    const auto layers = program.parent_path().parent_path() / "lib";
    mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
    setenv("VK_ADD_LAYER_PATH", layers.c_str(), 0);
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    body();
    return 0;
  } catch (const std::exception& error) {
    return fail(error);
  }
}

int fail(const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}

void print_device(const Capabilities& capabilities) {
  fmt::print("{} ({}), subgroups of {}\n\n", capabilities.name, capabilities.driver,
             capabilities.subgroup_size);
}

}  // namespace tally::bench
