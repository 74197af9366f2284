// The files that follow from the declarations of the commands.
#pragma once

#include <CLI/CLI.hpp>

#include <filesystem>
#include <map>
#include <string>

namespace tally::cli {

// Shell completions, made from the declarations of the commands.

std::string bash_completion(CLI::App& app);
std::string zsh_completion(CLI::App& app);
std::string fish_completion(CLI::App& app);

// Manual pages: what the declarations of the commands say is generated, the rest is written by
// hand.

// The page with its generated part made again: all before kManualMark. The text after it is kept; a
// page without the mark has nothing else. `command` is the program or one of its commands.
std::string manual_page(CLI::App& command, const std::string& page);

inline constexpr const char* kManualMark =
    ".\\\" The part above is generated: cmake --build BUILD --target command_documents\n";

// Each file's path and its text as it should be: the manual pages of the program and its commands,
// which keep what is written by hand there, and the completions of the shells.
std::map<std::filesystem::path, std::string> command_documents(
    const std::filesystem::path& manual, const std::filesystem::path& completions);

}  // namespace tally::cli
