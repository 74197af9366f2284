// How often the lines of one program run does not depend on what the compiler inlined. The
// interpreter counts the blocks, the reports make lines, functions and branches of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <regex>

#include "analysis/coverage/coverage.h"
#include "analysis/diff/difference.h"
#include "analysis/diff/make_profile.h"
#include "analysis/fleet/fleet_rows.h"
#include "analysis/model/model.h"
#include "analysis/tables/analyzer.h"
#include "analysis/testing/test_scene.h"
#include "oracle/interpreter.h"
#include "report/table/reports.h"
#include "spirv/analysis/block_map.h"
#include "spirv/testing/testing.h"

namespace tally::test {
namespace {

constexpr uint32_t kInvocations = 8;
constexpr auto kCompute = spv::ExecutionModel::GLCompute;

using Lines = std::map<uint32_t, uint64_t>;

class LinesOfCalls : public testing::Test {
 protected:
  // A capture of the module's invocations, with branches.
  analysis::Model capture(const std::string& module_name) {
    const auto& words = spirv::test::corpus_module(module_name);
    const spirv::Module module = spirv::test::parsed(words);
    Interpreter interpreter(module, kCompute, {});
    interpreter.buffer().assign(kInvocations, 7);
    for (uint32_t i = 0; i < kInvocations; ++i) interpreter.run({.global_id = {i, 0, 0}});
    const std::string path = folder_.file(module_name);
    analysis::TestScene scene(path);
    std::vector<store::RowId> targets;
    for (const auto number : {catalogue::Number::BranchTarget0, catalogue::Number::BranchTarget1})
      targets.push_back(scene.add_metric(number));
    const auto pipeline = scene.add_pipeline("p", "", scene.add_shader("1111", "", words));
    scene.begin_frame(0);
    scene.dispatch(pipeline, {}, {}, interpreter.executions());
    const auto map = spirv::BlockMap::build(module, kCompute, "main");
    const auto edges = interpreter.edges();
    for (const spirv::Branch& branch : spirv::branches_of(module, *map)) {
      for (uint32_t t = 0; t < 2; ++t) {
        const auto edge = edges.find({branch.block, branch.targets[t].block});
        if (edge != edges.end()) scene.set_value(branch.block, targets[t], edge->second);
      }
    }
    scene.finish();
    return store::require(
        analysis::load_model(store::require(store::Reader::open(path)), analysis::Selection()));
  }

  analysis::Coverage coverage_of_all(const std::string& module_name) {
    analysis::CoverageBuilder builder;
    EXPECT_TRUE(builder.add(capture(module_name), {}).ok());
    analysis::Coverage coverage = std::move(builder).finish();
    EXPECT_EQ(coverage.files.size(), 1u);
    return coverage;
  }
  analysis::FileCoverage coverage(const std::string& module_name) {
    return std::move(coverage_of_all(module_name).files.at(0));
  }
  analysis::Profile profile(const std::string& module_name) {
    return store::require(analysis::make_profile(capture(module_name),
                                                 {.chosen_commands = {}, .reconstructed = {}}, {}));
  }

  // The executions in rows of a location.
  static Lines executions_in(const analysis::Table& table) {
    const size_t location = *table.column_index("location");
    const size_t executions = *table.column_index("executions");
    Lines lines;
    for (size_t row = 0; row < table.rows.size(); ++row) {
      const analysis::Cell cell = table.rows.cell(row, location);
      const analysis::Cell executed = table.rows.cell(row, executions);
      const auto place = std::get_if<std::string>(&cell);
      const auto count = std::get_if<uint64_t>(&executed);
      if (place == nullptr || count == nullptr || !place->starts_with("calls.comp:")) continue;
      lines[static_cast<uint32_t>(std::stoul(place->substr(place->find(':') + 1)))] += *count;
    }
    return lines;
  }

