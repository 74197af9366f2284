#include "analysis/cost/region_map.h"

#include <fmt/format.h>

#include <numeric>

#include "analysis/model/names.h"
#include "base/text.h"

namespace tally::analysis {
namespace {

Result<uint32_t> find_counter(const Model& model, const std::vector<Metric>& counters,
                              const std::string& wanted) {
  if (wanted.empty()) return default_region_counter(counters);
  std::vector<KnownName> known;
  for (uint32_t i = 0; i < counters.size(); ++i)
    known.push_back({counters[i].id, model.region_counters[i].name});
  const auto found = find_name("counter", wanted, known);
  if (!found) return found.error();
  return static_cast<uint32_t>(*found);
}

// Returns zeros if the counter has no row.
Result<std::vector<uint32_t>> read_values(const Model& model, const store::PassRegionsRow& regions,
                                          store::RowId counter) {
  std::vector<uint32_t> values(size_t{regions.columns()} * regions.rows());
  const Status status =
      model.reader.for_each_region_values(regions, [&](const store::RegionValuesRow& row) {
        if (row.counter == counter) values = row.by_region;
        return row.counter != counter;
      });
  if (!status) return status.error();
  return values;
}

}  // namespace

Result<std::optional<RegionMap>> make_region_map(const Model& model,
                                                 const RegionMapOptions& options) {
  const auto passes = region_passes(model, options.pass);
  if (!passes) return passes.error();
  const std::vector<Metric> counters = describe_region_counters(model);
  if (passes->empty() || counters.empty()) return std::optional<RegionMap>();
  const auto counter = find_counter(model, counters, options.counter);
  if (!counter) return counter.error();
  RegionMap map;
  map.counter = counters[*counter];
  const RegionPass* hottest = nullptr;
  for (const RegionPass& pass : *passes) {
    auto values = read_values(model, pass.regions, model.region_counters[*counter].id);
    if (!values) return values.error();
    const uint64_t total = std::accumulate(values->begin(), values->end(), uint64_t{0});
    if (hottest && total <= map.total) continue;
    hottest = &pass;
    map.total = total;
    map.values = std::move(*values);
  }
  const Pass& pass = model.passes[hottest->pass];
  map.frame = model.frames[pass.frame].number;
  map.pass_number = pass.number_in_frame;
  map.pass = pass_text(&pass);
  map.regions = hottest->regions;
  auto picture = model.reader.pass_picture(pass.row.id, map.regions.layer);
  if (!picture) return picture.error();
  map.picture = std::move(*picture);
  return std::optional(std::move(map));
}

}  // namespace tally::analysis
