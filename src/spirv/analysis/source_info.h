// The debug information of a module: its source files with their texts, the names of its functions
// in the source, and the line of each instruction. Supports OpLine with OpSource,
// NonSemantic.Shader.DebugInfo.100, and the files and function names of OpenCL.DebugInfo.100.
//
// Invalid or missing debug information is not an error.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "spirv/ir/module.h"

namespace tally::spirv {

struct SourceFile {
  std::string name;
  std::string text;  // from line 1; empty if the module does not contain it
};

struct SourceLocation {
  uint32_t file = 0;  // index into the list of files
  uint32_t line = 0;  // from 1
  uint32_t column = 0;
  uint32_t end_line = 0;  // the last line, at least `line`
  bool operator==(const SourceLocation&) const = default;
};

// The source location and source function of an instruction. After inlining, the source function
// may differ from the function that contains the instruction.
struct SourcePlace {
  std::optional<SourceLocation> location;
  uint32_t source_function = kNone;  // index into the list of source functions
  uint32_t inlined_at = 0;           // id of the DebugInlinedAt of the inlined call; 0: not inlined
};

// A call that was inlined: the place of the call.
struct InlinedAt {
  std::optional<SourceLocation> location;  // of the call
  uint32_t caller = kNone;  // its source function; index into the list of source functions
  uint32_t inlined_at = 0;  // id of the DebugInlinedAt of the caller; 0: it was not inlined
};

class SourceInfo {
 public:
  explicit SourceInfo(const Module& module);

  const Module& module() const { return *module_; }
  // One for each name, without a leading "./".
  std::vector<SourceFile>& files() { return files_; }
  // The names of the functions in the debug information.
  std::vector<std::string>& source_functions() { return source_functions_; }

  // The name of a function in the source, without parameters; "%id" if not known.
  std::string function_name(uint32_t function_id) const;

  // Index of the file that a function is declared in, or kNone.
  uint32_t file_of_function(uint32_t function_id) const;

  // Index of the file named by an OpString or a DebugSource, or kNone. A new name adds a file.
  uint32_t file_of(uint32_t id) { return add_file(id); }
  // Index of the source function that a debug scope belongs to, or kNone.
  uint32_t function_of_scope(uint32_t scope) const;
  // Empty if the id is of no DebugInlinedAt.
  InlinedAt inlined_at(uint32_t id) const;

 private:
  void read(const Instruction& instruction);
  void read_source(const Instruction& source);
  void read_debug(const Instruction& instruction, ExtInstSet set);
  void read_definitions();
  uint32_t add_file(uint32_t string_id);
  void add_text(uint32_t file, std::string_view text);
  std::string string_of(uint32_t string_id, size_t limit) const;

  const Module* module_;
  std::vector<SourceFile> files_;
  std::vector<std::string> source_functions_;
  std::vector<uint32_t> function_files_;  // by source function; kNone: not known
  std::unordered_map<std::string, uint32_t> file_by_name_;
  std::unordered_map<uint32_t, uint32_t> file_by_id_;
  std::unordered_map<uint32_t, uint32_t> function_by_debug_id_;  // DebugFunction -> source function
  std::unordered_map<uint32_t, uint32_t> function_by_id_;        // OpFunction -> source function
  size_t text_left_;                 // bytes of text that may still be stored
  uint32_t continued_file_ = kNone;  // the file that OpSourceContinued and the like extend
};

// Visits the instructions of functions in order and knows the source place of the current one. Line
// information applies until it is replaced or ended, at most to the end of its block. A line keeps
// its scope: optimisers end the scope, but not the line, before the branch at the end of a block.
class LineCursor {
 public:
  explicit LineCursor(SourceInfo& info) : info_(&info) {}

  void advance(const Instruction& instruction);
  const SourcePlace& place() const { return place_; }

 private:
  enum class Origin : uint8_t { None, Line, DebugLine };

  void set_line(const Instruction& line);
  void set_debug(const Instruction& instruction);
  void set_debug_line(const Instruction& line);
  void begin_line(Origin origin);
  void withdraw(Origin origin);

  SourceInfo* info_;
  SourcePlace place_;
  Origin origin_ = Origin::None;
  bool scope_ended_ = false;  // the next line has no scope
  bool at_end_ = false;       // of a block: line information ends here
};

// The texts of source files by the names and numbers of lines that compilers record. `#line` in a
// text gives the lines after it another number, and often the name of another file.

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
