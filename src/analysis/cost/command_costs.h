// The costs of each block, by the command that ran it: the data of exports as call trees. Commands
// with the same place, call and pipeline share their costs, whichever frame they are in.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/model/shader_code.h"
#include "base/containers.h"

namespace tally::analysis {

// The values of one block, by metric.
struct BlockValues {
  uint32_t block;
  uint64_t executions = 0;
  std::span<uint64_t> metrics = {};
};

// The values of several blocks, ascending. Its memory can be used again.
class BlockValueList {
 public:
  std::span<const BlockValues> blocks() const { return blocks_; }

 private:
  friend class CommandCosts;

  std::vector<BlockValues> blocks_;
  std::vector<uint64_t> metrics_;  // what `blocks_` refer to
};

class CommandCosts {
 public:
  // Similar commands.
  struct Draw {
    uint32_t place;    // index into places()
    uint32_t command;  // one of them
    uint64_t runs;     // how many there are
  };
  // The executions of one shader variant by the commands of one Draw.
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
  // The blocks of a group that ran.
  void values(size_t group, BlockValueList& values) const;
  // Indexed by variant: the sums over its groups.
  std::vector<BlockValueList> variant_values() const;
  // Indexed by metric: whether a group has a value of it that is not 0.
  std::vector<bool> used_metrics() const;
  // "Draw 36 (opaque)".
  std::string draw_text(const Draw& draw) const;

 private:
  struct Executions {
    uint32_t group;
    uint32_t block;
    uint64_t all = 0;
    uint64_t with_costs = 0;

    auto key() const { return std::pair(group, block); }
    void add(const Executions& other);
  };
  // Values that are not executions x cost, and the executions that they cover.
  struct Stored {
    uint32_t group;
    uint32_t block;
    uint32_t metric;
    uint64_t value = 0;
    uint64_t executions = 0;

    auto key() const { return std::tuple(group, block, metric); }
    void add(const Stored& other);
  };
  // All counts in one vector for all groups, of which there may be millions. Elements of
  // one key are added up when there are many, and at the end; then they are ascending.
  template <typename Element>
  class Counts {
   public:
    void add(const Element& element);
    void sum_up();
    // Gives the groups other numbers, when all is added.
    void renumber(const std::vector<uint32_t>& numbers);
    std::span<const Element> of(uint32_t group) const {
      return std::span(elements_).subspan(first_[group], first_[group + 1] - first_[group]);
    }

   private:
    std::vector<Element> elements_;
    std::vector<uint32_t> first_;  // by group, and the end; after renumber()
    size_t limit_ = 1 << 20;
  };

  explicit CommandCosts(const Model& model);
  void find_draws();
  Status load_costs();
  Status count_blocks(const Variants& variants, const Progress& progress);
  uint32_t group_of(uint32_t command, uint32_t variant);
  void sort_groups();
  void add_values(const BlockValues& block, std::span<const Stored> stored, uint64_t with_costs,
                  uint32_t shader) const;

  const Model* model_;
  uint32_t executions_metric_;
  const Variants* variants_ = nullptr;
  std::vector<std::string> places_;
  std::vector<Draw> draws_;
  std::vector<uint32_t> draw_of_;  // by command
  std::vector<Group> groups_;
  NumberTable group_numbers_;
  Counts<Executions> executions_;
  Counts<Stored> stored_;
  // Indexed by shader and block: metrics with their costs of one execution.
  std::map<std::pair<uint32_t, uint32_t>, std::vector<std::pair<uint32_t, uint64_t>>> costs_;
};

}  // namespace tally::analysis
