// Shell completions, made from the declarations of the commands.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace tally::cli {

std::string bash_completion(CLI::App& app);
std::string zsh_completion(CLI::App& app);
std::string fish_completion(CLI::App& app);

}  // namespace tally::cli
