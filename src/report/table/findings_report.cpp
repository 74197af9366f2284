#include "report/table/reports.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>

#include "report/table/display_text.h"
#include "report/table/json.h"

namespace tally::report {
namespace {

using Json = nlohmann::ordered_json;

std::string place_line(const analysis::FindingPlace& place, size_t width) {
  std::string line = "    " + printable(place.where) + "  " + printable(place.numbers);
  const size_t first = place.text.find_first_not_of(" \t");
  if (first != std::string::npos) line += "  " + printable(place.text.substr(first));
  return shortened(line, width) + "\n";
}

}  // namespace

void write_findings(const analysis::Findings& findings, size_t width, const Output& out) {
  size_t number = 0;
  for (const analysis::CostFinding& finding : findings.list) {
    const std::string share =
        finding.share > 0 ? fmt::format(", {:.1f} %", finding.share * 100) : std::string();
    out(fmt::format("\n{}. {}{}\n", ++number, finding.rule->id, share));
    out(wrapped(printable(finding.text), width));
    for (const analysis::FindingPlace& place : finding.places) out(place_line(place, width));
    if (finding.places_left_out != 0)
      out(fmt::format("    and {} more\n", with_separators(finding.places_left_out)));
    out(wrapped(fmt::format("Try: {}.", finding.rule->what_to_try), width));
  }
  if (!findings.no_share_because.empty())
    out("\n" + wrapped(fmt::format("No share: {}.", findings.no_share_because), width));
  if (findings.unread_shaders != 0) {
    out("\n" + wrapped(fmt::format("{} ran whose code the capture does not have: the rules on code "
                                   "do not cover them.",
                                   counted(findings.unread_shaders, "shader")),
                       width));
  }
}

namespace {

Json findings_json(const analysis::Findings& findings) {
  Json list = Json::array();
  for (const analysis::CostFinding& finding : findings.list) {
    Json places = Json::array();
    for (const analysis::FindingPlace& place : finding.places)
      places.push_back({{"where", place.where}, {"numbers", place.numbers}, {"text", place.text}});
    list.push_back({{"rule", finding.rule->id},
                    {"text", finding.text},
                    {"share", finding.share},
                    {"places", std::move(places)},
                    {"places_left_out", finding.places_left_out},
                    {"what_to_try", finding.rule->what_to_try}});
  }
  return list;
}

}  // namespace

std::string findings_json_text(const analysis::Findings& findings) {
  return findings_json(findings).dump(-1, ' ', false, Json::error_handler_t::replace);
}

void write_findings_json(const analysis::Summary& summary, const analysis::Findings& findings,
                         const Output& out) {
  const Json document = {{"version", kFindingsJsonVersion},
                         {"capture", Json::parse(capture_json_text(summary))},
                         {"findings", findings_json(findings)},
                         {"no_share_because", findings.no_share_because},
                         {"unread_shaders", findings.unread_shaders}};
  out(document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace tally::report
