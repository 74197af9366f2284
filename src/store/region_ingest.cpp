#include "store/region_ingest.h"

#include <utility>

#include "picture/png.h"

namespace tally::store {

Status RegionIngest::end() {
  if (!values_.empty()) return Error{"a counter's values do not cover its regions"};
  if (!picture_.pixels.empty()) return Error{"a picture that ends before its last row"};
  regions_ = 0;
  picture_row_ = {};
  return {};
}

Status RegionIngest::begin(const stream::PassRegions& regions, RowId pass) {
  if (Status ended = end(); !ended) return ended;
  PassRegionsRow row{.pass = pass,
                     .subpass = regions.subpass,
                     .layer = regions.layer,
                     .x = regions.x,
                     .y = regions.y,
                     .width = regions.width,
                     .height = regions.height,
                     .region_width = regions.region_width,
                     .region_height = regions.region_height};
  if (row.region_width == 0 || row.region_height == 0) return Error{"regions without a size"};
  if (!stream::is_offset(row.x) || !stream::is_offset(row.y)) {
    return Error{"a render area beyond all offsets"};
  }
  region_count_ = uint64_t{row.columns()} * row.rows();
  if (region_count_ == 0 || region_count_ > stream::kMaxRegions) {
    return Error{"a pass without regions, or with too many"};
  }
  regions_ = writer_.add(row);
  return {};
}

Status RegionIngest::add(const stream::RegionValues& values, std::span<const RowId> counters) {
  if (regions_ == 0) return Error{"values without their regions"};
  if (values.counter >= counters.size()) return Error{"values of a counter that does not exist"};
  if (!values_.empty() && values.counter != counter_) {
    return Error{"a counter's values do not cover its regions"};
  }
  if (values.values.empty() || values_.size() + values.values.size() > region_count_) {
    return Error{"values of regions that do not exist"};
  }
  counter_ = values.counter;
  values_.insert(values_.end(), values.values.begin(), values.values.end());
  if (values_.size() < region_count_) return {};
  writer_.add(RegionValuesRow{
      .regions = regions_, .counter = counters[counter_], .by_region = std::move(values_)});
  values_.clear();
  return {};
}

Status RegionIngest::begin(const stream::PassPicture& picture, RowId pass) {
  if (Status ended = end(); !ended) return ended;
  const uint64_t pixels = uint64_t{picture.width} * picture.height;
  if (pixels == 0 || pixels > stream::kMaxPicturePixels) {
    return Error{"a picture without pixels, or with too many"};
  }
  picture_ = {picture.width, picture.height, {}};
  picture_row_ = {.pass = pass,
                  .layer = picture.layer,
                  .attachment = picture.attachment,
                  .width = picture.width,
                  .height = picture.height};
  return {};
}

Status RegionIngest::add(const stream::PictureRows& rows) {
  if (picture_row_.pass == 0) return Error{"rows without their picture"};
  const uint64_t pixels = uint64_t{picture_.width} * picture_.height;
  const size_t sent = rows.pixels.size();
  if (sent == 0 || sent % picture_.width != 0 || picture_.pixels.size() + sent > pixels) {
    return Error{"rows that a picture does not have"};
  }
  picture_.pixels.insert(picture_.pixels.end(), rows.pixels.begin(), rows.pixels.end());
  if (picture_.pixels.size() < pixels) return {};
  auto png = encode_png(picture_);
  if (!png) return png.error();
  picture_row_.png = std::move(*png);
  writer_.add(std::exchange(picture_row_, {}));
  picture_ = {};
  return {};
}

}  // namespace tally::store
