// `tally coverage`, and what genhtml, lcov and xmllint make of its files; --source and --sources of
// `tally report`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

#include "analysis/model/model.h"
#include "analysis/source/shader_source.h"
#include "analysis/testing/test_scene.h"
#include "cli/files.h"
#include "program.h"
#include "store/read/reader.h"
#include "store/testing/test_capture.h"

namespace tally::test {
namespace {

using testing::HasSubstr;
using testing::Not;
namespace fs = std::filesystem;

class CoverageCommand : public testing::Test {
 protected:
  // A capture of the branching shader; its file is named `source` instead of shaders/branch.comp.
  // The name must be as long.
  void capture(const std::string& name, const std::vector<uint64_t>& executions,
               const std::string& source = {}, bool with_text = true) {
    analysis::TestScene scene(folder_.file(name));
    const auto pipeline = scene.add_pipeline("p", "", scene.add_shader("1111", ""));
    scene.begin_frame(0);
    scene.dispatch(pipeline, {}, {}, executions);
    scene.finish();
    if (!source.empty()) rename_source(name, source);
    if (!with_text) detach_text(name);
  }

  void change_spirv(const std::string& name, const std::function<void(std::string&)>& change) {
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(folder_.file(name).c_str(), &database), SQLITE_OK);
    sqlite3_stmt* read = nullptr;
    sqlite3_prepare_v2(database, "SELECT spirv FROM module", -1, &read, nullptr);
    ASSERT_EQ(sqlite3_step(read), SQLITE_ROW);
    std::string words(static_cast<const char*>(sqlite3_column_blob(read, 0)),
                      static_cast<size_t>(sqlite3_column_bytes(read, 0)));
    sqlite3_finalize(read);
    change(words);
    sqlite3_stmt* write = nullptr;
    sqlite3_prepare_v2(database, "UPDATE module SET spirv = ?", -1, &write, nullptr);
    sqlite3_bind_blob(write, 1, words.data(), static_cast<int>(words.size()), SQLITE_TRANSIENT);
    EXPECT_EQ(sqlite3_step(write), SQLITE_DONE);
    sqlite3_finalize(write);
    sqlite3_close(database);
  }

  void rename_source(const std::string& name, const std::string& source) {
    constexpr std::string_view kOriginal = "shaders/branch.comp";
    ASSERT_EQ(source.size(), kOriginal.size());
    change_spirv(name, [&](std::string& words) {
      words.replace(words.find(kOriginal), kOriginal.size(), source);
    });
  }

  // Makes the text of the OpSource an OpSourceExtension of its own.
  void detach_text(const std::string& name) {
    change_spirv(name, [](std::string& bytes) {
      const size_t text = bytes.find("void main() {");
      const auto set = [&](size_t at, uint32_t word) {
        std::memcpy(&bytes[at], &word, sizeof word);
      };
      uint32_t source = 0;
      std::memcpy(&source, &bytes[text - 16], sizeof source);
      ASSERT_EQ(source & 0xffff, 3u);
      set(text - 16, 4u << 16 | 3u);
      set(text, ((source >> 16) - 4) << 16 | 4u);
    });
  }

  platform::CapturedRun tally(const std::vector<std::string>& arguments) {
    return run_tally(folder_.path(), arguments);
  }

  void expect_refused(const std::vector<std::string>& arguments, const std::string& because,
                      int status = 2) {
    test::expect_refused(tally(arguments), because, status);
  }

  std::string text_of(const std::string& name) {
    std::stringstream text;
    text << std::ifstream(folder_.file(name)).rdbuf();
    return text.str();
  }

  void set_text(const std::string& name, const std::string& text) {
    fs::create_directories(fs::path(folder_.file(name)).parent_path());
    std::ofstream(folder_.file(name)) << text;
  }

