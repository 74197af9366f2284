#include "report/coverage_summary.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/text_table.h"

namespace tally::report {
namespace {

using analysis::Cell;
using analysis::Column;
using analysis::ColumnRole;
using analysis::CoverageSum;
using analysis::FileCoverage;
using analysis::Row;
using analysis::ShaderState;
using analysis::Table;
using analysis::Unit;

Cell percent(uint64_t hit, uint64_t found) {
  if (found == 0) return {};
  return 100 * static_cast<double>(hit) / static_cast<double>(found);
}

Row row_of(const std::string& name, const CoverageSum& sum) {
  return {name,
          percent(sum.lines_hit, sum.lines),
          sum.lines_hit,
          sum.lines,
          sum.functions_hit,
          sum.functions,
          sum.branches_hit,
          sum.branches};
}

Column key(const char* id, const char* title) {
  return {.id = id, .title = title, .role = ColumnRole::Key};
}

Table file_table(const analysis::Coverage& coverage) {
  Table table;
  table.id = "coverage";
  table.title = fmt::format("Coverage of shader sources in {}", fmt::join(coverage.captures, ", "));
  table.columns = {key("file", "file"),
                   {.id = "share", .title = "lines hit", .unit = Unit::Percent}};
  for (const char* id : {"hit", "lines", "functions hit", "functions", "branches hit", "branches"})
    table.columns.push_back({.id = id, .title = id, .unit = Unit::Count});
  CoverageSum all;
  for (const FileCoverage& file : coverage.files) {
    table.rows.push_back(row_of(file.name, sum_of(file)));
    all += sum_of(file);
  }
  if (coverage.files.size() > 1) table.rows.push_back(row_of("total", all));
  table.total_rows = table.rows.size();
  if (const std::string left_out = lines_left_out(coverage); !left_out.empty())
    table.notes.push_back(left_out);
  return table;
}

std::string_view state_text(ShaderState state) {
  switch (state) {
    case ShaderState::NeverBound:
      return "never bound";
    case ShaderState::NeverDrawn:
      return "bound, but never used by a draw or dispatch";
    case ShaderState::NoInvocations:
      return "used, but without an invocation";
    case ShaderState::NotCounted:
      return "not counted";
    case ShaderState::NoLines:
      return "no source lines";
  }
  return {};
}

Table shader_table(const analysis::Coverage& coverage) {
  Table table;
  table.id = "uncovered";
  table.title = "Shaders that add no executions";
  table.columns = {key("shader", "shader"), key("stage", "stage"), key("state", "state"),
                   key("reason", "because"), key("capture", "capture")};
  const bool several = coverage.captures.size() > 1;
  table.columns.back().shown = several;
  bool has_reason = false;
  for (const analysis::UncoveredShader& shader : coverage.uncovered) {
    has_reason |= !shader.reason.empty();
    table.rows.push_back({shader.name, shader.stage, std::string(state_text(shader.state)),
                          shader.reason, shader.capture});
  }
  table.columns[3].shown = has_reason;
  table.total_rows = table.rows.size();
  table.notes = {
      "Lines of shaders that are not counted, or that have no source lines, are left out; the "
      "lines of the others count as never executed."};
  return table;
}

}  // namespace

std::string lines_left_out(const analysis::Coverage& coverage) {
  if (coverage.lines_left_out == 0) return {};
  return fmt::format("{} line(s) are left out: `#line` gives them numbers that no file has.",
                     coverage.lines_left_out);
}

void write_coverage_summary(const analysis::Coverage& coverage, size_t width, const Output& out) {
  write_text_table(file_table(coverage), {.width = width, .remedy = "the terminal is too narrow"},
                   out);
  if (coverage.uncovered.empty()) return;
  out("\n");
  write_text_table(shader_table(coverage), {.width = width, .remedy = "the terminal is too narrow"},
                   out);
}

}  // namespace tally::report
