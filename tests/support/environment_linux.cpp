#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "support/environment.h"

namespace tally::test {

void set_default_environment() {
  const int keep = 0;
  if (!getenv("VK_ICD_FILENAMES")) {
    setenv("VK_DRIVER_FILES", "/usr/share/vulkan/icd.d/lvp_icd.x86_64.json", keep);
  }
  setenv("VK_ADD_LAYER_PATH", TALLY_TEST_LAYER_PATH, keep);
}

void set_own_lock() {
  setenv("TALLY_PROFILING_LOCK", ("tally-test-" + std::to_string(getpid())).c_str(), 0);
}

void set_variable(const char* name, const std::string& value) { setenv(name, value.c_str(), 1); }
void unset_variable(const char* name) { unsetenv(name); }

// Collects the names first: no library may be opened while the list is locked.
void keep_libraries_loaded() {
  std::vector<std::string> names;
  const auto add = [](dl_phdr_info* info, size_t, void* found) {
    if (*info->dlpi_name) static_cast<std::vector<std::string>*>(found)->push_back(info->dlpi_name);
    return 0;
  };
  dl_iterate_phdr(add, &names);
  for (const std::string& name : names)
    dlopen(name.c_str(), RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

}  // namespace tally::test
