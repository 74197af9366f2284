// Writes source files whose names come from shaders into a folder of the user. Whatever a name
// holds, nothing outside the folder is touched, and no file is overwritten.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace tally::cli {

// A relative path without "..", drive letters and control characters: "C:\a\..\b.hlsl" becomes
// "C_/a/b.hlsl". Never empty.
std::string safe_relative_path(std::string_view name);

// Writes the text below the folder, which is created if necessary. A file that has this text
// already is left as it is; one with another text is an error, and so is a link on the way. Returns
// the file's absolute path.
Result<std::string> write_source(const std::string& folder, std::string_view name,
                                 std::string_view text);

}  // namespace tally::cli
