// The code of a capture as tables: shaders that ran, their blocks with static costs, functions,
// lines and sources. A shader that pipelines specialize differently has a row for each variant.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/cost/function_costs.h"
#include "analysis/dataset/cost_rows.h"
#include "analysis/dataset/data_tables.h"
#include "analysis/model/block_costs.h"
#include "analysis/model/variants.h"
#include "analysis/source/shader_source.h"

namespace tally::analysis {

class CaptureCode {
 public:
  struct Input {
    const Model& model;
    ShaderCodes& codes;
    const Variants& variants;
    ShaderSources& sources;
    const BlockCosts& costs;
    const std::vector<Metric>& metrics;
    const std::vector<bool>& counted;  // by metric
    DataStrings& strings;
  };
  // A line, as the source of a shader numbers it.
  struct Place {
    uint32_t shader;  // row
    uint32_t file, line;
  };
  // A branch that is counted by the block that it leads to.
  struct SoleEntry {
    uint32_t branch;  // row
    uint32_t block;   // row
  };

  explicit CaptureCode(const Input& input);

  // The row of a block that commands of this pipeline ran; kNone if a damaged file names too many.
  // `shader` may be kNone.
  uint32_t block_row(uint32_t pipeline, uint32_t shader, uint32_t block);
  // The row of a shader in a pipeline; kNone if no command ran it.
  uint32_t shader_row(uint32_t pipeline, uint32_t shader) const;
  // The row of a branch target; kNone: the code has no such branch.
  uint32_t branch_row(uint32_t block_row, uint32_t target) const;
  const std::vector<SoleEntry>& sole_entries() const { return sole_entries_; }

  size_t shader_count() const { return shader_of_row_.size(); }
  // The index of the model's shader; kNone: not named.
  uint32_t shader_of_row(size_t row) const { return shader_of_row_[row]; }
  const std::vector<Place>& lines() const { return places_; }

  // Adds the tables. `not_counted`: by row of a shader, why it was not counted.
  void finish(const std::vector<std::string>& not_counted, DataCapture& capture) &&;

 private:
  void add_variant(uint32_t variant);
  void add_code(const ShaderCode& code);
  void add_blocks(const ShaderCode& code, const ShaderSource& source);
  void add_costs_of_lines(const ShaderCode& code, const ShaderSource& source);
  void add_costs_of_instructions(const ShaderCode& code);
  void add_files(const ShaderSource& source);
  void add_assembly(const ShaderCode& code, const ShaderSource& source);
  void add_branches(const ShaderCode& code, const ShaderSource& source);
  uint32_t add_file(const std::string& name, uint32_t text, uint32_t kind);
  uint32_t add_text(const std::string& text);
  uint32_t assembly_text(const ShaderCode& code);
  uint32_t line_row(uint32_t file, uint32_t line);
  uint32_t find_line(const std::optional<spirv::SourceLocation>& location) const;
  // `shader`: of the model; kNone: not named.
  std::vector<uint64_t> costs_of(uint32_t shader, uint32_t block) const;
  // For a block without code: it has one row of costs.
  uint32_t add_other_block(uint32_t shader_row, uint32_t block);

  const Input in_;
  ShaderRows shaders_;
  BlockRows blocks_;
  FunctionRows functions_;
  LineRows lines_;
  FileRows files_;
  AssemblyRows assembly_;
  AssemblyLineRows assembly_lines_;
  BranchRows branches_;
  CostRows costs_;
  std::unordered_map<uint32_t, uint32_t> row_of_variant_;
  std::vector<uint32_t> shader_of_row_, first_block_, block_count_;  // by row of a shader
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> other_blocks_;   // by row of a shader, number
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, uint32_t> file_rows_;  // name, text, kind
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> branch_rows_;
  // Keyed by module and constants.
  std::map<std::pair<store::RowId, Specialization>, uint32_t> assembly_texts_;
  std::vector<SoleEntry> sole_entries_;
  std::vector<Place> places_;  // by row of a line
  size_t text_left_;
  size_t texts_left_out_ = 0;
  // State of the shader that is being added.
  uint32_t shader_row_ = kNone, shader_ = kNone, first_function_ = 0;
  std::optional<FunctionTable> function_table_;
  std::vector<uint32_t> own_files_;                              // row, by file of the source
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> own_lines_;  // row, by file and line
};

}  // namespace tally::analysis
