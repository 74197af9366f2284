#include <windows.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "support/environment.h"

namespace tally::test {
namespace {

// Wine hides the variables of Linux that begin with VK_.
void set_default(const char* name, const std::string& value) {
  if (std::getenv(name) == nullptr) set_variable(name, value);
}

}  // namespace

// The program is in bin, the layers in lib next to it. The registry names the drivers.
void set_default_environment() {
  std::array<wchar_t, 32768> program;
  ::GetModuleFileNameW(nullptr, program.data(), program.size());
  const std::filesystem::path folder = std::filesystem::path(program.data()).parent_path();
  set_default("VK_ADD_LAYER_PATH", (folder.parent_path() / "lib").string());
}

void set_own_lock() {
  set_default("TALLY_PROFILING_LOCK", "tally-test-" + std::to_string(::GetCurrentProcessId()));
}

void set_variable(const char* name, const std::string& value) { _putenv_s(name, value.c_str()); }
void unset_variable(const char* name) { _putenv_s(name, ""); }

void keep_libraries_loaded() {}

}  // namespace tally::test
