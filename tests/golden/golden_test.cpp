// Compares whole reports of whole captures with the files in expected/. After an intended change of
// the output, TALLY_UPDATE_GOLDEN=1 golden_test rewrites them, and `git diff` shows the change.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/run/environment.h"
#include "platform/program.h"
#include "sample_capture.h"
#include "store/testing/test_capture.h"

namespace tally::test {
namespace {

struct Case {
  const char* name;  // name of the file in expected/
  std::vector<std::string> arguments;
};

const Case kCases[] = {
    {"overview.txt", {}},
    {"overview-100.txt", {"--width", "100"}},
    {"draw.txt", {"--by", "draw"}},
    {"draw-each.txt", {"--by", "draw", "--each"}},
    {"draw-frame-1.txt", {"--by", "draw", "--each", "--frames", "1", "--sort", "command"}},
    {"pass.txt", {"--by", "pass"}},
    {"pass-merged.txt", {"--by", "pass", "--merge"}},
    {"pass-merged.json", {"--by", "pass", "--merge", "--format", "json", "--top", "1"}},
    {"shader.txt", {"--by", "shader"}},
    {"shader-compute.txt", {"--by", "shader", "--shader", "compute"}},
    {"line.txt", {"--by", "line"}},
    {"line-top-2.txt", {"--by", "line", "--top", "2", "--sort", "float32"}},
    {"block.txt", {"--by", "block"}},
    {"function.txt", {"--by", "function"}},
    {"function-merged.txt", {"--by", "function", "--merge", "--sort", "instructions"}},
    {"call-tree.txt", {"--by", "call-tree"}},
    {"call-tree.json", {"--by", "call-tree", "--format", "json", "--top", "1"}},
    {"pipeline.txt", {"--by", "pipeline", "--sort", "gpu_time"}},
    {"frame.txt", {"--by", "frame"}},
    {"label.txt", {"--by", "label"}},
    {"region.txt", {"--by", "region"}},
    {"region-sorted.txt", {"--by", "region", "--sort", "fragment_bytes_loaded", "--frames", "1"}},
    {"region.json", {"--by", "region", "--format", "json", "--top", "1"}},
    {"columns.txt", {"--by", "shader", "--columns", "stage,instructions,share"}},
    {"annotate-source.txt", {"--annotate", "lit"}},
    {"annotate-without-source.txt", {"--annotate", "deadbeef"}},
    {"annotate-glsl.txt", {"--annotate", "lit", "--source", "glsl"}},
    {"annotate-spirv.txt", {"--annotate", "deadbeef", "--source", "spirv"}},
    {"line-debug.txt", {"--by", "line", "--source", "debug"}},
    {"disassemble.txt", {"--disassemble", "lit"}},
    {"shader.json", {"--by", "shader", "--format", "json"}},
    {"line.json", {"--by", "line", "--format", "json", "--top", "1"}},
};

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

platform::CapturedRun report(const std::string& file, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {TALLY_PROGRAM, "report", file});
  auto run = platform::run_captured(arguments, cli::environment_strings(cli::current_environment()),
                                    std::chrono::seconds(60));
  if (!run) throw std::runtime_error(run.error().message);
  return std::move(*run);
}

void expect_text(const std::string& text, const std::string& name) {
  const std::string expected_file = std::string(TALLY_EXPECTED) + "/" + name;
  if (std::getenv("TALLY_UPDATE_GOLDEN") != nullptr) std::ofstream(expected_file) << text;
  std::stringstream expected;
  expected << std::ifstream(expected_file).rdbuf();
  EXPECT_EQ(text, expected.str());
}

class Golden : public testing::TestWithParam<Case> {};

TEST_P(Golden, report_of_the_sample_is_as_expected) {
  const store::TestDirectory directory;
  const std::string file = directory.file("sample.tally");
  write_sample_capture(file);
  const platform::CapturedRun run = report(file, GetParam().arguments);
  ASSERT_EQ(run.end.shell_status(), 0) << run.standard_error;
  EXPECT_EQ(run.standard_error, "");
  expect_text(replaced(run.standard_output, directory.path(), "DIRECTORY"), GetParam().name);
}

INSTANTIATE_TEST_SUITE_P(Reports, Golden, testing::ValuesIn(kCases), [](const auto& tested) {
  return replaced(replaced(tested.param.name, "-", "_"), ".", "_");
});

TEST(Clocks, cycles_and_costs_of_the_sample_are_as_expected) {
  const store::TestDirectory directory;
  const std::string file = directory.file("sample.tally");
  write_timed_capture(file);
  for (const char* format : {"txt", "json"}) {
    std::vector<std::string> arguments = {"--by", "clock"};
    if (std::string(format) == "json") arguments.insert(arguments.end(), {"--format", "json"});
    const platform::CapturedRun run = report(file, arguments);
    ASSERT_EQ(run.end.shell_status(), 0) << run.standard_error;
    expect_text(replaced(run.standard_output, directory.path(), "DIRECTORY"),
                std::string("clock.") + format);
  }
}

// Writes the sample's coverage next to it, and compares what was printed or written.
void expect_coverage(const std::vector<std::string>& options, const std::string& name) {
  const store::TestDirectory directory;
  const std::string file = directory.file("sample.tally"), written = directory.file("out");
  write_sample_capture(file);
  std::vector<std::string> arguments{TALLY_PROGRAM, "coverage", file, file};
  arguments.insert(arguments.end(), options.begin(), options.end());
  if (!options.empty()) arguments.insert(arguments.end(), {"-o", written});
  auto run = platform::run_captured(arguments, cli::environment_strings(cli::current_environment()),
                                    std::chrono::seconds(60));
  ASSERT_TRUE(run.ok());
  ASSERT_EQ(run->end.shell_status(), 0) << run->standard_error;
  std::stringstream output;
  if (options.empty()) {
    output << run->standard_output;
  } else {
    output << std::ifstream(written).rdbuf();
  }
  expect_text(replaced(replaced(output.str(), directory.path(), "DIRECTORY"),
                       "tally " TALLY_VERSION, "tally VERSION"),
              name);
}

TEST(Coverage, summary_of_the_sample_is_as_expected) { expect_coverage({}, "coverage.txt"); }

TEST(Coverage, files_of_the_sample_are_as_expected) {
  expect_coverage({"--format", "lcov"}, "coverage.info");
  expect_coverage({"--format", "cobertura"}, "coverage.xml");
}

// The loop of the compute shader, which has no source, runs once more.
void expect_diff(std::vector<std::string> options, const std::string& name) {
  const store::TestDirectory directory;
  const std::string before = directory.file("before.tally"), after = directory.file("after.tally");
  write_sample_capture(before);
  write_sample_capture(after, 11);
  options.insert(options.begin(), {TALLY_PROGRAM, "diff", before, after});
  auto run = platform::run_captured(options, cli::environment_strings(cli::current_environment()),
                                    std::chrono::seconds(60));
  ASSERT_TRUE(run.ok());
  ASSERT_EQ(run->end.shell_status(), 1) << run->standard_error;
  expect_text(replaced(run->standard_output, directory.path(), "DIRECTORY"), name);
}

TEST(Diff, of_samples_names_reconstructed_lines) {
  expect_diff({}, "diff.txt");
  expect_diff({"--format", "markdown"}, "diff.md");
  expect_diff({"--by", "line", "--format", "markdown"}, "diff-line.md");
  expect_diff({"--by", "line", "--format", "json"}, "diff-line.json");
  expect_diff({"--by", "line", "--source", "debug"}, "diff-line-debug.txt");
}

TEST(ReportJson, every_table_has_a_cell_for_each_of_its_columns) {
  const store::TestDirectory directory;
  const std::string file = directory.file("sample.tally");
  write_sample_capture(file);
  for (const char* by : {"draw", "pass", "shader", "line", "block", "pipeline", "frame", "label",
                         "region", "function", "call-tree"}) {
    const platform::CapturedRun run = report(file, {"--by", by, "--format", "json"});
    ASSERT_EQ(run.end.shell_status(), 0) << run.standard_error;
    const auto json = nlohmann::json::parse(run.standard_output);
    ASSERT_EQ(json["tables"].size(), 1u);
    const auto& table = json["tables"][0];
    EXPECT_EQ(table["by"], by);
    ASSERT_FALSE(table["rows"].empty());
    for (const auto& row : table["rows"]) {
      EXPECT_EQ(row.size(), table["columns"].size());
      for (const auto& column : table["columns"]) {
        const auto& cell = row.at(column["id"].get<std::string>());
        EXPECT_TRUE(cell.is_null() || cell.is_number() == (column["type"] == "number"))
            << by << ' ' << column["id"];
      }
    }
  }
}

TEST(ReportJson, instructions_are_the_same_sum_by_whatever_they_are_divided) {
  const store::TestDirectory directory;
  const std::string file = directory.file("sample.tally");
  write_sample_capture(file);
  // Two frames: the vertex shader's 3 instructions 9 times; the fragment shader's 3, 2 and 3 by
  // block; the loop's 1, 2, 3, 2 and 1.
  constexpr uint64_t kVertex = 9 * 3, kFragment = 2'001'000ull * 3 + 400 * 2 + 2'001'000ull * 3;
  constexpr uint64_t kLoop = 256 * 1 + 2816 * 2 + 2816 * 3 + 2560 * 2 + 256 * 1;
  for (const char* by :
       {"draw", "pass", "shader", "line", "block", "pipeline", "frame", "function", "call-tree"}) {
    const auto json =
        nlohmann::json::parse(report(file, {"--by", by, "--format", "json"}).standard_output);
    uint64_t sum = 0;
    for (const auto& row : json["tables"][0]["rows"]) {
      if (!row["instructions"].is_null())
        sum += row["instructions"].get<uint64_t>();  // null: uncounted
    }
    EXPECT_EQ(sum, 2 * (kVertex + kFragment + kLoop)) << by;
  }
}

}  // namespace
}  // namespace tally::test
