// Prints the Markdown page of all counters.
#include <cstdio>

#include "catalogue/catalogue.h"

int main() {
  const std::string page = tally::catalogue::markdown();
  return std::fwrite(page.data(), 1, page.size(), stdout) == page.size() ? 0 : 1;
}
