// Manual pages: what the declarations of the commands say is generated, the rest is written by
// hand.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace tally::cli {

// The page with its generated part made again: all before kManualMark. The text after it is kept; a
// page without the mark has nothing else. `command` is the program or one of its commands.
std::string manual_page(CLI::App& command, const std::string& page);

inline constexpr const char* kManualMark =
    ".\\\" The part above is generated: cmake --build BUILD --target command_documents\n";

}  // namespace tally::cli
