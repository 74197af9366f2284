#include <fmt/format.h>

#include <iterator>
#include <map>

#include "report/coverage_files.h"
#include "report/display_text.h"

namespace tally::report {
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
