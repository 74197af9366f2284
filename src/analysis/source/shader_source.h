// The source lines of shaders: the one place that decides which lines a report shows.
//
// - Debug: the debug information has lines, and the text of a file is embedded.
// - File: the text is from a file of the user's folder (--sources of `tally run` or `report`).
// - Reconstructed: GLSL that SPIRV-Cross made of the SPIR-V (reconstruct.h).
// - Spirv: there are no lines; a report shows instructions.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/model/shader_code.h"
#include "base/status.h"
#include "spirv/analysis/block_map.h"
#include "store/read/reader.h"

namespace tally::analysis {

// The source files of a capture that its debug information only names.

// Finds source files that debug information only names, in a folder of the user.

class SourceFolder {
 public:
  // Lists the files below the folder, without hidden folders and without following links to
  // folders.
  static Result<SourceFolder> open(const std::string& path);

  struct Match {
    std::string text;
    std::vector<std::string> candidates;  // if several files match equally well; `text` is empty
  };
  // The file whose path shares the most components with `name`, from the end; at least the last.
  // Nullopt if there is none, or if it cannot be read or is too large.
  std::optional<Match> find(std::string_view name) const;

 private:
  std::string path_;
  std::multimap<std::string, std::string> by_title_;  // relative paths by last component
};

// The texts that the capture stores with the shaders, by name.
Result<std::map<std::string, std::string>> stored_texts(const Model& model);

struct FoundTexts {
  std::vector<store::SourceText> texts;
  std::vector<std::string> missing;    // names without a file in the folder
  std::vector<std::string> ambiguous;  // names that several files match
};

// Looks for the files with code whose texts the shaders do not hold.
FoundTexts find_texts(const Model& model, const SourceFolder& folder);

// The text of a file of the map from elsewhere, as compilers number its lines
// (spirv/analysis/line_directives.h).
std::string numbered_text(const spirv::BlockMap& map, uint32_t file, std::string text);

// Indexed by file: whether a block has a line of it.
std::vector<bool> files_with_code(const spirv::BlockMap& map);

enum class SourceOrigin : uint8_t { Debug, File, Reconstructed, Spirv };

// "debug", "file", "reconstructed", "spirv"
std::string_view origin_name(SourceOrigin origin);

enum class SourceChoice : uint8_t { Auto, Debug, Glsl, Spirv };

// The names of SourceChoice's values for users, in the same order.
inline constexpr std::string_view kSourceChoiceNames[] = {"auto", "debug", "glsl", "spirv"};

struct SourceOptions {
  SourceChoice choice = SourceChoice::Auto;
  std::shared_ptr<const SourceFolder> folder;  // may be null
};

struct SourceFileText {
  std::string name;                // as recorded in the shader
  std::vector<std::string> lines;  // empty: the text is not known
  SourceOrigin origin = SourceOrigin::Debug;
};

// The lines of one shader. The blocks of `map` have the public numbers, like those of
// ShaderCode::map, but its word offsets may be those of a copy of the module.
class ShaderSource {
 public:
  // Where most of its source text came from. Spirv: no source.
  SourceOrigin origin() const { return origin_; }
  bool has_lines() const { return origin_ != SourceOrigin::Spirv; }
  const spirv::BlockMap& map() const { return own_map_ ? *own_map_ : *code_map_; }
  const std::vector<SourceFileText>& files() const { return files_; }
  // The file's name without its folders; "source" if it has no name.
  std::string file_title(uint32_t file) const;
  // "" if the file has no text, spirv::kNoText if it has none of this line.
  const std::string& text(const spirv::SourceLocation& location) const;
  // Why the choice fell on SPIR-V although GLSL was wanted; empty if it did not.
  const std::string& why_not_reconstructed() const { return why_not_; }

 private:
  friend class ShaderSources;

  SourceOrigin origin_ = SourceOrigin::Spirv;
  const spirv::BlockMap* code_map_ = nullptr;
  std::optional<spirv::BlockMap> own_map_;
  std::vector<SourceFileText> files_;
  std::string why_not_;
};

// The sources of a capture's shaders, made on first use and then cached. The model and the codes
// must outlive them.
class ShaderSources {
 public:
  ShaderSources(const Model& model, ShaderCodes& codes, SourceOptions options = {});

  // The source of a shader whose code is known (ShaderCodes::of).
  const ShaderSource& of(uint32_t shader);

  const SourceOptions& options() const { return options_; }

  // Sentences about the shaders that were asked for so far, for example about files that were not
  // found.
  std::vector<std::string> notes() const;
  // Names those that are shown as SPIR-V although GLSL was wanted, with the reasons; may be empty.
  std::string note_of_spirv() const;

 private:
  ShaderSource make(uint32_t shader, const ShaderCode& code);
  void add_files(ShaderSource& source, const spirv::BlockMap& map);
  void add_text_from_outside(const spirv::BlockMap& map, uint32_t file, SourceFileText& added);
  void add_reconstruction(ShaderSource& source, uint32_t shader, const ShaderCode& code);

  const Model& model_;
  ShaderCodes& codes_;
  SourceOptions options_;
  std::map<std::string, std::string> stored_texts_;     // of the capture, by name
  std::vector<std::unique_ptr<ShaderSource>> sources_;  // by shader
  std::vector<std::string> missing_files_, ambiguous_files_, not_reconstructed_;
  size_t reconstructed_ = 0;
};

}  // namespace tally::analysis
