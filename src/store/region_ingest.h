// Assembles the regions and pictures of passes from messages. It is an error if another one begins
// before the last one is complete.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "picture/picture.h"
#include "store/stream.h"
#include "store/writer.h"

namespace tally::store {

class RegionIngest {
 public:
  explicit RegionIngest(Writer& writer) : writer_(writer) {}

  Status begin(const stream::PassRegions& regions, RowId pass);
  // `counters`: the rows of the device's region counters.
  Status add(const stream::RegionValues& values, std::span<const RowId> counters);
  Status begin(const stream::PassPicture& picture, RowId pass);
  Status add(const stream::PictureRows& rows);
  // A new submission begins: everything of the last one must be complete.
  Status end();

 private:
  Writer& writer_;
  RowId regions_ = 0;  // the last ones
  uint64_t region_count_ = 0;
  uint32_t counter_ = 0;
  std::vector<uint32_t> values_;  // of the counter, so far
  PassPictureRow picture_row_;
  Picture picture_;  // so far
};

}  // namespace tally::store
