// Renders the catalogue as Markdown: the content of docs/counters.md.
#pragma once

#include <string>

namespace tally::catalogue {

std::string markdown();

}  // namespace tally::catalogue
