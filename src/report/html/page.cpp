#include "report/html/page.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>

#include "analysis/model/metrics.h"
#include "report/table/display_text.h"
#include "report/table/json.h"
#include "report/table/output.h"
#include "report/table/reports.h"

namespace tally::report {
namespace {

// Appends the digits of one to three bytes.
void append_group(std::string& text, std::string_view bytes) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  uint32_t word = 0;
  for (size_t i = 0; i < 3; ++i)
    word = word << 8 | (i < bytes.size() ? static_cast<uint8_t>(bytes[i]) : 0u);
  for (size_t i = 0; i < 4; ++i)
    text += i <= bytes.size() ? kDigits[word >> (18 - 6 * i) & 63] : '=';
}

}  // namespace

void Base64::write(std::string_view bytes) {
  const size_t missing = left_.empty() ? 0 : std::min(3 - left_.size(), bytes.size());
  left_ += bytes.substr(0, missing);
  bytes.remove_prefix(missing);
  std::string text;
  text.reserve(bytes.size() / 3 * 4 + 4);
  if (left_.size() == 3) {
    append_group(text, left_);
    left_.clear();
  }
  while (bytes.size() >= 3) {
    append_group(text, bytes.substr(0, 3));
    bytes.remove_prefix(3);
  }
  left_ += bytes;
  out_(text);
}

void Base64::finish() {
  std::string text;
  if (!left_.empty()) append_group(text, left_);
  left_.clear();
  out_(text);
}

std::string base64(std::string_view bytes) {
  std::string text;
  Base64 encoder([&](std::string_view piece) { text += piece; });
  encoder.write(bytes);
  encoder.finish();
  return text;
}

namespace {

using Json = nlohmann::ordered_json;
using analysis::DataCapture;
using analysis::Dataset;
using analysis::DataTable;
using analysis::Metric;

constexpr std::string_view kMagic = "TALLYHTM";
constexpr uint32_t kVersion = 1;
constexpr size_t kAlignment = 8;

size_t aligned(size_t size) { return (size + kAlignment - 1) / kAlignment * kAlignment; }

const char* attribution_name(analysis::Attribution attribution) {
  switch (attribution) {
    case analysis::Attribution::ByClass:
      return "class";
    case analysis::Attribution::EveryLine:
      return "every";
    case analysis::Attribution::FirstLine:
      return "first";
  }
  return "";
}

Json metric_json(const Metric& metric) {
  return {{"id", metric.id},
          {"title", metric.title},
          {"unit", unit_name(metric.unit)},
          {"description", metric.description},
          {"attribution", attribution_name(metric.attribution)}};
}

Json metrics_json(const std::vector<Metric>& metrics) {
  Json all = Json::array();
  for (const Metric& metric : metrics) all.push_back(metric_json(metric));
  return all;
}

// Gives each piece of data its place, and writes the pieces in the same order.
class Places {
 public:
  Json place(std::string_view bytes) {
    const size_t offset = end_;
    end_ += aligned(bytes.size());
    pieces_.push_back(bytes);
    return {{"offset", offset}, {"bytes", bytes.size()}};
  }

  void write(const Output& out) const {
    constexpr char kZeros[kAlignment] = {};
    for (const std::string_view piece : pieces_) {
      out(piece);
      out({kZeros, aligned(piece.size()) - piece.size()});
    }
  }

