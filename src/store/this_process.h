// The first message of this process to the receiver.
#pragma once

#include <string>

#include "store/stream.h"

namespace tally::store::stream {

Process describe_this_process(std::string application = {}, std::string engine = {});

}  // namespace tally::store::stream
