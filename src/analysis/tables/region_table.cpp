#include "analysis/tables/region_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "analysis/model/names.h"
#include "analysis/model/region_passes.h"
#include "analysis/tables/command_fields.h"
#include "analysis/tables/fields.h"

namespace tally::analysis {
namespace {

// Text output shows these columns if they are not 0 everywhere; --columns and JSON offer all
// columns.
constexpr std::array kShown = {"fragment_invocations", "fragment_instructions",
                               "fragment_fma",         "fragment_special_functions",
                               "fragment_texture",     "discarded_invocations"};

// The position of a row's region.
struct Place {
  uint32_t in;  // RegionPass
  uint32_t column, row;
};

class RegionTable {
 public:
  RegionTable(const Model& model, const TableOptions& options)
      : model_(model), options_(options), counters_(describe_region_counters(model)) {}

  Result<Table> run(const Progress& progress) {
    auto passes = region_passes(model_, options_.pass);
    if (!passes) return passes.error();
    passes_ = std::move(*passes);
    Table table;
    table.id = "region", table.title = title();
    const std::vector<Field> fields = key_fields();
    add_columns(table, fields);
    add_metric_columns(table, counters_);
    for (Column& column : table.columns) column.shown |= is_shown(column.id);
    add_density_columns(table);
    for (uint32_t in = 0; in < passes_.size(); ++in) {
      if (Status added = add_regions(in, fields, table); !added) return added.error();
      if (progress) progress(static_cast<double>(in + 1) / static_cast<double>(passes_.size()));
    }
    return finish(std::move(table));
  }

 private:
  static bool is_shown(const std::string& id) {
    return std::find(kShown.begin(), kShown.end(), id) != kShown.end();
  }

  std::string title() const {
    const auto same_size = [&](const RegionPass& other) {
      return other.regions.region_width == passes_.front().regions.region_width &&
             other.regions.region_height == passes_.front().regions.region_height;
    };
    if (passes_.empty() || !std::all_of(passes_.begin(), passes_.end(), same_size)) {
      return "Regions";
    }
    return fmt::format("Regions of {}x{} pixels", passes_.front().regions.region_width,
                       passes_.front().regions.region_height);
  }

  // The rows are ranked per pixel: sums would make small regions at the edges look cheap.
  void add_density_columns(Table& table) const {
    for (const Metric& counter : counters_) {
      Column column{.id = counter.id + "_per_pixel",
                    .title = counter.title + " per pixel",
                    .unit = counter.unit,
                    .description = "for each pixel of the region inside the render area: " +
                                   counter.description,
                    .shown = false,
                    .adds_up = false};
      table.columns[*table.column_index(counter.id)].ranked_by = column.id;
      table.columns.push_back(std::move(column));
    }
  }

  PixelArea area_of(size_t row) const {
    return region_area(passes_[places_[row].in].regions, places_[row].column, places_[row].row);
  }

  Status add_regions(uint32_t in, const std::vector<Field>& fields, Table& table) {
    const store::PassRegionsRow& regions = passes_[in].regions;
    const size_t count = size_t{regions.columns()} * regions.rows();
    MetricMatrix values(count, counters_.size());
    std::vector<bool> counted(count);
    const Status status =
        model_.reader.for_each_region_values(regions, [&](const store::RegionValuesRow& row) {
          const uint32_t counter = model_.region_counter_index.find(row.counter);
          for (size_t r = 0; counter != kNone && r < count; ++r) {
            values.add(r, counter, row.by_region[r]);
            if (row.by_region[r] != 0) counted[r] = true;
          }
          return true;
        });
    if (!status) return status;
    for (size_t r = 0; r < count; ++r) {
      if (!counted[r]) {
        ++empty_;
        continue;
      }
      places_.push_back({in, static_cast<uint32_t>(r % regions.columns()),
                         static_cast<uint32_t>(r / regions.columns())});
      Row row = make_row(fields, places_.size() - 1);
      append_metrics(row, values, r);
      const PixelArea area = area_of(places_.size() - 1);
      for (size_t c = 0; c < counters_.size(); ++c)
        row.emplace_back(area.per_pixel(values.at(r, c)));
      table.rows.push_back(std::move(row));
    }
    return {};
  }