  store::TestDirectory folder_;
};

// All lines of the other that some are of.
Lines only(const Lines& all, const Lines& some) {
  Lines lines;
  for (const auto& [line, count] : some) lines[line] = all.at(line);
  return lines;
}

constexpr const char* kInlined[] = {"inlined.calls.comp.debug.spv",
                                    "optimised.calls.comp.debug.spv"};

TEST_F(LinesOfCalls, run_as_often_as_the_program_says) {
  const Lines lines = coverage("calls.comp.debug.spv").lines;
  EXPECT_EQ(lines.at(23), 8u);
  EXPECT_EQ(lines.at(24), 36u);  // the sum of i + 1
  EXPECT_EQ(lines.at(25), 28u);  // the sum of i
  EXPECT_EQ(lines.at(28), 32u);
  EXPECT_EQ(lines.at(29), lines.at(18));
  EXPECT_EQ(lines.at(11), lines.at(25) + 2 * lines.at(29));
  EXPECT_GT(lines.at(29), 0u);
}

TEST_F(LinesOfCalls, run_as_often_where_their_calls_are_inlined) {
  const auto plain = coverage("calls.comp.debug.spv");
  for (const char* name : kInlined) {
    const auto inlined = coverage(name);
    EXPECT_EQ(inlined.lines, only(plain.lines, inlined.lines)) << name;
    EXPECT_GE(inlined.lines.size() + 3, plain.lines.size()) << name;
    ASSERT_EQ(inlined.functions.size(), 3u) << name;
    for (const auto& [function, coverage] : inlined.functions)
      EXPECT_EQ(coverage.count, plain.functions.at(function).count) << name << " " << function;
    ASSERT_EQ(inlined.branches.size(), plain.branches.size()) << name;
    for (const auto& [key, branch] : inlined.branches)
      EXPECT_EQ(branch.taken, plain.branches.at(key).taken) << name << " " << std::get<0>(key);
  }
}

TEST_F(LinesOfCalls, are_the_same_in_every_report) {
  for (const char* name :
       {"calls.comp.debug.spv", kInlined[0], kInlined[1], "optimised.unrolled.comp.debug.spv"}) {
    const Lines lines = coverage(name).lines;
    analysis::Analyzer analyzer(capture(name), {});
    const auto table = analyzer.table(analysis::By::Line, {});
    ASSERT_TRUE(table.ok());
    EXPECT_EQ(executions_in(*table), lines) << name;
    const auto listings = analyzer.listings(analysis::ListingKind::Source, {});
    ASSERT_TRUE(listings.ok());
    EXPECT_EQ(executions_in(listings->at(0)), lines) << name;
  }
}

// The counts of lines in a text, which has them at `pattern`; where a line stands twice, alike.
Lines lines_in(const std::string& text, const std::string& pattern) {
  Lines lines;
  const std::regex expression(pattern);
  for (std::sregex_iterator at(text.begin(), text.end(), expression), end; at != end; ++at) {
    const uint64_t count = std::stoull((*at)[2]);
    const auto [line, added] = lines.emplace(std::stoul((*at)[1]), count);
    EXPECT_EQ(line->second, count) << text;
  }
  return lines;
}

TEST_F(LinesOfCalls, are_the_same_in_what_other_programs_read) {
  for (const char* name :
       {"calls.comp.debug.spv", kInlined[0], kInlined[1], "optimised.unrolled.comp.debug.spv"}) {
    const analysis::Coverage coverage = coverage_of_all(name);
    const Lines& lines = coverage.files.at(0).lines;
    const auto paths = report::recorded_paths(coverage);
    EXPECT_EQ(lines_in(report::lcov_tracefile(coverage, paths), R"(\nDA:(\d+),(\d+))"), lines)
        << name;
    EXPECT_EQ(lines_in(report::cobertura_xml(coverage, paths, "1"),
                       R"re(<line number="(\d+)" hits="(\d+)")re"),
              lines)
        << name;
    Lines rows;  // of a data set
    for (const analysis::FleetLine& line :
         analysis::make_fleet_rows(profile(name), coverage, {}).lines) {
      EXPECT_TRUE(rows.emplace(line.number, line.executions).second) << name;
    }
    EXPECT_EQ(rows, lines) << name;
  }
}

TEST_F(LinesOfCalls, do_not_differ_where_their_calls_are_inlined) {
  const analysis::Profile plain = profile("calls.comp.debug.spv");
  for (const char* name : kInlined) {
    const analysis::CaptureDiff diff = analysis::compare(plain, profile(name));
    const auto executions = *analysis::find_metric(diff.metrics, "executions");
    const Lines kept = coverage(name).lines;
    for (const analysis::Difference& difference : diff.of(analysis::DiffBy::Line)) {
      if (!kept.contains(difference.line)) continue;
      const auto [before, after] = analysis::values_of(difference, executions);
      EXPECT_EQ(before, after) << name << " " << difference.line;
    }
  }
}

// A number of each row, by a text of the row.
std::map<std::string, uint64_t> column(const analysis::Table& table, const char* key,
                                       const char* id) {
  std::map<std::string, uint64_t> values;
  for (size_t row = 0; row < table.rows.size(); ++row) {
    const auto name = std::get<std::string>(table.rows.cell(row, *table.column_index(key)));
    EXPECT_FALSE(values.contains(name)) << name;
    values[name] = std::get<uint64_t>(table.rows.cell(row, *table.column_index(id)));
  }
  return values;
}

uint64_t sum_of(const std::map<std::string, uint64_t>& values) {
  uint64_t sum = 0;
  for (const auto& [name, value] : values) sum += value;
  return sum;
}

TEST_F(LinesOfCalls, are_calls_of_the_same_functions_where_they_are_inlined) {
  const Lines lines = coverage("calls.comp.debug.spv").lines;
  const std::map<std::string, uint64_t> calls = {
      {"main", 8}, {"odd_step", lines.at(11)}, {"two_steps", lines.at(18)}};
  const std::map<std::string, uint64_t> paths = {{"main", 8},
                                                 {"main > odd_step", lines.at(25)},
                                                 {"main > two_steps", lines.at(18)},
                                                 {"main > two_steps > odd_step", 2 * lines.at(18)}};
  for (const char* name : {"calls.comp.debug.spv", kInlined[0], kInlined[1]}) {
    analysis::Analyzer analyzer(capture(name), {});
    const auto functions = analyzer.table(analysis::By::Function, {});
    const auto tree = analyzer.table(analysis::By::CallTree, {});
    ASSERT_TRUE(functions.ok() && tree.ok());
    EXPECT_EQ(column(*functions, "function", "calls"), calls) << name;
    EXPECT_EQ(column(*tree, "path", "calls"), paths) << name;
  }
}

TEST_F(LinesOfCalls, sum_to_the_shader_and_its_entry_point_has_it_all) {
  for (const char* name : {"calls.comp.debug.spv", kInlined[0], kInlined[1]}) {
    analysis::Analyzer analyzer(capture(name), {});
    const auto shaders = analyzer.table(analysis::By::Shader, {});
    const auto functions = analyzer.table(analysis::By::Function, {});
    const auto tree = analyzer.table(analysis::By::CallTree, {});
    ASSERT_TRUE(shaders.ok() && functions.ok() && tree.ok());
    for (const std::string metric : {"cost", "instructions"}) {
      const std::string inclusive = metric + "_with_callees";
      const uint64_t total = sum_of(column(*shaders, "stage", metric.c_str()));
      EXPECT_EQ(sum_of(column(*functions, "function", metric.c_str())), total) << name;
      EXPECT_EQ(sum_of(column(*tree, "path", metric.c_str())), total) << name;
      const auto with_callees = column(*functions, "function", inclusive.c_str());
      EXPECT_EQ(with_callees.at("main"), total) << name;
      auto paths = column(*tree, "path", inclusive.c_str());
      EXPECT_EQ(paths.at("main"), total) << name;
      EXPECT_EQ(paths.at("main > odd_step") + paths.at("main > two_steps > odd_step"),
                with_callees.at("odd_step"))
          << name;
      EXPECT_EQ(paths.at("main > two_steps"), with_callees.at("two_steps")) << name;
    }
  }
}

// The copies that a loop was unrolled to are one instance, and a compiler without DebugInlinedAt
// leaves one for all calls.
TEST_F(LinesOfCalls, run_no_less_than_the_report_says_where_copies_cannot_be_told_apart) {
  const Lines plain = coverage("calls.comp.debug.spv").lines;
  for (const char* name : {"optimised.unrolled.comp.debug.spv", "optimised.calls.comp.lines.spv"}) {
    for (const auto& [line, count] : coverage(name).lines) {
      EXPECT_LE(count, plain.at(line)) << name << " " << line;
      EXPECT_GT(count, 0u) << name << " " << line;
      const bool is_copied = line < 22 || (line >= 27 && line <= 31);
      if (!is_copied) {
        EXPECT_EQ(count, plain.at(line)) << name << " " << line;
      }
    }
  }
}

}  // namespace
}  // namespace tally::test
