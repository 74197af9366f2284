#include "analysis/dataset/capture_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "analysis/dataset/dataset.h"
#include "analysis/model/counts.h"
#include "analysis/tables/frame_counters.h"
#include "analysis/tables/summary.h"

namespace tally::analysis {
namespace {

using Kind = DataColumn::Kind;

constexpr size_t kMaxRegionValues = 4'000'000;  // regions x counters
constexpr size_t kMaxPictureBytes = size_t{6} << 20;

// Values of the default counter, by row id of the regions.
Result<std::map<store::RowId, uint64_t>> totals_of(const Model& model, store::RowId counter) {
  auto rows = TALLY_TRY(model.reader.query(
      fmt::format("SELECT regions, total FROM region_values WHERE counter = {}", counter)));
  std::map<store::RowId, uint64_t> totals;
  while (rows.step())
    totals[rows.integer(0)] = static_cast<uint64_t>(std::max<int64_t>(rows.integer(1), 0));
  TALLY_TRY(rows.status());
  return totals;
}

class RegionTables {
 public:
  RegionTables(const Model& model, const std::vector<uint32_t>& merged_of,
               const std::vector<uint32_t>& row_of, DataCapture& capture)
      : model_(model),
        merged_of_(merged_of),
        row_of_(row_of),
        capture_(capture),
        counters_(describe_region_counters(model)) {}

  Status add() {
    for (const Metric& counter : counters_) {
      values_.push_back(&regions_.add(counter.id, Kind::Number));
      draw_values_.push_back(&draws_.add(counter.id, Kind::Number));
    }
    passes_ = TALLY_TRY(region_passes(model_, std::nullopt));
    TALLY_TRY(sort_by_heat());
    Status status = choose_regions();
    if (status.ok()) status = add_pictures();
    if (draws_left_out_ != 0) {
      capture_.left_out.push_back(
          fmt::format("The draws of {} passes by region are left out: a page holds {} of their "
                      "values.",
                      draws_left_out_, kMaxRegionValues));
    }
    capture_.tables.push_back(std::move(draws_));
    capture_.tables.push_back(std::move(region_passes_));
    capture_.tables.push_back(std::move(regions_));
    capture_.tables.push_back(std::move(pictures_));
    capture_.region_counters = counters_;
    if (!counters_.empty())
      capture_.default_region_counter = counters_[default_region_counter(counters_)].id;
    return status;
  }

 private:
  // The hottest of each merged pass, then the others in the order of the capture.
  Status sort_by_heat() {
    if (counters_.empty() || passes_.empty()) return {};
    const auto totals =
        TALLY_TRY(totals_of(model_, model_.region_counters[default_region_counter(counters_)].id));
    const auto total_of = [&](const RegionPass& pass) {
      const auto found = totals.find(pass.regions.id);
      return found == totals.end() ? 0 : found->second;
    };
    using Key = std::tuple<uint32_t, uint32_t, uint32_t>;
    std::map<Key, size_t> hottest;
    for (size_t i = 0; i < passes_.size(); ++i) {
      const RegionPass& pass = passes_[i];
      const Key key{merged_of_[pass.pass], pass.regions.subpass, pass.regions.layer};
      const auto [found, added] = hottest.emplace(key, i);
      if (!added && total_of(pass) > total_of(passes_[found->second])) found->second = i;
    }
    std::set<size_t> first;
    for (const auto& [key, index] : hottest) first.insert(index);
    std::vector<RegionPass> sorted;
    for (const size_t i : first) sorted.push_back(passes_[i]);
    for (size_t i = 0; i < passes_.size(); ++i)
      if (!first.contains(i)) sorted.push_back(passes_[i]);
    passes_ = std::move(sorted);
    return {};
  }

  Status choose_regions() {
    size_t left = kMaxRegionValues, left_out = 0;
    std::vector<RegionPass> chosen;
    for (const RegionPass& pass : passes_) {
      const size_t values = size_t{pass.regions.columns()} * pass.regions.rows() * counters_.size();
      if (values > left) {
        ++left_out;
        continue;
      }
      left -= values;
      chosen.push_back(pass);
    }
    if (left_out != 0) {
      capture_.left_out.push_back(fmt::format(
          "{} of {} passes by region are left out: a page holds {} values of regions. The hottest "
          "of passes of the same name are here.",
          left_out, passes_.size(), kMaxRegionValues));
    }
    std::ranges::stable_sort(chosen, {}, &RegionPass::pass);
    auto draws = TALLY_TRY(RegionDraws::open(model_));
    for (const RegionPass& pass : chosen) {
      TALLY_TRY(add_pass(pass));
      if (!draws.exist()) continue;
      TALLY_TRY(add_draws(pass, draws));
    }
    return {};
  }

