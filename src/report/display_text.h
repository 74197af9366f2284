// Formats untrusted text for a terminal. Names and source lines come from the application, so
// control characters never reach the terminal. Widths are in terminal cells, not in bytes.
#pragma once

#include <string>
#include <string_view>

namespace tally::report {

// UTF-8 that is safe to print on one line: tabs become spaces up to the next multiple of 4; other
// control characters and malformed bytes become U+FFFD.
std::string printable(std::string_view text);

// The number of terminal cells of printable text: 0 for combining marks, 2 for East Asian wide
// characters and emoji.
size_t display_width(std::string_view text);

// Shortens `text` to at most `width` cells; "…" marks the cut, at the end or at the start.
std::string shortened(std::string_view text, size_t width);
std::string shortened_at_start(std::string_view text, size_t width);

// Wraps printable text at spaces into lines of at most `width` cells. Each line is indented by two
// spaces and ends with a newline.
std::string wrapped(std::string_view text, size_t width);

// Pads `text` with spaces to `width` cells.
std::string left_aligned(std::string_view text, size_t width);
std::string right_aligned(std::string_view text, size_t width);

}  // namespace tally::report
