// The environment and the standard streams of this process.
#pragma once

#include <cstddef>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

namespace tally::platform {

// nullptr: it is not set, or the program is privileged. Then whoever started the program must not
// choose its files.
const char* trusted_variable(const char* name);

// The environment as "NAME=value".
std::vector<std::string> variables();

bool is_terminal(std::FILE* stream);

// In cells. Nothing where standard output is no terminal.
std::optional<size_t> terminal_width();

}  // namespace tally::platform
