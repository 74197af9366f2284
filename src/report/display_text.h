// How text of unknown origin is put on a terminal: names and source lines come from the
// application, so control characters never reach the terminal, and columns are counted in terminal
// cells, not in bytes.
#pragma once

#include <string>
#include <string_view>

namespace tally::report {

// UTF-8 that is safe to print on one line: tabs become spaces up to the next multiple of 4, other
// control characters and malformed bytes become U+FFFD.
std::string printable(std::string_view text);

// Terminal cells that printable text takes: 0 for combining marks, 2 for East Asian wide characters
// and emoji.
size_t display_width(std::string_view text);

// `text` in at most `width` cells; what is cut off is marked by "…", at the end or at the start.
std::string shortened(std::string_view text, size_t width);
std::string shortened_at_start(std::string_view text, size_t width);

// Printable text as lines of at most `width` cells, broken at spaces, each with two spaces in front
// and a line end.
std::string wrapped(std::string_view text, size_t width);

// `text` filled up with spaces to `width` cells.
std::string left_aligned(std::string_view text, size_t width);
std::string right_aligned(std::string_view text, size_t width);

}  // namespace tally::report
