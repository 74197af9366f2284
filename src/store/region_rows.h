// Rows of passes that were counted by region, and of their pictures.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "store/keys.h"
#include "store/table.h"

namespace tally::store {

struct RegionCounterRow {
  RowId id = 0;
  std::string name;

  static constexpr auto table() {
    using Row = RegionCounterRow;
    return store::table(
        Section::Regions, "region_counter", "a counter that was taken by region",
        column("id", &Row::id),
        column("name", &Row::name, "[counters.md](counters.md), \"Regions of a framebuffer\"")
            .constrained("UNIQUE"));
  }
};

struct PassRegionsRow {
  RowId id = 0;
  RowId pass = 0;
  uint32_t subpass = 0;
  uint32_t layer = 0;
  int64_t x = 0;
  int64_t y = 0;
  uint32_t width = 0;
  uint32_t height = 0;
  uint32_t region_width = 1;
  uint32_t region_height = 1;

  uint32_t columns() const { return width / region_width + (width % region_width != 0); }
  uint32_t rows() const { return height / region_height + (height % region_height != 0); }

  static constexpr auto table() {
    using Row = PassRegionsRow;
    return store::table(Section::Regions, "pass_regions",
                        "the regions of one subpass and layer (or view) of a pass",
                        column("id", &Row::id), column("pass", &Row::pass).references("pass"),
                        column("subpass", &Row::subpass), column("layer", &Row::layer),
                        column("x", &Row::x, "of the render area"),
                        column("y", &Row::y, "of the render area"),
                        column("width", &Row::width, "of the render area"),
                        column("height", &Row::height, "of the render area"),
                        column("region_width", &Row::region_width),
                        column("region_height", &Row::region_height))
        .indexed("CREATE INDEX pass_regions_by_pass ON pass_regions (pass)");
  }
};

struct RegionValuesRow {
  RowId regions = 0;
  RowId counter = 0;
  std::vector<uint32_t> by_region;  // row by row

  uint64_t total() const {
    return std::accumulate(by_region.begin(), by_region.end(), uint64_t{0});
  }

  static constexpr auto table() {
    using Row = RegionValuesRow;
    return store::table(Section::Regions, "region_values", "a counter in these regions",
                        column("regions", &Row::regions).references("pass_regions"),
                        column("counter", &Row::counter).references("region_counter"),
                        column("total", &Row::total, "the sum"),
                        column("by_region", &Row::by_region,
                               "a little-endian 32-bit number for each region"))
        .constrained("PRIMARY KEY (regions, counter)")
        .on_conflict(Conflict::Replace);
  }
};

struct PassPictureRow {
  RowId pass = 0;
  uint32_t layer = 0;
  uint32_t attachment = 0;
  uint32_t width = 0;
  uint32_t height = 0;
  std::vector<std::byte> png;

  bool operator==(const PassPictureRow&) const = default;

  static constexpr auto table() {
    using Row = PassPictureRow;
    return store::table(Section::Regions, "pass_picture",
                        "the render area of a layer of the pass's image at the end of the pass",
                        column("pass", &Row::pass).references("pass"), column("layer", &Row::layer),
                        column("attachment", &Row::attachment, "its index in pass.attachments"),
                        column("width", &Row::width), column("height", &Row::height),
                        column("png", &Row::png))
        .constrained("PRIMARY KEY (pass, layer)")
        .on_conflict(Conflict::Replace);
  }
};

}  // namespace tally::store
