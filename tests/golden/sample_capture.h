// A capture as two frames of a small renderer would make it, with shaders that have source lines
// and shaders that have none. Every number in it is chosen by hand, so that a table made of it can
// be checked by hand.
#pragma once

#include <string>

namespace tally::test {

// Writes it to `path`; throws std::runtime_error where that fails.
void write_sample_capture(const std::string& path);

}  // namespace tally::test
