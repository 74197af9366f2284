// Why a program may have made no Vulkan device that Tally could see, as far as its file tells.
#pragma once

#include <optional>
#include <string>

namespace tally::cli {

// A sentence, or nothing where the file looks right. `program` is searched in `search_path` (as
// PATH).
std::optional<std::string> why_no_layer_was_loaded(const std::string& program,
                                                   const std::string& search_path);

}  // namespace tally::cli