  store::TestDirectory folder_;
};

// The text of the branching shader, one line of which becomes a #line. Its lines are not moved:
// what stands there now is line 900 and on, so the lines with code have no text.
TEST_F(CoverageCommand, genhtml_accepts_lines_that_line_directives_move) {
  capture("a.tally", {10, 3, 7, 10});
  change_spirv("a.tally", [](std::string& words) {
    constexpr std::string_view kFirst = "void main() {";
    const size_t at = words.find(kFirst);
    ASSERT_NE(at, std::string::npos);
    words.replace(at, kFirst.size(), "#line 900    ");
  });
  const auto run = run_script(folder_.path(),
                              "\"$TALLY\" coverage a.tally -o shaders.info --sources src &&"
                              "genhtml --branch-coverage --output-directory html shaders.info && "
                              "cat src/shaders/branch.comp");
  ASSERT_EQ(run.end.shell_status(), 0) << run.standard_output << run.standard_error;
  EXPECT_THAT(run.standard_error,
              testing::MatchesRegex("tally: coverage: (shaders.info|a.xml) [^\n]*\n"));
  EXPECT_THAT(run.standard_output,
              HasSubstr("#line 900    \n(not available)\n(not available)\n(not available)\n\n"
                        "(not available)\n"));
}

TEST_F(CoverageCommand, genhtml_makes_its_pages_without_a_warning) {
  capture("a.tally", {10, 3, 0, 10});
  capture("b.tally", {5, 5, 0, 5});
  const auto run = run_script(folder_.path(),
                              "\"$TALLY\" coverage a.tally b.tally -o shaders.info --sources src &&"
                              "genhtml --branch-coverage --output-directory html shaders.info");
  const std::string all = run.standard_output + run.standard_error;
  ASSERT_EQ(run.end.shell_status(), 0) << all;
  EXPECT_THAT(run.standard_error,
              testing::MatchesRegex("tally: coverage: (shaders.info|a.xml) [^\n]*\n"));
  EXPECT_THAT(all, Not(HasSubstr("arning")));
  EXPECT_THAT(all, HasSubstr("lines......: 75.0% (3 of 4 lines)"));
  EXPECT_THAT(all, HasSubstr("functions..: 100.0% (1 of 1 function)"));
  EXPECT_THAT(all, HasSubstr("branches...: 50.0% (1 of 2 branches)"));
  EXPECT_THAT(text_of("html/shaders/branch.comp.gcov.html"), HasSubstr("if (fast)"));
}

TEST_F(CoverageCommand, lcov_reads_the_exact_sums) {
  capture("a.tally", {10, 3, 7, 10});
  const auto run = run_script(folder_.path(),
                              "\"$TALLY\" coverage a.tally -o a.info && lcov -q -a a.info -a "
                              "a.info -o sum.info --rc lcov_branch_coverage=1");
  ASSERT_EQ(run.end.shell_status(), 0) << run.standard_error;
  EXPECT_THAT(run.standard_error, testing::MatchesRegex("tally: coverage: a.info [^\n]*\n"));
  const std::string sum = text_of("sum.info");
  for (const char* record : {"SF:", "FNDA:20,", "BRDA:2,0,0,6", "BRDA:2,0,1,14", "DA:2,20",
                             "DA:3,6", "DA:4,14", "DA:6,20", "LF:4", "LH:4"}) {
    EXPECT_THAT(sum, HasSubstr(record));
  }
}

TEST_F(CoverageCommand, cobertura_is_valid_by_its_dtd) {
  capture("a.tally", {10, 3, 0, 10}, "sha\"ers/<&>nch.comp");
  const auto run = run_script(folder_.path(),
                              "\"$TALLY\" coverage a.tally -o a.xml --format cobertura && sed "
                              "/DOCTYPE/d a.xml | xmllint --noout "
                              "--dtdvalid '" TALLY_COBERTURA_DTD "' -");
  EXPECT_EQ(run.end.shell_status(), 0) << run.standard_error;
  EXPECT_THAT(run.standard_error,
              testing::MatchesRegex("tally: coverage: (shaders.info|a.xml) [^\n]*\n"));
}

TEST_F(CoverageCommand, texts_of_strangers_stay_in_the_folder) {
  capture("a.tally", {10, 3, 7, 10}, "../../../../esc.cmp");
  ASSERT_EQ(tally({"coverage", "a.tally", "-o", "a.info", "--sources", "src"}).end.shell_status(),
            0);
  EXPECT_THAT(text_of("src/esc.cmp"), HasSubstr("void main()"));
  EXPECT_THAT(text_of("a.info"),
              HasSubstr("SF:" + fs::canonical(folder_.file("src")).string() + "/esc.cmp\n"));
  capture("b.tally", {1, 1, 0, 1}, "a\nDA:1,9\rx/../b.fra");
  ASSERT_EQ(tally({"coverage", "b.tally", "-o", "b.info"}).end.shell_status(), 0);
  EXPECT_THAT(text_of("b.info"), Not(HasSubstr("\nDA:1,9")));
}

TEST_F(CoverageCommand, no_file_of_others_is_overwritten) {
  capture("a.tally", {10, 3, 7, 10});
  set_text("notes.txt", "mine");
  expect_refused({"coverage", "a.tally", "-o", "notes.txt"}, "exists and is not a file of lcov");
  EXPECT_EQ(text_of("notes.txt"), "mine");
  expect_refused({"coverage", "a.tally", "-o", "a.tally"}, "exists and is not a file of lcov");
  set_text("src/shaders/branch.comp", "mine");
  expect_refused({"coverage", "a.tally", "-o", "a.info", "--sources", "src"},
                 "branch.comp: exists with another text");
  EXPECT_EQ(text_of("src/shaders/branch.comp"), "mine");
  EXPECT_FALSE(fs::exists(folder_.file("a.info")));
  fs::create_directories(folder_.file("elsewhere"));
  fs::create_directories(folder_.file("linked"));
  fs::create_directory_symlink(folder_.file("elsewhere"), folder_.file("linked/shaders"));
  expect_refused({"coverage", "a.tally", "-o", "a.info", "--sources", "linked"}, "linked/shaders");
  EXPECT_TRUE(fs::is_empty(folder_.file("elsewhere")));
}

TEST_F(CoverageCommand, a_second_run_replaces_its_own_files) {
  capture("a.tally", {10, 3, 7, 10});
  for (int i = 0; i < 2; ++i) {
    const auto run = tally({"coverage", "a.tally", "-o", "a.info", "--sources", "src"});
    EXPECT_EQ(run.end.shell_status(), 0) << run.standard_error;
  }
}

TEST_F(CoverageCommand, foreign_and_other_captures_are_refused_before_anything_is_written) {
  capture("a.tally", {10, 3, 7, 10});
  set_text("text.tally", std::string(200, 'x'));
  expect_refused({"coverage", "a.tally", "text.tally", "-o", "a.info"}, "not a Tally capture");
  fs::copy_file(folder_.file("a.tally"), folder_.file("new.tally"));
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(folder_.file("new.tally").c_str(), &database), SQLITE_OK);
  sqlite3_exec(database, "PRAGMA user_version = 99", nullptr, nullptr, nullptr);
  sqlite3_close(database);
  expect_refused({"coverage", "a.tally", "new.tally", "-o", "a.info"}, "reads formats up to");
  expect_refused({"coverage", "missing.tally"}, "No such file");
  expect_refused({"coverage", "a.tally", "--format", "gcov", "-o", "x"}, "gcov");
  expect_refused({"coverage", "a.tally", "--sources", "src"}, "--output");
  EXPECT_FALSE(fs::exists(folder_.file("a.info")));
}