 private:
  size_t end_ = 0;
  std::vector<std::string_view> pieces_;
};

Json table_json(const DataTable& table, Places& places) {
  Json columns = Json::object();
  for (const auto& [name, column] : table.columns()) {
    Json json = {{"type", column.type()}};
    json.update(places.place(column.bytes()));
    columns[name] = std::move(json);
  }
  return {{"rows", table.rows()}, {"columns", std::move(columns)}};
}

Json memory_json(const std::vector<analysis::MemoryRow>& rows) {
  Json all = Json::array();
  for (const analysis::MemoryRow& row : rows) {
    all.push_back({{"where", row.where},
                   {"text", row.text},
                   {"resource", row.resource},
                   {"access", row.access},
                   {"bytes", row.bytes},
                   {"sectors", row.sectors},
                   {"extra_passes", row.extra_passes},
                   {"texels", row.texels}});
  }
  return all;
}

Json capture_json(const DataCapture& capture, Places& places) {
  Json json = {{"info", Json::parse(capture_json_text(capture.summary))},
               {"metrics", metrics_json(capture.metrics)},
               {"counted", capture.counted},
               {"simd", nullptr},
               {"left_out", capture.left_out},
               {"findings", Json::parse(findings_json_text(capture.findings))},
               {"memory", memory_json(capture.findings.memory)},
               {"memory_left_out", capture.findings.memory_left_out},
               {"prediction", Json::array()},
               {"cycles", Json::array()},
               {"commands", capture.grouped ? "grouped" : "each"}};
  for (const analysis::Table& table : capture.prediction)
    json["prediction"].push_back(Json::parse(table_json_text(table)));
  for (const analysis::Table& table : capture.cycles)
    json["cycles"].push_back(Json::parse(table_json_text(table)));
  if (!capture.simd_lanes.empty())
    json["simd"] = {{"lanes", capture.simd_lanes}, {"executions", capture.simd_executions}};
  Json tables = Json::object();
  for (const DataTable& table : capture.tables) tables[table.name()] = table_json(table, places);
  json["tables"] = std::move(tables);
  json["region_counters"] = metrics_json(capture.region_counters);
  json["default_region_counter"] = capture.default_region_counter;
  Json counters = Json::array();
  for (const analysis::FrameCounterData& counter : capture.egl_counters) {
    counters.push_back(metric_json(counter.metric));
    counters.back()["group"] = counter.group;
    counters.back()["is_level"] = counter.is_level;
  }
  json["egl_counters"] = std::move(counters);
  Json images = Json::array();
  for (const auto& image : capture.images) {
    images.push_back({{"type", "image/png"}});
    images.back().update(places.place({reinterpret_cast<const char*>(image.data()), image.size()}));
  }
  json["images"] = std::move(images);
  return json;
}

Json page_causes(const analysis::Causes& causes) {
  Json list = Json::array();
  for (const analysis::Cause& cause : causes.list)
    list.push_back({{"text", cause_text(causes, cause)}, {"parts", parts_text(causes, cause)}});
  return {{"total", total_text(causes)}, {"list", std::move(list)}};
}

std::string head_text(const Dataset& dataset, std::string_view tool_version, Places& places) {
  Json strings = Json::array();
  for (size_t i = 0; i < dataset.strings.size(); ++i) strings.push_back(dataset.strings[i]);
  Json captures = Json::array();
  for (const DataCapture& capture : dataset.captures)
    captures.push_back(capture_json(capture, places));
  Json preferred = Json::array();
  for (const std::string_view id : analysis::preferred_metrics()) preferred.push_back(id);
  Json head = {{"version", kVersion},
               {"tool_version", tool_version},
               {"strings", std::move(strings)},
               {"captures", std::move(captures)},
               {"default_metric", dataset.default_metric},
               {"preferred_metrics", std::move(preferred)},
               {"against", nullptr}};
  if (dataset.captures.size() > 1)
    head["against"] = {{"notes", dataset.notes}, {"causes", page_causes(dataset.causes)}};
  return head.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void write_number(uint32_t number, const Output& out) {
  static_assert(std::endian::native == std::endian::little);
  out({reinterpret_cast<const char*>(&number), sizeof number});
}

}  // namespace

void write_container(const Dataset& dataset, std::string_view tool_version, const Output& out) {
  Places places;
  std::string head = head_text(dataset, tool_version, places);
  head.resize(aligned(head.size()), ' ');
  out(kMagic);
  write_number(kVersion, out);
  write_number(static_cast<uint32_t>(head.size()), out);
  out(head);
  places.write(out);
}

namespace {

constexpr int kCompression = 9;

int digit_value(char digit) { return digit <= '9' ? digit - '0' : digit - 'a' + 10; }

// "sha256-...", as a content security policy names a script or style.
std::string policy_hash(const BundleFile& file) {
  std::string bytes;
  for (size_t i = 0; i + 1 < file.sha256.size(); i += 2)
    bytes += static_cast<char>(digit_value(file.sha256[i]) << 4 | digit_value(file.sha256[i + 1]));
  return "'sha256-" + base64(bytes) + "'";
}

std::string head() {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src {}; "
      "style-src {}; img-src data: blob:; base-uri 'none'; form-action 'none'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>Tally report</title>\n<style>",
      policy_hash(bundle_script()), policy_hash(bundle_style()));
}

}  // namespace

std::string_view why_no_html() {
  if (!bundle_script().text.empty()) return {};
  return "this build of tally has no HTML reports: it was made without npm";
}

Status write_html(const analysis::Dataset& dataset, std::string_view tool_version,
                  const Output& out) {
  out(head());
  out(bundle_style().text);
  out("</style>\n<!-- The script contains uPlot.\n\n");
  out(bundle_licences().text);
  out("-->\n</head>\n<body>\n<noscript>This report needs JavaScript.</noscript>\n"
      "<div id=\"tally\"></div>\n<script type=\"application/x-tally\" id=\"data\">");
  Base64 text(out);
  Gzip compressed([&](std::string_view piece) { text.write(piece); }, kCompression);
  write_container(dataset, tool_version, [&](std::string_view piece) { compressed.write(piece); });
  TALLY_TRY(compressed.finish());
  text.finish();
  out("</script>\n<script>");
  out(bundle_script().text);
  out("</script>\n</body>\n</html>\n");
  return {};
}

}  // namespace tally::report
