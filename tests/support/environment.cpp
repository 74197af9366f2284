#include "support/environment.h"

#include <cstdlib>

namespace tally::test {

std::string driver_name() {
  const char* name = std::getenv("TALLY_TEST_DRIVER");
  return name ? name : "lavapipe";
}

bool validation_wanted() {
  const char* value = std::getenv("TALLY_TEST_VALIDATION");
  return value && std::string(value) == "1";
}

}  // namespace tally::test
