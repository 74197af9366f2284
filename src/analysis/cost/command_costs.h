// The costs of each block, by the command that ran it: the data of exports as call trees. Commands
// with the same place, call and pipeline share their costs, whichever frame they are in.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/model/metrics.h"
#include "analysis/model/variants.h"

namespace tally::analysis {

// The values of one block, by metric.
struct BlockValues {
  uint32_t block;
  uint64_t executions = 0;
  std::vector<uint64_t> metrics = {};
};

class CommandCosts {
 public:
  // Similar commands.
  struct Draw {
    uint32_t place;    // index into places()
    uint32_t command;  // one of them
    uint64_t runs;     // how many there are
  };
  // What the commands of one Draw ran of one shader variant.
  struct Group {
    uint32_t draw;
    uint32_t variant;
  };

  static Result<CommandCosts> count(const Model& model, const Variants& variants,
                                    const Progress& progress);

  // The passes; for commands outside of passes, the pipelines.
  const std::vector<std::string>& places() const { return places_; }
  const std::vector<Draw>& draws() const { return draws_; }
  // Ordered by place, draw and variant.
  const std::vector<Group>& groups() const { return groups_; }
  // The blocks of a group that ran, ascending.
  std::vector<BlockValues> values(size_t group) const;
  // By variant: the sums over its groups.
  std::vector<std::vector<BlockValues>> variant_values() const;
  // "Draw 36 (opaque)".
  std::string draw_text(const Draw& draw) const;

 private:
  struct Executions {
    uint32_t block;
    uint64_t all = 0;
    uint64_t with_costs = 0;
  };
  // Values that are not executions x cost, and the executions that they cover.
  struct Stored {
    std::pair<uint32_t, uint32_t> key;  // block and metric
    uint64_t value = 0;
    uint64_t executions = 0;
  };
  // Both ascending. A capture may have a million groups: vectors take less memory than maps.
  struct Counts {
    std::vector<Executions> executions;
    std::vector<Stored> stored;
  };

  explicit CommandCosts(const Model& model);
  void find_draws();
  Status load_costs();
  Status count_blocks(const Variants& variants, const Progress& progress);
  Counts& counts_of(uint32_t command, uint32_t variant);
  void sort_groups();
  void add_values(const Group& group, const Counts& counts, std::vector<BlockValues>& sums) const;

  const Model* model_;
  uint32_t executions_metric_;
  const Variants* variants_ = nullptr;
  std::vector<std::string> places_;
  std::vector<Draw> draws_;
  std::vector<uint32_t> draw_of_;  // by command
  std::vector<Group> groups_;
  std::vector<Counts> counts_;  // by group
  std::unordered_map<uint64_t, uint32_t> group_of_;
  // By shader and block: metrics with their costs of one execution.
  std::map<std::pair<uint32_t, uint32_t>, std::vector<std::pair<uint32_t, uint64_t>>> costs_;
};

}  // namespace tally::analysis
