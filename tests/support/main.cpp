#include <gtest/gtest.h>

#include "support/context.h"
#include "support/environment.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
// Keeps all libraries loaded under a sanitizer, so that reports at exit can still name layers and
// drivers, and the suppressions for drivers apply.
extern "C" [[gnu::visibility("default")]] int dlclose(void*) { return 0; }
#endif

int main(int argc, char** argv) {
  tally::test::set_default_environment();
  tally::test::set_own_lock();
  tally::test::set_error_report(
      [](const tally::test::Message& error) { ADD_FAILURE() << error.id << ": " << error.text; });
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
