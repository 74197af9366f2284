// Makes the tables of one capture. Caches what several tables need: code and block totals.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/cost/block_totals.h"
#include "analysis/findings/findings.h"
#include "analysis/model/shader_code.h"
#include "analysis/predict/prediction.h"
#include "analysis/source/shader_source.h"
#include "analysis/tables/command_groups.h"
#include "analysis/tables/summary.h"
#include "analysis/tables/table_builder.h"

namespace tally::analysis {

enum class By {
  Draw,
  Pass,
  Shader,
  Line,
  Block,
  Loop,
  Value,
  Clock,
  Memory,
  Pipeline,
  Frame,
  Label,
  Counter,
  Region,
  RegionDraw,
  Executable,
  Function,
  CallTree
};

// The names of By's values for users, in the same order.
inline constexpr std::string_view kByNames[] = {
    "draw",    "pass",   "shader",      "line",       "block",    "loop",
    "value",   "clock",  "memory",      "pipeline",   "frame",    "label",
    "counter", "region", "region-draw", "executable", "function", "call-tree"};

std::optional<By> by_from_name(std::string_view name);

class Analyzer {
 public:
  Analyzer(Model model, Progress progress, SourceOptions sources = {});

  const Model& model() const { return *model_; }

  // Makes one table. By::Frame gives the Vulkan frames.
  Result<Table> table(By by, const TableOptions& options);

  // Makes one table. By::Frame gives two tables if both Vulkan and GL have frames.
  Result<std::vector<Table>> tables(By by, const TableOptions& options);

  // The overview of a capture: its passes (without any, its labels or pipelines), shaders and
  // lines; for GL its counters and slowest frames.
  Result<std::vector<Table>> overview(const TableOptions& options);

  // Causes of cost.
  Result<Findings> findings();

  // The full listings of the selected shaders.
  Result<std::vector<Table>> listings(ListingKind kind, const TableOptions& options);

 private:
  Result<std::vector<Table>> gl_overview(TableOptions options);
  Result<Table> command_table(GroupBy by, const TableOptions& options);
  Result<Table> code_table(By by, const TableOptions& options);
  By main_group() const;
  Result<const BlockTotals*> totals();
  // Null if the selection's device is not a calibrated one.
  Result<const Prediction*> prediction();
  bool is_listed(uint32_t variant, const BlockTotals& blocks) const;

  // On the heap, because the other members and the rows of tables refer to it.
  std::shared_ptr<Model> model_;
  Progress progress_;
  std::unique_ptr<ShaderCodes> codes_;
  std::unique_ptr<ShaderSources> sources_;
  std::unique_ptr<Variants> variants_;
  std::unique_ptr<BlockTotals> totals_;
  bool is_predicted_ = false;  // `prediction_` is known
  std::optional<Prediction> prediction_;
};

// Explains why a result is empty, in one sentence for the user.

// Why the selected part of a capture has no draws, dispatches or GL frames; empty if it has some.
std::string why_empty(const Summary& summary);
std::string why_selection_is_empty(const Model& model);

// Why no pass, or no pass with this number in its frame, has counts by region.
std::string why_no_regions(const Model& model, std::optional<uint32_t> pass);

// Why the table has no rows.
std::string why_no_rows(const Model& model, By by, const TableOptions& options);

}  // namespace tally::analysis
