// The catalogue as a page for people: docs/reference/counters.md is what this gives.
#pragma once

#include <string>

namespace tally::catalogue {

std::string markdown();

}  // namespace tally::catalogue
