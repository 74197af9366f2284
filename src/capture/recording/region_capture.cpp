#include "capture/recording/region_capture.h"

#include <fmt/format.h>

#include <cstring>

#include "store/stream.h"
#include "vk/own_call.h"

namespace tally::capture {
namespace {

constexpr VkDeviceSize aligned(VkDeviceSize value, uint32_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

constexpr uint32_t parts(uint32_t whole, uint32_t part) {
  return whole / part + (whole % part != 0);
}

}  // namespace

std::optional<RecordedRegions> RegionCapture::prepare(const PassShape& shape, HostPieces& pieces,
                                                      std::string& reason) const {
  RecordedRegions regions;
  regions.shape = shape;
  regions.columns = parts(shape.area.extent.width, setup_.region.width);
  regions.rows = parts(shape.area.extent.height, setup_.region.height);
  const uint64_t count = uint64_t{regions.columns} * regions.rows;
  const uint64_t layers = uint64_t{shape.subpasses} * shape.layers;
  if (count == 0 || layers == 0) {
    reason = "it has no area or no layer";
    return std::nullopt;
  }
  if (count > store::stream::kMaxRegions) {
    reason = fmt::format("it has {} regions", count);
    return std::nullopt;
  }
  regions.region_bytes =
      aligned(setup_.counters.size() * sizeof(uint32_t), setup_.region_alignment);
  regions.row_bytes = aligned(regions.columns * regions.region_bytes, setup_.row_alignment);
  const auto values = pieces.cut(regions.layer_bytes() * layers);
  if (!values) {
    reason = "there is no memory for its values: " + vk::take_own_failure().text();
    return std::nullopt;
  }
  regions.values = *values;
  return regions;
}

std::vector<uint32_t> RecordedRegions::read(uint32_t subpass, uint32_t layer,
                                            uint32_t counter) const {
  std::vector<uint32_t> read(size_t{columns} * rows);
  const std::byte* first = values.data +
                           (uint64_t{subpass} * shape.layers + layer) * layer_bytes() +
                           counter * sizeof(uint32_t);
  size_t at = 0;
  for (uint32_t row = 0; row < rows; ++row) {
    for (uint32_t column = 0; column < columns; ++column) {
      std::memcpy(&read[at++], first + row * row_bytes + column * region_bytes, sizeof(uint32_t));
    }
  }
  return read;
}

}  // namespace tally::capture
