// The first draw or dispatch, in the order of frames and submissions, that did not do the same in
// two captures of one program.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "analysis/model/model.h"
#include "base/status.h"

namespace tally::analysis {

// The place in a shader at which its counts begin to differ: the first block, from the entry point
// on, a function before those that it calls.
struct FirstPlace {
  std::string shader;  // "scene.frag fragment"
  std::string file;    // with its folders; empty: not known
  uint32_t line = 0;   // 0: not known
  std::string text;
  uint32_t block = 0;
  uint64_t before = 0, after = 0;  // executions of the block
};

struct FirstDifference {
  int64_t frame = 0;
  uint32_t number = 0;       // in the frame, from 0
  uint64_t same_before = 0;  // draws and dispatches that did the same before it
  // "vkCmdDraw(3, 1), sky.vert + sky.frag; sky, main"; empty: the capture has no such command.
  std::string before, after;
  std::optional<FirstPlace> place;  // nullopt: the command differs, or no block of the same code
  // Without a place: a metric whose value differs; empty: none.
  std::string metric;
  uint64_t metric_before = 0, metric_after = 0;
};

// Nullopt: there is no difference.
Result<std::optional<FirstDifference>> first_difference(const Model& before, const Model& after,
                                                        const Progress& progress);

}  // namespace tally::analysis
