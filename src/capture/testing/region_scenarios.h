// Scenarios of the client for what is captured by region.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "support/context.h"

namespace tally::test {

const std::map<std::string, std::function<void(Context&)>>& region_scenarios();

}  // namespace tally::test
