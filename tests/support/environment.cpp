#include "support/environment.h"

#include <dlfcn.h>
#include <link.h>

#include <cstdlib>
#include <vector>

namespace tally::test {

void set_default_environment() {
  const int keep = 0;
  if (!getenv("VK_ICD_FILENAMES")) {
    setenv("VK_DRIVER_FILES", "/usr/share/vulkan/icd.d/lvp_icd.x86_64.json", keep);
  }
  setenv("VK_ADD_LAYER_PATH", TALLY_TEST_LAYER_PATH, keep);
}

std::string driver_name() {
  const char* name = getenv("TALLY_TEST_DRIVER");
  return name ? name : "lavapipe";
}

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

bool validation_wanted() {
  const char* value = getenv("TALLY_TEST_VALIDATION");
  return value && std::string(value) == "1";
}

}  // namespace tally::test
