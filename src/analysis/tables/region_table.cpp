#include "analysis/tables/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "analysis/model/counts.h"
#include "analysis/model/names.h"
#include "analysis/tables/table_builder.h"

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
  uint32_t command = kNone;  // by draw; none: the pass less the draws that are known
};

class RegionTable {
 public:
  RegionTable(const Model& model, bool by_draw, const TableOptions& options)
      : model_(model),
        by_draw_(by_draw),
        options_(options),
        counters_(describe_region_counters(model)) {}

  Result<Table> run(const Progress& progress) {
    passes_ = TALLY_TRY(region_passes(model_, options_.pass));
    if (by_draw_) {
      auto draws = TALLY_TRY(RegionDraws::open(model_));
      draws_.emplace(std::move(draws));
    }
    Table table;
    table.id = by_draw_ ? "region_draw" : "region";
    table.title = by_draw_ ? "Draws of r" + title().substr(1) : title();
    const std::vector<Field> fields = key_fields();
    add_columns(table, fields);
    add_metric_columns(table, counters_);
    for (Column& column : table.columns) column.shown |= is_shown(column.id);
    add_density_columns(table);
    add_share_columns(table);
    if (by_draw_) {
      table.columns.push_back({.id = "region_share",
                               .title = "of region",
                               .unit = Unit::Percent,
                               .description = "percentage of the region's fragment_instructions",
                               .adds_up = false});
    }
    for (uint32_t in = 0; in < passes_.size(); ++in) {
      TALLY_TRY(add_regions(in, fields, table));
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

  // Shares of fragment invocations.
  void add_share_columns(Table& table) {
    const auto add = [&](std::string id, std::string title, std::string description) {
      table.columns.push_back({.id = std::move(id),
                               .title = std::move(title),
                               .unit = Unit::Percent,
                               .description = std::move(description),
                               .shown = false,
                               .adds_up = false});
    };
    fragments_ = find_metric(counters_, "fragment_invocations");
    discarded_ = fragments_ ? find_metric(counters_, "discarded_invocations") : std::nullopt;
    helpers_ = fragments_ ? find_metric(counters_, "helper_invocations") : std::nullopt;
    if (discarded_)
      add("discarded_share", "discarded", "fragment invocations that were discarded, in percent");
    if (helpers_)
      add("helper_share", "helpers",
          "helper invocations as a percentage of fragment and helper invocations");
  }

  static Cell percentage(uint64_t part, uint64_t whole) {
    if (whole == 0) return {};
    return 100 * static_cast<double>(part) / static_cast<double>(whole);
  }

  void append_shares(Row& row, const MetricMatrix& values, size_t region) const {
    if (discarded_)
      row.push_back(percentage(values.at(region, *discarded_), values.at(region, *fragments_)));
    if (helpers_) {
      const uint64_t helpers = values.at(region, *helpers_);
      row.push_back(percentage(helpers, helpers + values.at(region, *fragments_)));
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
    Status status =
        model_.reader.for_each_region_values(regions, [&](const store::RegionValuesRow& row) {
          const uint32_t counter = model_.region_counter_index.find(row.counter);
          for (size_t r = 0; counter != kNone && r < count; ++r) {
            values.add(r, counter, row.by_region[r]);
            if (row.by_region[r] != 0) counted[r] = true;
          }
          return true;
        });
    TALLY_TRY(status);
    if (by_draw_) return add_draws(in, values, fields, table);
    for (size_t r = 0; r < count; ++r) {
      if (counted[r]) {
        add_row(place_of(in, r), values, r, fields, table);
      } else {
        ++empty_;
      }
    }
    return {};
  }

  // `share`: of the region, by draw. No row for a region that was not asked for.
  void add_row(const Place& place, const MetricMatrix& values, size_t index,
               const std::vector<Field>& fields, Table& table, Cell share = {}) {
    const PixelArea area = region_area(passes_[place.in].regions, place.column, place.row);
    if (options_.at && !area.contains(options_.at->first, options_.at->second)) return;
    places_.push_back(place);
    Row row = make_row(fields, places_.size() - 1);
    append_metrics(row, values, index);
    for (size_t c = 0; c < counters_.size(); ++c)
      row.emplace_back(area.per_pixel(values.at(index, c)));
    append_shares(row, values, index);
    if (by_draw_) row.push_back(std::move(share));
    table.rows.push_back(std::move(row));
  }

  Place place_of(uint32_t in, size_t region, uint32_t command = kNone) const {
    const uint32_t columns = passes_[in].regions.columns();
    return {in, static_cast<uint32_t>(region % columns), static_cast<uint32_t>(region / columns),
            command};
  }

  // A last row has the rest of the region.
  Status add_draws(uint32_t in, const MetricMatrix& whole, const std::vector<Field>& fields,
                   Table& table) {
    const auto draws = TALLY_TRY(draws_->read(passes_[in]));
    if (counters_.empty() || draws.empty()) return {};
    const uint32_t ranked = default_region_counter(counters_);
    for (auto begin = draws.begin(); begin != draws.end();) {
      const uint32_t region = begin->region;
      const auto end =
          std::find_if(begin, draws.end(), [&](const RegionDraw& d) { return d.region != region; });
      const auto count = static_cast<size_t>(end - begin);
      MetricMatrix values(count + 1, counters_.size());
      bool has_rest = false;
      for (uint32_t c = 0; c < counters_.size(); ++c) {
        uint64_t sum = 0;
        for (size_t d = 0; d < count; ++d) {
          values.add(d, c, begin[static_cast<ptrdiff_t>(d)].values[c]);
          sum = saturating_sum(sum, values.at(d, c));
        }
        const uint64_t of_pass = whole.at(region, c);
        if (of_pass > sum) values.add(count, c, of_pass - sum), has_rest = true;
      }
      for (size_t d = 0; d < count + (has_rest ? 1 : 0); ++d) {
        const uint32_t command = d == count ? kNone : begin[static_cast<ptrdiff_t>(d)].command;
        add_row(place_of(in, region, command), values, d, fields, table,
                percentage(values.at(d, ranked), whole.at(region, ranked)));
      }
      begin = end;
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
    TALLY_TRY(finish_table(table, {}, options));
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
    if (by_draw_) add_draw_fields(fields);
    return fields;
  }

  void add_draw_fields(std::vector<Field>& fields) const {
    const auto command = [this](size_t r) {
      const uint32_t of = places_[r].command;
      return of == kNone ? nullptr : &model_.commands[of];
    };
    fields.push_back(key_field(
        "command", "command",
        "number of the draw in its frame, from 0; empty: draws that are not "
        "counted each on its own",
        [command](size_t r) {
          return command(r) ? Cell(uint64_t{command(r)->number_in_frame}) : Cell();
        },
        Unit::Count));
    fields.push_back(key_field(
        "call", "call", "Vulkan command: its counts, then the other parameters that are not 0",
        [this, command](size_t r) -> Cell {
          if (!command(r)) return std::string("(other draws)");
          const uint32_t call = command(r)->call;
          return call == kNone ? std::string() : call_text(model_.calls[call]);
        }));
    fields.push_back(
        key_field("pipeline", "pipeline", "name of the pipeline, or the start of its hash",
                  [this, command](size_t r) -> Cell {
                    return command(r) ? pipeline_name(model_, command(r)->pipeline) : std::string();
                  }));
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
  const bool by_draw_;
  const TableOptions& options_;
  const std::vector<Metric> counters_;
  std::optional<RegionDraws> draws_;
  std::vector<RegionPass> passes_;
  std::vector<Place> places_;                              // by row
  std::optional<size_t> fragments_, discarded_, helpers_;  // counters
  uint64_t empty_ = 0;
};

}  // namespace

Result<Table> make_region_table(const Model& model, bool by_draw, const TableOptions& options,
                                const Progress& progress) {
  return RegionTable(model, by_draw, options).run(progress);
}

}  // namespace tally::analysis
