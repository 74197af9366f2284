// The difference of the pictures of passes, as a table and as JSON.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>
#include <vector>

#include "report/table/reports.h"

namespace tally::report {
namespace {

using Json = nlohmann::ordered_json;

using analysis::ColumnRole;
using analysis::PictureDifference;
using analysis::Table;
using analysis::Unit;

Json picture_json(const PictureDifference& one) {
  Json json = {{"pass", one.pass},     {"label", one.label}, {"frame", one.frame},
               {"layer", one.layer},   {"width", one.width}, {"height", one.height},
               {"pixels", one.pixels}, {"max", one.most}};
  if (one.pixels != 0)
    json["box"] = {
        {"left", one.left}, {"top", one.top}, {"right", one.right}, {"bottom", one.bottom}};
  return json;
}

}  // namespace

std::string pictures_text(const analysis::PictureDifferences& pictures) {
  uint64_t all = 0;
  uint32_t most = 0;
  for (const PictureDifference& one : pictures.list) {
    all += uint64_t{one.width} * one.height;
    most = std::max(most, one.most);
  }
  std::string text = fmt::format("{} of {} pixels of {} differ", with_separators(pictures.pixels()),
                                 with_separators(all), counted(pictures.list.size(), "picture"));
  if (most != 0) text += fmt::format(", by at most {} of 255", most);
  if (pictures.only_before != 0 || pictures.only_after != 0)
    text +=
        fmt::format("; {} of OLD and {} of NEW have none to be compared with",
                    with_separators(pictures.only_before), with_separators(pictures.only_after));
  return text;
}

Table picture_table(const analysis::PictureDifferences& pictures, size_t top) {
  Table table;
  table.id = "picture";
  table.title = "Pictures at the end of passes: " + pictures_text(pictures);
  const auto add = [&](const char* id, const char* title, ColumnRole role, Unit unit = Unit::None) {
    table.columns.push_back(
        {.id = id, .title = title, .unit = unit, .role = role, .description = {}, .zero = {}});
  };
  add("pass", "pass", ColumnRole::Key);
  add("label", "label", ColumnRole::Key);
  add("frame", "frame", ColumnRole::Key, Unit::Count);
  add("layer", "layer", ColumnRole::Key, Unit::Count);
  add("pixels", "pixels", ColumnRole::Value, Unit::Count);
  add("percent", "", ColumnRole::Value, Unit::Percent);
  add("max", "at most", ColumnRole::Value, Unit::Count);
  add("where", "in x", ColumnRole::Text);
  add("where_y", "y", ColumnRole::Text);
  std::vector<PictureDifference> differing;
  std::ranges::copy_if(pictures.list, std::back_inserter(differing),
                       [](const PictureDifference& one) { return one.pixels != 0; });
  std::ranges::stable_sort(differing, std::greater<>(), &PictureDifference::pixels);
  table.total_rows = differing.size();
  if (top != 0 && top < differing.size()) differing.resize(top);
  for (const PictureDifference& one : differing) {
    const double percent = 100 * static_cast<double>(one.pixels) /
                           (static_cast<double>(one.width) * static_cast<double>(one.height));
    table.rows.push_back({one.pass, one.label, fmt::format("{}", one.frame),
                          fmt::format("{}", one.layer), with_separators(one.pixels),
                          fmt::format("{:.2f}%", percent), fmt::format("{}", one.most),
                          fmt::format("{}-{}", one.left, one.right - 1),
                          fmt::format("{}-{}", one.top, one.bottom - 1)});
  }
  const auto has = [&](auto wanted) { return std::ranges::any_of(differing, wanted); };
  table.columns[1].shown = has([](const auto& one) { return !one.label.empty(); });
  table.columns[3].shown = has([](const auto& one) { return one.layer != 0; });
  return table;
}

std::string pictures_json(const analysis::PictureDifferences& pictures) {
  if (pictures.list.empty() && pictures.only_before == 0 && pictures.only_after == 0) return "null";
  Json list = Json::array();
  for (const PictureDifference& one : pictures.list) list.push_back(picture_json(one));
  const Json json = {{"pixels", pictures.pixels()},
                     {"only_before", pictures.only_before},
                     {"only_after", pictures.only_after},
                     {"list", std::move(list)}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace tally::report
