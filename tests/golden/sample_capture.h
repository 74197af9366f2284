// A capture as if of two frames of a small renderer, with shaders with and without source
// lines. All its numbers are chosen by hand, so that tables made from it can be checked by hand.
#pragma once

#include <cstdint>
#include <string>

namespace tally::test {

// Writes the capture to `path`. `iterations` are those of the compute shader's loop in each
// invocation.
void write_sample_capture(const std::string& path, int64_t iterations = 10);

// The same capture, as if of tally run --clocks=4, with the cycles of the compute shader and its
// loop.
void write_timed_capture(const std::string& path);

// A capture with the same shaders: one pass of draws that all differ, in parameters and counts.
void write_different_draws(const std::string& path, int64_t draws);

}  // namespace tally::test