TEST_F(CoverageCommand, captures_without_source_lines_say_so) {
  store::write_test_capture(folder_.file("a.tally"));
  expect_refused({"coverage", "a.tally"}, "no shader of the captures has debug information", 1);
}

TEST_F(CoverageCommand, reports_take_the_text_of_named_files_from_a_folder) {
  capture("a.tally", {10, 3, 7, 10}, {}, /*with_text=*/false);
  set_text("code/shaders/branch.comp", "one\ntwo\nthree\nfour\n");
  const auto without = tally({"report", "a.tally", "--by", "line"});
  EXPECT_THAT(without.standard_output, HasSubstr("neither in the capture nor found"));
  EXPECT_THAT(without.standard_output, HasSubstr("glsl:"));
  const auto with = tally({"report", "a.tally", "--by", "line", "--sources", "code"});
  EXPECT_THAT(with.standard_output, HasSubstr("branch.comp:3"));
  EXPECT_THAT(with.standard_output, HasSubstr("three"));
  const auto json =
      tally({"report", "a.tally", "--by", "line", "--sources", "code", "--format", "json"});
  EXPECT_THAT(json.standard_output, HasSubstr("\"origin\": \"file\""));
  set_text("code/more/shaders/branch.comp", "other\n");
  const auto several = tally({"report", "a.tally", "--by", "line", "--sources", "code"});
  EXPECT_THAT(several.standard_output, HasSubstr("several files for"));
  expect_refused({"report", "a.tally", "--sources", "nowhere"}, "nowhere: No such file");
}

