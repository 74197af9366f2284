#include "report/check_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/diff_table.h"
#include "report/markdown.h"
#include "report/values.h"

namespace tally::report {
namespace {

using analysis::ColumnRole;
using analysis::Finding;
using analysis::Row;
using analysis::Table;
using analysis::Unit;
using analysis::ValuePair;

ValuePair values_of(const Finding& finding) { return {finding.before, finding.after}; }

Row row_of(const Finding& finding) {
  const bool counted_before = finding.before != 0 || !finding.is_cap();
  return {finding.key.kind,
          finding.key.name,
          finding.key.metric,
          counted_before ? with_separators(finding.before) : std::string(),
          with_separators(finding.after),
          counted_before ? signed_text(values_of(finding)) : std::string(),
          counted_before ? percent_text(values_of(finding)) : std::string(),
          finding.limit.text};
}

std::string result_text(const SceneCheck& check) {
  const std::string all = counted(check.result.compared, "count");
  if (check.result.findings.empty()) return fmt::format("{}: {} as expected", check.scene, all);
  return fmt::format("{}: {} of {} outside of its limit", check.scene,
                     with_separators(check.result.findings.size()), all);
}

}  // namespace

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
      document.add(check_table(check, 0));
    }
  }
  return document.take();
}

}  // namespace tally::report
