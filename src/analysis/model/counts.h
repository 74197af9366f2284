// The counts of a capture, visited row by row where they lie in the file: only those of selected
// commands and selected shaders, with everything they refer to already looked up.
#pragma once

#include <cstdint>
#include <functional>

#include "analysis/model/model.h"

namespace tally::analysis {

// A metric's sum over the blocks of one stage of one command.
struct StageValue {
  uint32_t command;
  uint32_t shader;  // kNone where the capture does not say which
  uint32_t stage;
  uint32_t metric;
  uint64_t value;
};

// How often one stage of one command executed a block.
struct BlockExecutions {
  uint32_t command;
  uint32_t shader;  // never kNone
  uint32_t block;
  uint64_t executions;
  bool have_costs;  // static costs times these executions are values of the block
};

// A block's value of a metric that is not executions x static cost; `executions` of the same block
// stand beside it.
struct BlockValue {
  uint32_t command;
  uint32_t shader;  // never kNone
  uint32_t block;
  uint32_t metric;
  uint64_t value;
  uint64_t executions;
};

Status visit_stage_values(const Model& model, const Progress& progress,
                          const std::function<void(const StageValue&)>& visit);
// First those that have static costs, then those that stand among the values of blocks: a driver
// may count in ways of its own.
Status visit_block_executions(const Model& model, const Progress& progress,
                              const std::function<void(const BlockExecutions&)>& visit);
Status visit_block_values(const Model& model, const Progress& progress,
                          const std::function<void(const BlockValue&)>& visit);

// a + b, or the largest number there is: a sum never wraps round to a small one.
uint64_t saturating_sum(uint64_t a, uint64_t b);
uint64_t saturating_product(uint64_t a, uint64_t b);

}  // namespace tally::analysis
