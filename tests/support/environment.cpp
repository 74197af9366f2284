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

bool has_address_sanitizer() {
#if defined(__SANITIZE_ADDRESS__)
  return true;
#elif defined(__has_feature)
  return __has_feature(address_sanitizer);
#else
  return false;
#endif
}

}  // namespace tally::test
