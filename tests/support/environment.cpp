#include "support/environment.h"

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

bool validation_wanted() {
  const char* value = getenv("TALLY_TEST_VALIDATION");
  return value && std::string(value) == "1";
}

}  // namespace tally::test
