// Merges captures into one, as if their runs had followed each other: all processes, frames and
// commands of all of them, with the devices, shaders and pipelines that they share once. So every
// report of the merged capture shows sums.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "store/read/reader.h"

namespace tally::store {

class CaptureMerge {
 public:
  // `path` is a new file; `captures` are the capture rows of all that will be added, in this order:
  // the order of their starts. They must be finished, and of one version of Tally: others may count
  // other costs for the same block.
  static Result<CaptureMerge> create(const std::string& path,
                                     const std::vector<CaptureRow>& captures);
  CaptureMerge(CaptureMerge&&) noexcept;
  CaptureMerge& operator=(CaptureMerge&&) noexcept;
  ~CaptureMerge();

  // An error leaves the merge unusable.
  Status add(const Reader& capture);
  Status finish();

 private:
  struct State;
  explicit CaptureMerge(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace tally::store
