// How a process introduces itself to the receiver.
#pragma once

#include <string>

#include "store/stream.h"

namespace tally::store::stream {

Hello hello_of_this_process(std::string application = {}, std::string engine = {});

}  // namespace tally::store::stream
