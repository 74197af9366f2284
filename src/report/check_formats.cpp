// The formats that CI hosts read: JUnit, OpenMetrics and SARIF.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "report/check_report.h"
#include "report/display_text.h"

namespace tally::report {
namespace {

using Json = nlohmann::ordered_json;
using analysis::Finding;

std::string xml(const std::string& text) {
  std::string safe;
  for (const char c : printable(text)) {
    switch (c) {
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '"':
        safe += "&quot;";
        break;
      default:
        safe += c;
    }
  }
  return safe;
}

std::string finding_text(const Finding& finding) {
  if (finding.is_cap())
    return fmt::format("{}: {}, limit {}", finding.key.metric, finding.after, finding.limit.text);
  return fmt::format("{}: {}, was {}, limit {}", finding.key.metric, finding.after, finding.before,
                     finding.limit.text);
}

using Case = std::pair<std::string, std::string>;  // kind, name

std::string junit_case(const Case& tested, const std::vector<std::string>& findings) {
  std::string text = fmt::format("    <testcase classname=\"{}\" name=\"{}\"", xml(tested.first),
                                 xml(tested.second));
  if (findings.empty()) return text + "/>\n";
  text += fmt::format(">\n      <failure message=\"{}\">", xml(findings.front()));
  for (const std::string& finding : findings) text += xml(finding) + "\n";
  return text + "</failure>\n    </testcase>\n";
}

std::string junit_suite(const SceneCheck& check) {
  std::map<Case, std::vector<std::string>> cases;
  for (const auto& [key, count] : check.result.counts) cases[{key.kind, key.name}];
  size_t failures = 0;
  for (const Finding& finding : check.result.findings) {
    auto& findings = cases[{finding.key.kind, finding.key.name}];
    failures += findings.empty();
    findings.push_back(finding_text(finding));
  }
  std::string text = fmt::format("  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\">\n",
                                 xml(check.scene), cases.size(), failures);
  for (const auto& [tested, findings] : cases) text += junit_case(tested, findings);
  return text + "  </testsuite>\n";
}

// A label value of OpenMetrics.
std::string label(const std::string& text) {
  std::string safe;
  for (const char c : printable(text)) {
    if (c == '\\' || c == '"') safe += '\\';
    safe += c;
  }
  return safe;
}

// A metric's name of OpenMetrics: letters, digits and underscores.
std::string metric_name(const std::string& id) {
  std::string name = "tally_" + id;
  for (char& c : name) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!letter && !(c >= '0' && c <= '9')) c = '_';
  }
  return name;
}

Json sarif_result(const SceneCheck& check, const Finding& finding) {
  Json location = {{"artifactLocation", {{"uri", finding.file}}}};
  if (finding.line != 0) location["region"] = {{"startLine", finding.line}};
  return {{"ruleId", "tally/" + finding.key.metric},
          {"level", "error"},
          {"message",
           {{"text", fmt::format("{} {} in {}: {}", finding.key.kind, finding.key.name, check.scene,
                                 finding_text(finding))}}},
          {"locations", Json::array({{{"physicalLocation", location}}})}};
}

}  // namespace

std::string check_junit(const std::vector<SceneCheck>& checks) {
  std::string text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"tally\">\n";
  for (const SceneCheck& check : checks) text += junit_suite(check);
  return text + "</testsuites>\n";
}

std::string check_openmetrics(const std::vector<SceneCheck>& checks) {
  std::map<std::string, std::string> families;  // OpenMetrics wants each in one piece
  for (const SceneCheck& check : checks) {
    for (const auto& [key, count] : check.result.counts) {
      const std::string name = metric_name(key.metric);
      families[name] += fmt::format("{}{{scene=\"{}\",kind=\"{}\",name=\"{}\"}} {}\n", name,
                                    label(check.scene), key.kind, label(key.name), count);
    }
  }
  std::string text;
  for (const auto& [name, samples] : families)
    text += fmt::format("# TYPE {} gauge\n{}", name, samples);
  return text + "# EOF\n";
}

std::string check_sarif(const std::vector<SceneCheck>& checks, const std::string& tool_version) {
  Json results = Json::array();
  std::set<std::string> metrics;
  for (const SceneCheck& check : checks) {
    for (const Finding& finding : check.result.findings) {
      if (finding.file.empty()) continue;
      results.push_back(sarif_result(check, finding));
      metrics.insert(finding.key.metric);
    }
  }
  Json rules = Json::array();
  for (const std::string& metric : metrics) {
    rules.push_back({{"id", "tally/" + metric},
                     {"shortDescription", {{"text", "The count of " + metric + " is too high"}}}});
  }
  const Json driver = {{"name", "tally"}, {"version", tool_version}, {"rules", rules}};
  const Json sarif = {
      {"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
      {"version", "2.1.0"},
      {"runs", Json::array({{{"tool", {{"driver", driver}}}, {"results", results}}})}};
  return sarif.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace tally::report
