// Reads docs/reference/capture-format.md and prints it with its tables regenerated.

#include <iostream>
#include <iterator>
#include <string>

#include "store/format/schema.h"

int main() {
  const std::string page(std::istreambuf_iterator<char>(std::cin), {});
  std::cout << tally::store::document_tables(page);
  return std::cout.flush() ? 0 : 1;
}
