// A random compute program that keeps a flag for some of its blocks, as counting does, but without
// our code: where a driver runs that wrongly, what it does to the counted program is its own fault.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tally::test {

// The labels of the blocks (`%name = OpLabel`) whose flags make some driver run program `seed`
// wrongly; empty for nearly all programs.
std::span<const std::string_view> labels_to_flag(uint64_t seed);

// `text` with a private variable in which each of these blocks sets a bit of its own. The program
// stores the same values: the variable's highest bit, which no block sets, is added to them.
std::string with_flags(std::string text, std::span<const std::string_view> labels);

}  // namespace tally::test
