#include <gtest/gtest.h>

#include "support/environment.h"

int main(int argc, char** argv) {
  tally::test::set_default_environment();
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
