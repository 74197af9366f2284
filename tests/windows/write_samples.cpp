// Writes the captures of the golden reports: write_samples BEFORE.tally AFTER.tally DRAWS.tally
#include <cstdio>

#include "../golden/sample_capture.h"

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fputs("usage: write_samples BEFORE AFTER DRAWS\n", stderr);
    return 2;
  }
  tally::test::write_sample_capture(argv[1]);
  tally::test::write_sample_capture(argv[2], 11);
  tally::test::write_different_draws(argv[3], 100);
  return 0;
}