  // A row of commands may stand for several draws.
  Status add_draws(const RegionPass& pass, const RegionDraws& draws) {
    const auto read = TALLY_TRY(draws.read(pass));
    std::map<std::pair<uint32_t, uint32_t>, std::vector<uint64_t>> rows;
    for (const RegionDraw& draw : read)
      add_saturating(rows[{draw.region, row_of_[draw.command]}], draw.values);
    const size_t values = rows.size() * counters_.size();
    if (values > draw_values_left_) {
      ++draws_left_out_;
      return {};
    }
    draw_values_left_ -= values;
    for (const auto& [key, of_counters] : rows) {
      draw_pass_.push(region_passes_.rows() - 1);
      draw_region_.push(key.first);
      draw_command_.push(key.second);
      for (size_t c = 0; c < counters_.size(); ++c) draw_values_[c]->push(of_counters[c]);
    }
    return {};
  }

  Status add_pass(const RegionPass& pass) {
    const store::PassRegionsRow& row = pass.regions;
    pass_.push(pass.pass);
    subpass_.push(row.subpass);
    layer_.push(row.layer);
    x_.push(static_cast<uint64_t>(std::max<int64_t>(row.x, 0)));
    y_.push(static_cast<uint64_t>(std::max<int64_t>(row.y, 0)));
    width_.push(row.width);
    height_.push(row.height);
    region_width_.push(row.region_width);
    region_height_.push(row.region_height);
    columns_.push(row.columns());
    rows_.push(row.rows());
    first_.push(regions_.rows());
    const size_t count = size_t{row.columns()} * row.rows();
    std::vector<std::vector<uint32_t>> values(counters_.size());
    const Status read =
        model_.reader.for_each_region_values(row, [&](const store::RegionValuesRow& of) {
          const uint32_t counter = model_.region_counter_index.find(of.counter);
          if (counter != kNone) values[counter] = of.by_region;
          return true;
        });
    for (size_t c = 0; c < values.size(); ++c) {
      values[c].resize(count);
      for (const uint32_t value : values[c]) values_[c]->push(value);
    }
    return read;
  }

  // In the order of `passes_`, then those of passes without regions.
  Status add_pictures() {
    std::vector<std::pair<uint32_t, uint32_t>> order;  // pass, layer
    std::set<std::pair<uint32_t, uint32_t>> seen;
    const auto add = [&](uint32_t pass, uint32_t layer) {
      if (seen.insert({pass, layer}).second) order.emplace_back(pass, layer);
    };
    for (const RegionPass& pass : passes_) add(pass.pass, pass.regions.layer);
    auto rows =
        TALLY_TRY(model_.reader.query("SELECT pass, layer FROM pass_picture ORDER BY pass, layer"));
    std::set<std::pair<store::RowId, int64_t>> stored;
    while (rows.step()) stored.emplace(rows.integer(0), rows.integer(1));
    TALLY_TRY(rows.status());
    for (uint32_t p = 0; p < model_.passes.size(); ++p) {
      const store::RowId id = model_.passes[p].row.id;
      for (auto at = stored.lower_bound({id, 0}); at != stored.end() && at->first == id; ++at)
        add(p, static_cast<uint32_t>(at->second));
    }
    size_t left = kMaxPictureBytes, left_out = 0;
    for (const auto& [pass, layer] : order) {
      const store::RowId id = model_.passes[pass].row.id;
      if (!stored.contains({id, layer})) continue;
      auto picture = TALLY_TRY(model_.reader.pass_picture(id, layer));
      if (!picture) continue;
      if (picture->png.size() > left) {
        ++left_out;
        continue;
      }
      left -= picture->png.size();
      add_picture(pass, std::move(*picture));
    }
    if (left_out != 0) {
      capture_.left_out.push_back(
          fmt::format("{} pictures of passes are left out: a page holds {} MiB of them.", left_out,
                      kMaxPictureBytes >> 20));
    }
    return {};
  }

