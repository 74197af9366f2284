// Visits the counts of a capture row by row, directly in the file. Only selected commands and
// shaders are visited; their references are already resolved.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analysis/model/metrics.h"
#include "analysis/model/model.h"

namespace tally::analysis {

class ShaderCodes;

// A metric's sum over the blocks of one stage of one command.
struct StageValue {
  uint32_t command;
  uint32_t shader;  // kNone if the capture does not name it
  uint32_t stage;
  uint32_t metric;
  uint64_t value;
};

// The number of times one stage of one command executed a block.
struct BlockExecutions {
  uint32_t command;
  uint32_t shader;  // never kNone
  uint32_t block;
  uint64_t executions;
  bool have_costs;  // the block's values are static costs times these executions
};

// A block's value of a metric that is not executions x static cost. `executions` are those of the
// same block.
struct BlockValue {
  uint32_t command;
  uint32_t shader;  // never kNone
  uint32_t block;
  uint32_t metric;
  uint64_t value;
  uint64_t executions;
};

// The number of times one stage of one command went from a block to a target of its branch.
struct BranchValue {
  uint32_t command;
  uint32_t shader;  // never kNone
  uint32_t block;
  uint32_t target;
  uint64_t times;
};

// A number of a site of one stage of one command.
struct SiteValue {
  uint32_t command;
  uint32_t shader;  // never kNone
  uint32_t site;    // spirv::site_number
  spirv::SiteSlot slot;
  uint64_t value;
};

// The executions of one block of one stage by the commands of one batch.
struct BatchBlock {
  // Values that are not executions x static cost.
  struct Stored {
    store::RowId metric;
    const store::Column* values;
  };
  uint32_t shader;  // kNone if the capture does not name it
  uint32_t block;
  const store::Column* executions;  // null: only `stored` has values
  std::span<const Stored> stored;
};

// Visits the selected blocks of one batch after the other; a block of several stages (ray tracing)
// may occur several times. The columns have an element for each command of the batch.
Status visit_batch_blocks(
    const Model& model, const Progress& progress,
    const std::function<void(const Batch& batch, std::span<const BatchBlock> blocks)>& visit);

// The number in a column of values of a command; those that are missing or negative are 0.
uint64_t count_at(const store::Column& column, size_t command);

Status visit_stage_values(const Model& model, const Progress& progress,
                          const std::function<void(const StageValue&)>& visit);
// Visits blocks with static costs first, then blocks whose executions are stored as values, as
// drivers with their own counters may do.
Status visit_block_executions(const Model& model, const Progress& progress,
                              const std::function<void(const BlockExecutions&)>& visit);
Status visit_block_values(const Model& model, const Progress& progress,
                          const std::function<void(const BlockValue&)>& visit);

// Visits nothing unless the capture counts branches.
Status visit_branch_values(const Model& model, const Progress& progress,
                           const std::function<void(const BranchValue&)>& visit);

// Visits nothing unless the capture counts at sites.
Status visit_site_values(const Model& model, const Progress& progress,
                         const std::function<void(const SiteValue&)>& visit);

// The memory of buffers that the shaders of commands touch (tally run --memory), in bytes.
struct Footprint {
  uint64_t largest = 0;    // the lines of one execution
  uint64_t sum = 0;        // ... of all executions
  uint64_t requested = 0;  // by all executions

  void add(const Footprint& other);
};

// Returns them by row: `row_of` by command, from 0 to `rows`. Empty if nothing was touched.
Result<std::vector<Footprint>> find_footprints(const Model& model, ShaderCodes& codes,
                                               const std::vector<uint32_t>& row_of, size_t rows,
                                               const Progress& progress);

// a + b, saturated at UINT64_MAX.
uint64_t saturating_sum(uint64_t a, uint64_t b);
uint64_t saturating_product(uint64_t a, uint64_t b);
// The share of the parts from `begin` to `end` of `whole`, which is not 0. The shares of adjacent
// ranges sum to the amount exactly.
uint64_t share_of(uint64_t amount, uint64_t begin, uint64_t end, uint64_t whole);
// Adds the values, which may be more or fewer than the sums, with saturation.
void add_saturating(std::vector<uint64_t>& sums, std::span<const uint64_t> values);

// The passes of a capture that have counts by region.

// One subpass and layer of a pass in a selected frame.
struct RegionPass {
  uint32_t pass;  // index in Model::passes
  store::PassRegionsRow regions;
};

// The passes, in capture order. `number` restricts them to passes with this number in their frame.
Result<std::vector<RegionPass>> region_passes(const Model& model, std::optional<uint32_t> number);

// The counts of single draws in regions (tally run --region-draws).

struct RegionDraw {
  uint32_t region = 0;  // of the pass
  uint32_t command = 0;
  std::vector<uint64_t> values;  // by counter of the model
};

class RegionDraws {
 public:
  static Result<RegionDraws> open(const Model& model);
  bool exist() const { return !commands_.empty(); }
  // In the order of regions, then commands.
  Result<std::vector<RegionDraw>> read(const RegionPass& pass) const;

 private:
  explicit RegionDraws(const Model& model) : model_(&model) {}

  const Model* model_;
  std::map<std::pair<store::RowId, int64_t>, uint32_t> commands_;  // by execution and position
};

// The pixels of the render area and layers of a pass, in all its runs.
uint64_t pixels_of(const Pass& pass);

struct PixelArea {
  int64_t x, y;
  uint32_t width, height;

  bool contains(int64_t at_x, int64_t at_y) const {
    return at_x >= x && at_y >= y && at_x - x < width && at_y - y < height;
  }
  // The value that ranks regions: those at the edges of the render area are smaller than others.
  double per_pixel(uint64_t value) const {
    return static_cast<double>(value) / (double{1} * width * height);
  }
};
// The part of a region that lies in the render area, in pixels.
PixelArea region_area(const store::PassRegionsRow& regions, uint32_t column, uint32_t row);

// Counts of stages that belong to no shader of the capture: of pipelines that it does not know.

// How many stages of the selected commands have counts, but no shader.
Result<uint64_t> count_unknown_stages(const Model& model);

// One counter in all regions of one pass; the data of a heatmap.

struct RegionMap {
  Metric counter;
  int64_t frame = 0;
  uint32_t pass_number = 0;  // in the frame
  std::string pass;          // "main 640x480"
  store::PassRegionsRow regions;
  std::vector<uint32_t> values;  // row by row
  uint64_t total = 0;
  std::optional<store::PassPictureRow> picture;  // of the pass's final image
};

struct RegionMapOptions {
  std::string counter;           // its id or name; empty: the default counter
  std::optional<uint32_t> pass;  // only passes with this number in their frame
};

// Selects, among the selected frames' passes, the (subpass, layer) with the highest total of the
// counter. Returns nullopt if no pass was counted by region.
Result<std::optional<RegionMap>> make_region_map(const Model& model,
                                                 const RegionMapOptions& options);

}  // namespace tally::analysis
