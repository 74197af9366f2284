// The files that follow from the declarations of the commands.
#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace tally::cli {

// Each file's path and its text as it should be: the manual pages of the program and its commands,
// which keep what is written by hand there, and the completions of the shells.
std::map<std::filesystem::path, std::string> command_documents(
    const std::filesystem::path& manual, const std::filesystem::path& completions);

}  // namespace tally::cli
