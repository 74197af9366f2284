#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "report/coverage_files.h"
#include "report/display_text.h"

namespace tally::report {
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

}  // namespace tally::report
