// Receives a report piece by piece.
#pragma once

#include <functional>
#include <string_view>

namespace tally::report {

using Output = std::function<void(std::string_view)>;

}  // namespace tally::report