  void add_picture(uint32_t pass, store::PassPictureRow picture) {
    picture_pass_.push(pass);
    picture_layer_.push(picture.layer);
    picture_image_.push(capture_.images.size());
    picture_width_.push(picture.width);
    picture_height_.push(picture.height);
    capture_.images.push_back(std::move(picture.png));
  }

  const Model& model_;
  const std::vector<uint32_t>& merged_of_;
  const std::vector<uint32_t>& row_of_;
  DataCapture& capture_;
  const std::vector<Metric> counters_;
  std::vector<RegionPass> passes_;
  DataTable region_passes_{"region_passes"}, regions_{"regions"}, pictures_{"pictures"};
  DataColumn& pass_ = region_passes_.add("pass", Kind::Index);
  DataColumn& subpass_ = region_passes_.add("subpass", Kind::Number);
  DataColumn& layer_ = region_passes_.add("layer", Kind::Number);
  DataColumn& x_ = region_passes_.add("x", Kind::Number);
  DataColumn& y_ = region_passes_.add("y", Kind::Number);
  DataColumn& width_ = region_passes_.add("width", Kind::Number);
  DataColumn& height_ = region_passes_.add("height", Kind::Number);
  DataColumn& region_width_ = region_passes_.add("region_width", Kind::Number);
  DataColumn& region_height_ = region_passes_.add("region_height", Kind::Number);
  DataColumn& columns_ = region_passes_.add("columns", Kind::Number);
  DataColumn& rows_ = region_passes_.add("rows", Kind::Number);
  DataColumn& first_ = region_passes_.add("first", Kind::Number);
  std::vector<DataColumn*> values_;  // by counter
  DataTable draws_{"region_draws"};
  DataColumn& draw_pass_ = draws_.add("region_pass", Kind::Index);
  DataColumn& draw_region_ = draws_.add("region", Kind::Number);
  DataColumn& draw_command_ = draws_.add("command", Kind::Index);
  std::vector<DataColumn*> draw_values_;  // by counter
  size_t draw_values_left_ = kMaxRegionValues, draws_left_out_ = 0;
  DataColumn& picture_pass_ = pictures_.add("pass", Kind::Index);
  DataColumn& picture_layer_ = pictures_.add("layer", Kind::Number);
  DataColumn& picture_image_ = pictures_.add("image", Kind::Index);
  DataColumn& picture_width_ = pictures_.add("width", Kind::Number);
  DataColumn& picture_height_ = pictures_.add("height", Kind::Number);
};

}  // namespace

Status add_regions(const Model& model, const std::vector<uint32_t>& merged_of,
                   const std::vector<uint32_t>& row_of, DataCapture& capture) {
  return RegionTables(model, merged_of, row_of, capture).add();
}

Status add_egl_frames(const Model& model, DataCapture& capture) {
  const auto measured = TALLY_TRY(load_measured_frames(model));
  DataTable table("egl_frames");
  DataColumn& frame = table.add("frame", Kind::Index);
  DataColumn& time = table.add("time", Kind::Real);
  std::vector<DataColumn*> columns;
  for (const FrameCounterKind& kind : measured.kinds) {
    columns.push_back(&table.add(kind.id, Kind::Real));
    Metric metric{.id = kind.id,
                  .title = kind.row->name,
                  .description = kind.row->group + ": " + kind.row->name,
                  .unit = kind.unit};
    capture.egl_counters.push_back({std::move(metric), kind.row->group, kind.row->is_level});
  }
  std::vector<uint32_t> row_of(model.frames.size(), kNone);
  const std::vector<FrameContent> contents = frame_contents(model);
  for (uint32_t f = 0, row = 0; f < model.frames.size(); ++f)
    if (contents[f] != FrameContent::Nothing) row_of[f] = row++;
  constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();
  for (size_t r = 0; r < measured.frames.size(); ++r) {
    const uint32_t f = measured.frames[r];
    const auto duration = frame_duration(model.frames[f]);
    frame.push_index(row_of[f]);
    time.push_real(duration ? static_cast<double>(*duration) : kMissing);
    for (size_t k = 0; k < columns.size(); ++k) {
      const auto& value = measured.values[r][k];
      columns[k]->push_real(value ? static_cast<double>(*value) /
                                        static_cast<double>(measured.kinds[k].divisor)
                                  : kMissing);
    }
  }
  capture.tables.push_back(std::move(table));
  return {};
}

}  // namespace tally::analysis
