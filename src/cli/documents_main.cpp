// Writes what follows from the declarations of the commands: the manual pages into the first
// folder, where what is written by hand is kept, and the shell completions into the second.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <string>

#include "cli/documents.h"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: tally_command_documents MANUAL_FOLDER COMPLETIONS_FOLDER\n", stderr);
    return 2;
  }
  for (const auto& [file, text] : tally::cli::command_documents(argv[1], argv[2])) {
    std::FILE* const out = std::fopen(file.c_str(), "w");
    const bool written = out != nullptr && std::fputs(text.c_str(), out) >= 0;
    if (out == nullptr || std::fclose(out) != 0 || !written) {
      std::perror(file.c_str());
      return 2;
    }
  }
  return 0;
}
