// The code of a capture as tables: shaders that ran, their blocks with static costs, functions,
// lines and sources. A shader that pipelines specialize differently has a row for each variant.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/cost/call_costs.h"
#include "analysis/dataset/data_table.h"
#include "analysis/model/metrics.h"
#include "analysis/model/shader_code.h"
#include "analysis/predict/prediction.h"
#include "analysis/source/shader_source.h"

namespace tally::analysis {

struct DataCapture;

// The tables of a DataCapture that describe code, while they are being filled. Each has a member
// for each of its columns.

struct ShaderRows {
  DataTable table{"shaders"};
  DataColumn& name = table.add("name", DataColumn::Kind::Index);
  DataColumn& stage = table.add("stage", DataColumn::Kind::Index);
  DataColumn& entry_point = table.add("entry_point", DataColumn::Kind::Index);
  DataColumn& hash = table.add("hash", DataColumn::Kind::Index);
  DataColumn& constants = table.add("constants", DataColumn::Kind::Index);
  DataColumn& pipeline = table.add("pipeline", DataColumn::Kind::Index);
  DataColumn& source = table.add("source", DataColumn::Kind::Number);
  DataColumn& invocation_block = table.add("invocation_block", DataColumn::Kind::Index);
};

struct BlockRows {
  DataTable table{"blocks"};
  DataColumn& shader = table.add("shader", DataColumn::Kind::Index);
  DataColumn& number = table.add("number", DataColumn::Kind::Number);
  DataColumn& function = table.add("function", DataColumn::Kind::Index);
  DataColumn& line = table.add("line", DataColumn::Kind::Index);
  DataColumn& discards = table.add("discards", DataColumn::Kind::Number);
};

struct FunctionRows {
  DataTable table{"functions"};
  DataColumn& shader = table.add("shader", DataColumn::Kind::Index);
  DataColumn& name = table.add("name", DataColumn::Kind::Index);
};

// The frames of call_costs.h.
struct FrameRows {
  DataTable table{"call_frames"};
  DataColumn& shader = table.add("shader", DataColumn::Kind::Index);
  DataColumn& function = table.add("function", DataColumn::Kind::Index);
  DataColumn& parent = table.add("parent", DataColumn::Kind::Index);
  DataColumn& block = table.add("block", DataColumn::Kind::Index);
};

struct CallRows {
  DataTable table{"calls"};
  DataColumn& caller = table.add("caller", DataColumn::Kind::Index);
  DataColumn& callee = table.add("callee", DataColumn::Kind::Index);
  DataColumn& block = table.add("block", DataColumn::Kind::Index);
};

struct LineRows {
  DataTable table{"lines"};
  DataColumn& shader = table.add("shader", DataColumn::Kind::Index);
  DataColumn& file = table.add("file", DataColumn::Kind::Index);
  DataColumn& line = table.add("line", DataColumn::Kind::Number);
};

struct FileRows {
  DataTable table{"files"};
  DataColumn& name = table.add("name", DataColumn::Kind::Index);
  DataColumn& text = table.add("text", DataColumn::Kind::Index);
  DataColumn& kind = table.add("kind", DataColumn::Kind::Number);
};

struct AssemblyRows {
  DataTable table{"assembly"};
  DataColumn& shader = table.add("shader", DataColumn::Kind::Index);
  DataColumn& text = table.add("text", DataColumn::Kind::Index);
};

struct AssemblyLineRows {
  DataTable table{"assembly_lines"};
  DataColumn& shader = table.add("shader", DataColumn::Kind::Index);
  DataColumn& row = table.add("row", DataColumn::Kind::Number);
  DataColumn& block = table.add("block", DataColumn::Kind::Index);
  DataColumn& line = table.add("line", DataColumn::Kind::Index);
};

struct BranchRows {
  DataTable table{"branches"};
  DataColumn& block = table.add("block", DataColumn::Kind::Index);
  DataColumn& line = table.add("line", DataColumn::Kind::Index);
  DataColumn& target = table.add("target", DataColumn::Kind::Index);
  DataColumn& number = table.add("number", DataColumn::Kind::Index);
  DataColumn& slot = table.add("slot", DataColumn::Kind::Number);
};

// How often the loops of a line ran, and its conditions were true: sums of executions of blocks.
enum class LineTerm : uint8_t { Iteration, Entry, NoEntry, True, NotTrue, False, NotFalse };

struct LineTermRows {
  DataTable table{"line_terms"};
  DataColumn& line = table.add("line", DataColumn::Kind::Index);
  DataColumn& block = table.add("block", DataColumn::Kind::Index);
  DataColumn& term = table.add("term", DataColumn::Kind::Number);
};

// The table of what one execution of a block costs, by line, function and instance
// (spirv::LineCost).

class CostRows {
 public:
  struct Place {
    uint32_t line, function;  // rows; kNone: none
    uint32_t instance;
    uint32_t frame = kNone;  // row
  };

  // `counted`: by metric, whether its values do not follow from executions.
  CostRows(const std::vector<Metric>& metrics, const std::vector<bool>& counted);

  // The costs of one block, by metric, which its rows must sum to. Rows are added for lines, then
  // one for what is left over.
  void begin_block(uint32_t block, std::vector<uint64_t> costs);
  void add_line(const Place& place, const std::function<uint64_t(const Metric&)>& static_cost);
  // The block's own place. A metric without a cost class has its costs there, and `rest`, a place
  // without a line, has what is left over.
  void end_block(const Place& place, const Place& rest);

  // Without the columns that are 0 everywhere.
  DataTable finish() &&;

 private:
  void add_row(const Place& place, std::span<const uint64_t> costs);

  const std::vector<Metric>& metrics_;
  const std::vector<bool>& counted_;
  uint32_t block_ = 0;
  std::vector<uint64_t> rest_, row_;  // by metric
  DataColumn blocks_{DataColumn::Kind::Index}, lines_{DataColumn::Kind::Index},
      functions_{DataColumn::Kind::Index}, instances_{DataColumn::Kind::Number},
      frames_{DataColumn::Kind::Index};
  std::vector<DataColumn> costs_;  // by metric
  std::vector<bool> used_;         // by metric: not 0 everywhere
};

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
    const Prediction* prediction;  // null: no calibrated device was asked for
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
  void add_calls();
  CostRows::Place rest_of(const spirv::Block& block) const;
  void add_files(const ShaderSource& source);
  void add_assembly(const ShaderCode& code, const ShaderSource& source);
  void add_branches(const ShaderCode& code, const ShaderSource& source);
  void add_line_terms(const ShaderCode& code, const ShaderSource& source);
  void add_term(uint32_t line, uint32_t block, LineTerm term);
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
  FrameRows frames_;
  CallRows calls_;
  LineRows lines_;
  FileRows files_;
  AssemblyRows assembly_;
  AssemblyLineRows assembly_lines_;
  BranchRows branches_;
  LineTermRows line_terms_;
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
  uint32_t shader_row_ = kNone, shader_ = kNone, first_function_ = 0, first_frame_ = 0;
  std::optional<ShaderCalls> shader_calls_;
  std::vector<uint32_t> own_files_;                              // row, by file of the source
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> own_lines_;  // row, by file and line
};

}  // namespace tally::analysis
