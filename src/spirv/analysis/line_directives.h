// The texts of source files by the names and numbers of lines that compilers record. `#line` in a
// text gives the lines after it another number, and often the name of another file.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "spirv/analysis/source_info.h"

namespace tally::spirv {

// Shown in place of a line that has code but that no text contains.
inline constexpr std::string_view kNoText = "(not available)";

// Beyond this number a line has no text, so that its file can be written.
inline constexpr uint32_t kMaxNumberedLine = 100'000;

// Makes line i of each text the line that compilers call i: of all texts, the lines that `#line`
// gives this file are part of it, and the lines that it gives other files are not. A number without
// a line is an empty line, or kNoText if it has code: so is a number with two lines that differ,
// and one beyond the end of the text. Texts in which `#line` cannot be read are left out.
//
// `code`: the locations that have code, of these files. Files without any text stay without.
void number_lines(std::vector<SourceFile>& files, std::span<const SourceLocation> code);

}  // namespace tally::spirv
