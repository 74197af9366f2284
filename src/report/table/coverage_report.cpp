#include "report/table/reports.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "report/table/display_text.h"

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

namespace {

using analysis::FileCoverage;
using Buffer = std::back_insert_iterator<std::string>;

// A comma ends a name in a record.
std::string function_name(const std::string& name) {
  std::string text = printable(name);
  std::ranges::replace(text, ',', ';');
  return text;
}

void write_functions(const FileCoverage& file, Buffer out) {
  for (const auto& [name, function] : file.functions)
    fmt::format_to(out, "FN:{},{}\n", function.line, function_name(name));
  for (const auto& [name, function] : file.functions)
    fmt::format_to(out, "FNDA:{},{}\n", function.count, function_name(name));
}

void write_branches(const FileCoverage& file, Buffer out) {
  for (const auto& [key, branch] : file.branches) {
    const auto& [line, number, targets] = key;
    for (size_t t = 0; t < branch.taken.size(); ++t) {
      fmt::format_to(out, "BRDA:{},{},{},{}\n", line, number, t,
                     branch.executed ? std::to_string(branch.taken[t]) : "-");
    }
  }
}

void write_file(const FileCoverage& file, const std::string& path, Buffer out) {
  const analysis::CoverageSum sum = sum_of(file);
  fmt::format_to(out, "TN:tally\nSF:{}\n", path);
  write_functions(file, out);
  fmt::format_to(out, "FNF:{}\nFNH:{}\n", sum.functions, sum.functions_hit);
  write_branches(file, out);
  fmt::format_to(out, "BRF:{}\nBRH:{}\n", sum.branches, sum.branches_hit);
  for (const auto& [line, count] : file.lines) fmt::format_to(out, "DA:{},{}\n", line, count);
  fmt::format_to(out, "LF:{}\nLH:{}\nend_of_record\n", sum.lines, sum.lines_hit);
}

}  // namespace

CoveragePaths recorded_paths(const analysis::Coverage& coverage) {
  CoveragePaths result;
  for (const FileCoverage& file : coverage.files) result.paths.push_back(printable(file.name));
  return result;
}

std::string lcov_tracefile(const analysis::Coverage& coverage, const CoveragePaths& paths) {
  std::string text;
  for (size_t i = 0; i < coverage.files.size(); ++i)
    write_file(coverage.files[i], paths.paths[i], std::back_inserter(text));
  return text;
}

namespace {

using analysis::BranchCoverage;
using analysis::CoverageSum;
using analysis::FileCoverage;
using Buffer = std::back_insert_iterator<std::string>;

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : printable(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

// 1 if there is nothing to hit.
std::string rate(uint64_t hit, uint64_t found) {
  return fmt::format("{:.4f}",
                     found == 0 ? 1.0 : static_cast<double>(hit) / static_cast<double>(found));
}

std::string rates(const CoverageSum& sum) {
  return fmt::format("line-rate=\"{}\" branch-rate=\"{}\"", rate(sum.lines_hit, sum.lines),
                     rate(sum.branches_hit, sum.branches));
}

class ClassWriter {
 public:
  ClassWriter(const FileCoverage& file, const std::string& path, Buffer out)
      : file_(file), path_(path), out_(out) {
    for (const auto& [key, branch] : file.branches) branches_[std::get<0>(key)].push_back(&branch);
  }

  void run() {
    const std::string title = path_.substr(path_.find_last_of('/') + 1);
    fmt::format_to(out_, "<class name=\"{}\" filename=\"{}\" {} complexity=\"0\">\n<methods>\n",
                   escaped(title), escaped(path_), rates(sum_of(file_)));
    for (const auto& [name, function] : file_.functions) {
      const std::string hit = rate(function.count != 0, 1);
      fmt::format_to(out_,
                     "<method name=\"{}\" signature=\"\" line-rate=\"{}\" branch-rate=\"{}\" "
                     "complexity=\"0\"><lines><line number=\"{}\" hits=\"{}\"/></lines></method>\n",
                     escaped(name), hit, hit, function.line, function.count);
    }
    fmt::format_to(out_, "</methods>\n<lines>\n");
    for (const auto& [line, count] : file_.lines) write_line(line, count);
    fmt::format_to(out_, "</lines>\n</class>\n");
  }

 private:
  void write_line(uint32_t line, uint64_t count) {
    const auto found = branches_.find(line);
    if (found == branches_.end()) {
      fmt::format_to(out_, "<line number=\"{}\" hits=\"{}\"/>\n", line, count);
      return;
    }
    uint64_t hit = 0, targets = 0;
    for (const BranchCoverage* branch : found->second) {
      for (const uint64_t taken : branch->taken) ++targets, hit += taken != 0;
    }
    fmt::format_to(out_,
                   "<line number=\"{}\" hits=\"{}\" branch=\"true\" "
                   "condition-coverage=\"{}% ({}/{})\"/>\n",
                   line, count, 100 * hit / targets, hit, targets);
  }

  const FileCoverage& file_;
  const std::string& path_;
  Buffer out_;
  std::map<uint32_t, std::vector<const BranchCoverage*>> branches_;  // by line
};

}  // namespace

std::string cobertura_xml(const analysis::Coverage& coverage, const CoveragePaths& paths,
                          const std::string& tool_version) {
  CoverageSum sum;
  for (const FileCoverage& file : coverage.files) sum += sum_of(file);
  std::string text;
  const auto out = std::back_inserter(text);
  fmt::format_to(out,
                 "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                 "<!DOCTYPE coverage SYSTEM "
                 "\"http://cobertura.sourceforge.net/xml/coverage-04.dtd\">\n"
                 "<coverage {} lines-covered=\"{}\" lines-valid=\"{}\" branches-covered=\"{}\" "
                 "branches-valid=\"{}\" complexity=\"0\" version=\"tally {}\" timestamp=\"{}\">\n"
                 "<sources><source>.</source></sources>\n"
                 "<packages>\n<package name=\"shaders\" {} complexity=\"0\">\n<classes>\n",
                 rates(sum), sum.lines_hit, sum.lines, sum.branches_hit, sum.branches,
                 escaped(tool_version), coverage.last_start_unix_ns / 1'000'000, rates(sum));
  for (size_t i = 0; i < coverage.files.size(); ++i)
    ClassWriter(coverage.files[i], paths.paths[i], out).run();
  text += "</classes>\n</package>\n</packages>\n</coverage>\n";
  return text;
}

}  // namespace tally::report