  Result<Table> finish(Table table) {
    table.total_rows = table.rows.size();
    if (empty_ != 0) {
      table.notes.push_back(fmt::format("In {} more regions every counter is 0.", empty_));
    }
    if (!model_.selection.shader.empty()) {
      table.notes.push_back("Regions include all shaders: --shader does not restrict them.");
    }
    TableOptions options = options_;
    if (options.sort.empty() && !counters_.empty()) {
      options.sort = counters_[default_region_counter(counters_)].id;
    }
    if (Status finished = finish_table(table, {}, options); !finished) return finished.error();
    return table;
  }

  std::vector<Field> key_fields() const {
    const auto pass = [this](size_t r) -> const RegionPass& { return passes_[places_[r].in]; };
    const auto model_pass = [this, pass](size_t r) -> const Pass& {
      return model_.passes[pass(r).pass];
    };
    std::vector<Field> fields;
    fields.push_back(key_field(
        "frame", "frame", "number of the frame",
        [this, model_pass](size_t r) -> Cell {
          const int64_t number = model_.frames[model_pass(r).frame].number;
          return static_cast<uint64_t>(std::max<int64_t>(number, 0));
        },
        Unit::Count));
    fields.push_back(key_field(
        "pass_number", "pass nr", "number of the pass in its frame, from 0",
        [model_pass](size_t r) -> Cell { return uint64_t{model_pass(r).number_in_frame}; },
        Unit::Count));
    fields.push_back(
        key_field("pass", "pass", "name and size of the render area",
                  [model_pass](size_t r) -> Cell { return pass_text(&model_pass(r)); }));
    fields.push_back(key_field(
        "subpass", "subpass", "number of the subpass",
        [pass](size_t r) -> Cell { return uint64_t{pass(r).regions.subpass}; }, Unit::Count));
    fields.back().column.shown = any([](const auto& regions) { return regions.subpass != 0; });
    fields.push_back(key_field(
        "layer", "layer", "layer or view",
        [pass](size_t r) -> Cell { return uint64_t{pass(r).regions.layer}; }, Unit::Count));
    fields.back().column.shown = any([](const auto& regions) { return regions.layer != 0; });
    add_place_fields(fields);
    return fields;
  }

  void add_place_fields(std::vector<Field>& fields) const {
    const auto area = [this](size_t r) { return area_of(r); };
    const auto signed_cell = [](int64_t value) -> Cell {
      return static_cast<uint64_t>(std::max<int64_t>(value, 0));
    };
    fields.push_back(key_field(
        "x", "x", "left edge of the region, pixels of the framebuffer",
        [area, signed_cell](size_t r) { return signed_cell(area(r).x); }, Unit::Count));
    fields.push_back(key_field(
        "y", "y", "upper edge of the region",
        [area, signed_cell](size_t r) { return signed_cell(area(r).y); }, Unit::Count));
    fields.push_back(key_field(
        "width", "width", "pixels of the region inside the render area",
        [area](size_t r) -> Cell { return uint64_t{area(r).width}; }, Unit::Count));
    fields.back().column.shown = false;
    fields.push_back(key_field(
        "height", "height", "pixels of the region inside the render area",
        [area](size_t r) -> Cell { return uint64_t{area(r).height}; }, Unit::Count));
    fields.back().column.shown = false;
  }

  template <typename Test>
  bool any(Test test) const {
    return std::any_of(passes_.begin(), passes_.end(),
                       [&](const RegionPass& pass) { return test(pass.regions); });
  }

  const Model& model_;
  const TableOptions& options_;
  const std::vector<Metric> counters_;
  std::vector<RegionPass> passes_;
  std::vector<Place> places_;  // by row
  uint64_t empty_ = 0;
};

}  // namespace

Result<Table> make_region_table(const Model& model, const TableOptions& options,
                                const Progress& progress) {
  return RegionTable(model, options).run(progress);
}

}  // namespace tally::analysis
