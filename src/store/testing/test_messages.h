// Messages of the capture stream for tests and fuzzers' seeds.
#pragma once

#include <vector>

#include "store/stream/stream.h"

namespace tally::store::stream {

// In the order of the kinds, with no field at its default.
std::vector<AnyMessage> one_message_of_each_kind();

}  // namespace tally::store::stream