TEST_F(CoverageCommand, stored_texts_serve_reports_and_coverage) {
  capture("a.tally", {10, 3, 7, 10}, {}, /*with_text=*/false);
  ASSERT_TRUE(store::add_source_texts(folder_.file("a.tally"),
                                      {{"shaders/branch.comp", "one\ntwo\nthree\nfour\n"}})
                  .ok());
  EXPECT_THAT(tally({"report", "a.tally", "--by", "line"}).standard_output, HasSubstr("three"));
  const auto run = tally({"coverage", "a.tally", "-o", "a.info", "--sources", "src"});
  EXPECT_EQ(run.end.shell_status(), 0) << run.standard_error;
  EXPECT_EQ(text_of("src/shaders/branch.comp"), "one\ntwo\nthree\nfour\n\n(not available)\n")
      << "line 6 has a count, but no text";
}

TEST_F(CoverageCommand, texts_of_named_files_are_found_for_a_capture) {
  capture("a.tally", {10, 3, 7, 10}, {}, /*with_text=*/false);
  capture("b.tally", {10, 3, 7, 10});
  set_text("code/shaders/branch.comp", "text");
  const auto folder = analysis::SourceFolder::open(folder_.file("code"));
  ASSERT_TRUE(folder.ok());
  const auto found = [&](const std::string& name) {
    auto reader = store::Reader::open(folder_.file(name));
    const auto model = analysis::load_model(std::move(*reader), {});
    return analysis::find_texts(*model, *folder);
  };
  ASSERT_EQ(found("a.tally").texts.size(), 1u);
  EXPECT_EQ(found("a.tally").texts[0].name, "shaders/branch.comp");
  EXPECT_EQ(found("a.tally").texts[0].text, "text");
  EXPECT_TRUE(found("b.tally").texts.empty());
  EXPECT_TRUE(found("b.tally").missing.empty());
}

TEST_F(CoverageCommand, a_run_with_a_folder_that_does_not_exist_starts_nothing) {
  expect_refused({"run", "--sources", "nowhere", "--", "touch", "started"},
                 "nowhere: No such file");
  EXPECT_FALSE(fs::exists(folder_.file("started")));
  EXPECT_FALSE(fs::exists(folder_.file("touch.tally")));
}

TEST(SafePath, nothing_leads_out_of_the_folder) {
  EXPECT_EQ(cli::safe_relative_path("/etc/passwd"), "etc/passwd");
  EXPECT_EQ(cli::safe_relative_path("..\\..\\a.hlsl"), "a.hlsl");
  EXPECT_EQ(cli::safe_relative_path("C:\\x\\a.hlsl"), "C_/x/a.hlsl");
  EXPECT_EQ(cli::safe_relative_path("a\nb"), "a_b");
  EXPECT_EQ(cli::safe_relative_path(".."), "unnamed");
  EXPECT_EQ(cli::safe_relative_path(""), "unnamed");
}

}  // namespace
}  // namespace tally::test
