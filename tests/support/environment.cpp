#include "support/environment.h"

#include <dlfcn.h>
#include <link.h>

#include <cstdlib>

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

void keep_libraries_loaded() {
  const auto keep = [](dl_phdr_info* info, size_t, void*) {
    if (*info->dlpi_name) dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
    return 0;
  };
  dl_iterate_phdr(keep, nullptr);
}

bool validation_wanted() {
  const char* value = getenv("TALLY_TEST_VALIDATION");
  return value && std::string(value) == "1";
}

}  // namespace tally::test
