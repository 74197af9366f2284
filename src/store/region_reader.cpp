// Reader: what passes did by region, and their pictures.
#include <algorithm>
#include <cstring>

#include "store/reader.h"
#include "store/stream.h"

namespace tally::store {
namespace {

uint32_t u32(const Statement& row, int column) {
  return static_cast<uint32_t>(row.integer(column));
}

PassRegionsRow regions_of(const Statement& row) {
  return {.id = row.integer(0),
          .pass = row.integer(1),
          .subpass = u32(row, 2),
          .layer = u32(row, 3),
          .x = row.integer(4),
          .y = row.integer(5),
          .width = u32(row, 6),
          .height = u32(row, 7),
          .region_width = std::max(u32(row, 8), 1u),
          .region_height = std::max(u32(row, 9), 1u)};
}

}  // namespace

Result<std::vector<RegionCounterRow>> Reader::region_counters() const {
  std::vector<RegionCounterRow> counters;
  auto rows = database_.prepare("SELECT id, name FROM region_counter ORDER BY id");
  if (!rows) return rows.error();
  while (rows->step()) counters.push_back({.id = rows->integer(0), .name = rows->text(1)});
  if (!rows->status()) return rows->status().error();
  return counters;
}

Status Reader::for_each_pass_regions(
    const std::function<bool(const PassRegionsRow&)>& visit) const {
  auto rows = database_.prepare("SELECT * FROM pass_regions ORDER BY pass, subpass, layer, id");
  if (!rows) return rows.error();
  while (rows->step()) {
    const PassRegionsRow regions = regions_of(*rows);
    const uint64_t count = uint64_t{regions.columns()} * regions.rows();
    if (count == 0 || count > stream::kMaxRegions) continue;  // no capture of ours has such
    if (!visit(regions)) return {};
  }
  return rows->status();
}

Status Reader::for_each_region_values(
    const PassRegionsRow& regions, const std::function<bool(const RegionValuesRow&)>& visit) const {
  auto rows = database_.prepare(
      "SELECT counter, by_region FROM region_values WHERE regions = ? ORDER BY counter");
  if (!rows) return rows.error();
  const uint64_t count = uint64_t{regions.columns()} * regions.rows();
  rows->bind(regions.id);
  while (rows->step()) {
    const std::span<const std::byte> bytes = rows->blob(1);
    if (bytes.size() != count * sizeof(uint32_t)) continue;
    RegionValuesRow row{.regions = regions.id, .counter = rows->integer(0), .by_region = {}};
    row.by_region.resize(count);
    std::memcpy(row.by_region.data(), bytes.data(), bytes.size());
    if (!visit(row)) return {};
  }
  return rows->status();
}

Result<std::optional<PassPictureRow>> Reader::pass_picture(RowId pass, uint32_t layer) const {
  std::optional<PassPictureRow> picture;
  auto rows = database_.prepare("SELECT * FROM pass_picture WHERE pass = ? AND layer = ?");
  if (!rows) return rows.error();
  rows->bind(pass).bind(int64_t{layer});
  if (rows->step()) {
    const std::span<const std::byte> png = rows->blob(5);
    picture = PassPictureRow{.pass = pass,
                             .layer = layer,
                             .attachment = u32(*rows, 2),
                             .width = u32(*rows, 3),
                             .height = u32(*rows, 4),
                             .png = {png.begin(), png.end()}};
  }
  if (!rows->status()) return rows->status().error();
  return picture;
}

}  // namespace tally::store
