// Aligns the lines of two versions of a text: which line of the one is which line of the other.
// Lines are equal if they differ only in leading and trailing white space.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analysis/diff/profile.h"

namespace tally::analysis {

enum class LineMatch : uint8_t {
  None,    // the other text does not have it
  Same,    // the same text in the same order
  Edited,  // between the same neighbours, with a similar text
  Moved,   // the same text, which occurs once, in another order
};

struct AlignedLine {
  LineMatch match = LineMatch::None;
  uint32_t after = 0;  // index into the lines after the change, unless None
};

// One element for each line of `before`. Each line of `after` is aligned at most once.
std::vector<AlignedLine> align_lines(std::span<const std::string> before,
                                     std::span<const std::string> after);

// The proportion of lines that both texts have, in any order, from 0 to 1; 0 if either is empty.
double likeness(std::span<const std::string> before, std::span<const std::string> after);

// The change as a patch in unified format; empty if the texts are equal.
std::string unified_patch(const std::string& file, std::span<const std::string> before,
                          std::span<const std::string> after);

// Which line of a shader is which line of another version of it.

class CodeAlignment {
 public:
  using Place = std::pair<uint32_t, uint32_t>;  // file, line
  struct Aligned {
    Place after;
    bool moved;
  };

  // A line whose text differs; one that was added or removed has one place.
  struct Edit {
    std::optional<Place> before, after;
  };

  CodeAlignment(const ShaderItem& before, const ShaderItem& after);

  // Nullopt: the version after does not have the line. Line 0 stands for code without a line.
  std::optional<Aligned> after_of(const Place& place) const;
  // Sorted by file, in the order of the lines. Lines that differ only in comments or white space,
  // or have no letter and no digit, are left out.
  const std::vector<Edit>& edits() const { return edits_; }

 private:
  void add_edits(uint32_t before_file, uint32_t after_file, const SourceText& before,
                 const SourceText& after, const std::vector<AlignedLine>& lines);

  bool same_lines_;
  std::map<Place, Aligned> aligned_;
  std::vector<Edit> edits_;
};

// The lines of two versions of a shader; a null one does not exist there.
struct LinePair {
  const LineItem* before;
  const LineItem* after;
  bool moved = false;
};
// Lines that both have come first, in the order of `before`.
std::vector<LinePair> pair_lines(const ShaderItem& before, const ShaderItem& after,
                                 const CodeAlignment& alignment);

// The name of a file without its folders.
std::string base_name(const std::string& path);
// True if the shader's lines are of reconstructed GLSL.
bool is_reconstructed(const ShaderItem& shader);

}  // namespace tally::analysis
