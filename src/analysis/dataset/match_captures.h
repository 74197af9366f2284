// Adds to the data of two captures what `tally diff` matches: the columns "match".
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/dataset/capture_code.h"
#include "analysis/dataset/dataset.h"
#include "analysis/diff/profile.h"

namespace tally::analysis {

// The places in its model that the rows of a capture's tables stand for.
struct CaptureRows {
  std::vector<uint32_t> shaders;    // by row; kNone: not named
  std::vector<uint32_t> pipelines;  // by row
  // Indexed by row: its command. Empty where a row stands for commands that are not similar.
  std::vector<uint32_t> commands;
  std::vector<CaptureCode::Place> lines;
};

struct CaptureToMatch {
  DataCapture& capture;
  const CaptureRows& rows;
  const Profile& profile;
};

void match_captures(const CaptureToMatch& now, const CaptureToMatch& old);

}  // namespace tally::analysis
