
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "report/table/display_text.h"
#include "report/table/reports.h"

namespace tally::report {
namespace {

using analysis::ColumnRole;
using analysis::Finding;
using analysis::Row;
using analysis::Table;
using analysis::Unit;
using analysis::ValuePair;

constexpr size_t kCauses = 10;  // in a document

ValuePair values_of(const Finding& finding) { return {finding.before, finding.after}; }

// A time is the low end of an interval: it takes at least so long.
std::string now_text(const Finding& finding) {
  return finding.is_time() ? "at least " + duration_text(static_cast<double>(finding.after))
                           : with_separators(finding.after);
}

Row row_of(const Finding& finding) {
  const bool counted_before = finding.before != 0 || !finding.is_cap();
  return {finding.key.kind,
          finding.key.name,
          finding.key.metric,
          counted_before ? with_separators(finding.before) : std::string(),
          now_text(finding),
          counted_before ? signed_text(values_of(finding)) : std::string(),
          counted_before ? percent_text(values_of(finding)) : std::string(),
          finding.limit.text};
}

std::string result_text(const SceneCheck& check) {
  const std::string all = counted(check.result.compared, "count");
  if (check.result.findings.empty()) return fmt::format("{}: {} as expected", check.scene, all);
  const std::string found = with_separators(check.result.findings.size());
  if (check.result.by_driver)
    return fmt::format("{}: the driver changed {} of {}", check.scene, found, all);
  return fmt::format("{}: {} of {} outside of its limit", check.scene, found, all);
}

}  // namespace

std::vector<std::string> driver_lines(const SceneCheck& check) {
  if (!check.result.by_driver || check.result.findings.empty()) return {};
  std::set<std::string> metrics;
  for (const Finding& finding : check.result.findings) metrics.insert(finding.key.metric);
  std::string names;
  for (const std::string& metric : metrics) names += (names.empty() ? "" : ", ") + metric;
  return {"The driver changed these counts: the shaders, draws and dispatches are the same.",
          "Changed metrics: " + names, "Snapshot: " + check.driver, "Now: " + check.result.driver};
}

Table check_table(const SceneCheck& check, size_t top) {
  Table table{.id = "check", .title = result_text(check), .columns = {}, .rows = {}};
  const auto add = [&table](const char* id, const char* title, Unit unit, ColumnRole role) {
    table.columns.push_back(
        {.id = id, .title = title, .unit = unit, .role = role, .description = {}, .zero = {}});
  };
  add("kind", "kind", Unit::None, ColumnRole::Key);
  add("name", "name", Unit::None, ColumnRole::Key);
  add("metric", "metric", Unit::None, ColumnRole::Key);
  add("before", "snapshot", Unit::Count, ColumnRole::Value);
  add("after", "now", Unit::Count, ColumnRole::Value);
  add("amount", "change", Unit::Count, ColumnRole::Value);
  add("percent", "", Unit::Percent, ColumnRole::Value);
  add("limit", "limit", Unit::None, ColumnRole::Key);
  std::vector<Finding> findings = check.result.findings;
  std::ranges::stable_sort(findings, [](const Finding& a, const Finding& b) {
    return values_of(a).amount() > values_of(b).amount();
  });
  table.total_rows = findings.size();
  if (top != 0 && top < findings.size()) findings.resize(top);
  for (const Finding& finding : findings) table.rows.push_back(row_of(finding));
  return table;
}

std::vector<std::string> how_to_accept(const SceneCheck& check) {
  std::vector<std::string> lines;
  const std::vector<Finding> remaining = check.result.remaining();
  if (remaining.size() < check.result.findings.size())
    lines.push_back(fmt::format("tally check --update {} {}", shell_word(check.snapshot),
                                shell_word(check.capture)));
  std::map<size_t, const Finding*> largest;  // by line of the limits
  for (const Finding& finding : remaining) {
    const Finding*& known = largest[finding.limit.line];
    if (known == nullptr || finding.after > known->after) known = &finding;
  }
  const std::string limits =
      std::filesystem::path(check.snapshot).replace_extension(".limits").string();
  for (const auto& [line, finding] : largest) {
    lines.push_back(fmt::format("raise the limit {} in {}:{}: {} has {}", finding->limit.text,
                                limits, line, finding->key.name, now_text(*finding)));
  }
  return lines;
}

std::string check_markdown(const std::vector<SceneCheck>& checks) {
  MarkdownDocument document;
  const auto passed = std::ranges::count_if(
      checks, [](const SceneCheck& check) { return check.result.findings.empty(); });
  document.add(
      fmt::format("## GPU counts: {} of {} as expected", passed, counted(checks.size(), "scene")));
  for (const SceneCheck& check : checks) {
    if (check.result.findings.empty()) {
      document.add(markdown_text(result_text(check)));
    } else {
      for (const std::string& line : driver_lines(check)) document.add(markdown_text(line));
      if (!check.result.by_driver) add_causes(check.result.causes, kCauses, document);
      document.add(check_table(check, 0));
      for (const std::string& way : how_to_accept(check))
        document.add("To accept: " + markdown_code(way));
    }
  }
  return document.take();
}

// The formats that CI hosts read: JUnit, OpenMetrics and SARIF.

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
    return fmt::format("{}: {}, limit {}", finding.key.metric,
                       finding.is_time() ? now_text(finding) : std::to_string(finding.after),
                       finding.limit.text);
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

// The causes of a failed scene.
std::vector<std::string> cause_texts(const SceneCheck& check) {
  const analysis::CheckResult& result = check.result;
  if (result.findings.empty()) return {};
  if (result.by_driver) return {driver_lines(check).front()};
  std::vector<std::string> texts;
  for (const analysis::Cause& cause : result.causes.list)
    texts.push_back(cause_text(result.causes, cause));
  return texts;
}

std::string junit_suite(const SceneCheck& check) {
  const std::vector<std::string> causes = cause_texts(check);
  std::map<Case, std::vector<std::string>> cases;
  for (const auto& [key, count] : check.result.counts) cases[{key.kind, key.name}];
  size_t failures = 0;
  for (const Finding& finding : check.result.findings) {
    auto& findings = cases[{finding.key.kind, finding.key.name}];
    failures += findings.empty();
    findings.push_back(finding_text(finding));
  }
  std::string text =
      fmt::format("  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\">\n", xml(check.scene),
                  cases.size() + causes.size(), failures + causes.size());
  for (const std::string& cause : causes) text += junit_case({"cause", cause}, {cause});
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

Json sarif_location(const std::string& file, uint32_t line) {
  Json location = {{"artifactLocation", {{"uri", file}}}};
  if (line != 0) location["region"] = {{"startLine", line}};
  return {{"physicalLocation", location}};
}

Json sarif_result(const SceneCheck& check, const Finding& finding) {
  return {{"ruleId", "tally/" + finding.key.metric},
          {"level", "error"},
          {"message",
           {{"text", fmt::format("{} {} in {}: {}", finding.key.kind, finding.key.name, check.scene,
                                 finding_text(finding))}}},
          {"locations", Json::array({sarif_location(finding.file, finding.line)})}};
}

// A cause at its edited lines, or else at its loop or line; nothing where it has no place.
void add_sarif_cause(const SceneCheck& check, const analysis::Cause& cause, Json& results) {
  Json places = Json::array();
  for (const analysis::EditedLine& line : cause.lines)
    places.push_back(sarif_location(line.file, line.line));
  Json related = Json::array();
  for (const analysis::CountChange& loop : cause.loops)
    (places.empty() ? places : related).push_back(sarif_location(loop.file, loop.line));
  if (places.empty() && !cause.other_lines.empty())
    places.push_back(sarif_location(cause.other_lines[0].file, cause.other_lines[0].line));
  if (places.empty() || cause.amount() == 0) return;
  const std::string text = check.scene + ": " + cause_text(check.result.causes, cause);
  for (size_t p = 0; p < places.size(); ++p) {
    Json result = {{"ruleId", "tally/cause"},
                   {"level", "error"},
                   {"message", {{"text", text}}},
                   {"locations", Json::array({places[p]})}};
    if (!related.empty()) result["relatedLocations"] = related;
    results.push_back(std::move(result));
    if (cause.lines.empty()) break;  // one place is enough
  }
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
    if (!check.result.findings.empty() && !check.result.by_driver)
      for (const analysis::Cause& cause : check.result.causes.list)
        add_sarif_cause(check, cause, results);
  }
  const bool has_causes = !results.empty();
  for (const SceneCheck& check : checks) {
    for (const Finding& finding : check.result.findings) {
      if (finding.file.empty()) continue;
      results.push_back(sarif_result(check, finding));
      metrics.insert(finding.key.metric);
    }
  }
  Json rules = Json::array();
  if (has_causes)
    rules.push_back(
        {{"id", "tally/cause"}, {"shortDescription", {{"text", "Why counts changed"}}}});
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
