#include <gtest/gtest.h>

#include "support/context.h"
#include "support/environment.h"

int main(int argc, char** argv) {
  tally::test::set_default_environment();
  tally::test::set_own_lock();
  tally::test::set_error_report(
      [](const tally::test::Message& error) { ADD_FAILURE() << error.id << ": " << error.text; });
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
