// Reader: values of passes by region, and pictures of passes.
#include <algorithm>

#include "store/reader.h"
#include "store/row_reader.h"
#include "store/stream.h"

namespace tally::store {

Result<std::vector<RegionCounterRow>> Reader::region_counters() const {
  return all_rows<RegionCounterRow>(database_, "ORDER BY id");
}

Status Reader::for_each_pass_regions(
    const std::function<bool(const PassRegionsRow&)>& visit) const {
  return each_row<PassRegionsRow>(
      select<PassRegionsRow>(database_, "ORDER BY pass, subpass, layer, id"),
      [&](PassRegionsRow& regions) {
        regions.region_width = std::max(regions.region_width, 1u);
        regions.region_height = std::max(regions.region_height, 1u);
        const uint64_t count = uint64_t{regions.columns()} * regions.rows();
        // The writer accepts no other number of regions, and no other offsets.
        const bool valid = count != 0 && count <= stream::kMaxRegions &&
                           stream::is_offset(regions.x) && stream::is_offset(regions.y);
        return !valid || visit(regions);
      });
}

Status Reader::for_each_region_values(
    const PassRegionsRow& regions, const std::function<bool(const RegionValuesRow&)>& visit) const {
  Result<Statement> rows = select<RegionValuesRow>(database_, "WHERE regions = ? ORDER BY counter");
  if (!rows) return rows.error();
  constexpr int kValues = index_of<RegionValuesRow>(&RegionValuesRow::by_region);
  const uint64_t count = uint64_t{regions.columns()} * regions.rows();
  rows->bind(regions.id);
  while (rows->step()) {
    if (rows->blob(kValues).size() != count * sizeof(uint32_t)) continue;
    RegionValuesRow row;
    if (!read_row(*rows, row)) return damaged("region_values");
    if (!visit(row)) return {};
  }
  return rows->status();
}

Result<std::optional<PassPictureRow>> Reader::pass_picture(RowId pass, uint32_t layer) const {
  Result<Statement> statement =
      select<PassPictureRow>(database_, "WHERE pass = ? AND layer = ? LIMIT 1");
  if (statement) statement->bind(pass).bind(int64_t{layer});
  Result<std::vector<PassPictureRow>> rows = all_rows<PassPictureRow>(std::move(statement));
  if (!rows) return rows.error();
  if (rows->empty()) return std::optional<PassPictureRow>{};
  return std::optional(std::move(rows->front()));
}

}  // namespace tally::store
