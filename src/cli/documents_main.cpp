// Writes the documents that are generated:
// - `counters_page`: docs/reference/counters.md, to standard output;
// - `capture_format_page`: docs/reference/capture-format.md from standard input, with its tables
//   regenerated;
// - `command_documents`: the manual pages into the first folder, where what is written by hand is
//   kept, and the shell completions into the second.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <string>
#include <string_view>

#include "catalogue/catalogue.h"
#include "cli/documents.h"
#include "store/format/schema.h"

namespace {

int print(const std::string& page) {
  std::cout << page;
  return std::cout.flush() ? 0 : 1;
}

int write_command_documents(const char* manual, const char* completions) {
  for (const auto& [file, text] : tally::cli::command_documents(manual, completions)) {
    std::FILE* const out = std::fopen(file.c_str(), "w");
    const bool written = out != nullptr && std::fputs(text.c_str(), out) >= 0;
    if (out == nullptr || std::fclose(out) != 0 || !written) {
      std::perror(file.c_str());
      return 2;
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "";
  if (what == "counters_page") return print(tally::catalogue::markdown());
  if (what == "capture_format_page") {
    const std::string page(std::istreambuf_iterator<char>(std::cin), {});
    return print(tally::store::document_tables(page));
  }
  if (what == "command_documents" && argc == 4) return write_command_documents(argv[2], argv[3]);
  std::fputs(
      "usage: tally_documents counters_page | capture_format_page |\n"
      "       command_documents MANUAL_FOLDER COMPLETIONS_FOLDER\n",
      stderr);
  return 2;
}
