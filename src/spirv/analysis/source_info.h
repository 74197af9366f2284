// The debug information of a module: its source files with their texts, what its functions are
// called in the source, and which line each instruction came from. Understands OpLine with
// OpSource, NonSemantic.Shader.DebugInfo.100, and of OpenCL.DebugInfo.100 the files and function
// names.
//
// Debug information is taken as it comes: what is wrong or missing in it leaves things unknown and
// is no error.
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
  std::string text;  // line 1 first; empty where the module does not carry it
};

struct SourceLocation {
  uint32_t file = 0;  // index into the list of files
  uint32_t line = 0;  // from 1
  uint32_t column = 0;
  uint32_t end_line = 0;  // the last line, at least `line`
  bool operator==(const SourceLocation&) const = default;
};

// Where an instruction came from, and out of which function of the source: that can be another than
// the one it stands in, where calls were inlined.
struct SourcePlace {
  std::optional<SourceLocation> location;
  uint32_t source_function = kNone;  // index into the list of source functions
};

class SourceInfo {
 public:
  explicit SourceInfo(const Module& module);

  const Module& module() const { return *module_; }
  // One for each name, without "./" before it.
  std::vector<SourceFile>& files() { return files_; }
  // The names of functions that debug information knows.
  std::vector<std::string>& source_functions() { return source_functions_; }

  // What a function is called in the source, without parameters; "%id" if nothing is known.
  std::string function_name(uint32_t function_id) const;

  // Index of the file that an OpString or a DebugSource names, or kNone. A name not seen before
  // adds a file.
  uint32_t file_of(uint32_t id) { return add_file(id); }
  // Index of the source function that a debug scope belongs to, or kNone.
  uint32_t function_of_scope(uint32_t scope) const;

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
  std::unordered_map<std::string, uint32_t> file_by_name_;
  std::unordered_map<uint32_t, uint32_t> file_by_id_;
  std::unordered_map<uint32_t, uint32_t> function_by_debug_id_;  // DebugFunction -> source function
  std::unordered_map<uint32_t, uint32_t> function_by_id_;        // OpFunction -> source function
  size_t text_left_;                                             // bytes of text still to be taken
  uint32_t continued_file_ = kNone;  // what a continuing instruction adds to
};

// Follows the instructions of functions in their order and knows the place of the one that it has
// come to. Line information holds until it is replaced or withdrawn, and no longer than to the end
// of its block.
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
  void withdraw(Origin origin);

  SourceInfo* info_;
  SourcePlace place_;
  Origin origin_ = Origin::None;
  bool at_end_ = false;  // of a block: what follows begins with nothing known
};

}  // namespace tally::spirv
