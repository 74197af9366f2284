// The catalogue as a page: docs/reference/counters.md.
#pragma once

#include <string>

namespace tally::catalogue {

std::string markdown();

}  // namespace tally::catalogue
