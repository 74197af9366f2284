// `tally diff`, `snapshot` and `check` with all kinds of files: how they end, what they say, and
// what they leave as it is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "analysis/testing/test_scene.h"
#include "program.h"
#include "store/testing/test_capture.h"

namespace tally::test {
namespace {

using testing::HasSubstr;

class CheckFiles : public testing::Test {
 protected:
  void SetUp() override {
    write_capture("scene.tally", 8);
    write_capture("more.tally", 9);
    ASSERT_EQ(tally({"snapshot", "scene.tally", "-o", "scene.snapshot"}).end.shell_status(), 0);
  }

  void write_capture(const std::string& name, uint64_t executions, int64_t frames = 1) {
    analysis::TestScene scene(folder_.file(name));
    const auto shader = scene.add_shader("aa", "a.comp");
    const auto pipeline = scene.add_pipeline("p1", "blur", shader);
    for (int64_t frame = 0; frame < frames; ++frame) {
      scene.begin_frame(frame);
      scene.dispatch(pipeline, {}, 100, {executions, executions, 0, executions});
    }
    scene.finish();
  }

  platform::CapturedRun tally(const std::vector<std::string>& arguments) {
    return run_tally(folder_.path(), arguments, {});
  }

  void write(const std::string& name, const std::string& text) {
    std::ofstream(folder_.file(name)) << text;
  }
  std::string read(const std::string& name) {
    std::ifstream file(folder_.file(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void replace(const std::string& name, const std::string& from, const std::string& to) {
    std::string text = read(name);
    ASSERT_NE(text.find(from), std::string::npos) << text;
    write(name, text.replace(text.find(from), from.size(), to));
  }

  // One line on standard error, nothing on standard output, and no file is touched.
  void expect_refused(const std::vector<std::string>& arguments, const std::string& because,
                      int status = 2) {
    const std::string before = read("scene.snapshot");
    const auto run = tally(arguments);
    EXPECT_EQ(run.end.shell_status(), status) << run.standard_output;
    EXPECT_EQ(run.standard_output, "");
    EXPECT_THAT(run.standard_error, HasSubstr(because));
    EXPECT_EQ(std::count(run.standard_error.begin(), run.standard_error.end(), '\n'), 1)
        << run.standard_error;
    EXPECT_EQ(read("scene.snapshot"), before);
  }

  store::TestDirectory folder_;
};

TEST_F(CheckFiles, snapshot_is_sorted_text_with_driver_and_frames) {
  const std::string text = read("scene.snapshot");
  EXPECT_THAT(text, testing::StartsWith("tally-snapshot 2\ndriver \"GPU; \"\ntally \""));
  EXPECT_THAT(text, HasSubstr("\nframes 1\npass \"(outside of passes)\" dispatches 1\n"));
  EXPECT_THAT(text, HasSubstr("\nshader \"a.comp compute\" invocations_compute 8\n"));
  EXPECT_EQ(tally({"snapshot", "scene.tally"}).standard_output, text);
}

TEST_F(CheckFiles, check_ends_with_0_or_3) {
  const auto same = tally({"check", "scene.snapshot", "scene.tally"});
  EXPECT_EQ(same.end.shell_status(), 0) << same.standard_error;
  EXPECT_THAT(same.standard_output, HasSubstr("as expected"));
  const auto more = tally({"check", "scene.snapshot", "more.tally"});
  EXPECT_EQ(more.end.shell_status(), 3) << more.standard_error;
  EXPECT_THAT(more.standard_output,
              HasSubstr("To accept: tally check --update scene.snapshot more.tally"));
}

TEST_F(CheckFiles, update_rewrites_the_snapshot_and_prints_a_patch) {
  const auto run = tally({"check", "--update", "scene.snapshot", "more.tally"});
  EXPECT_EQ(run.end.shell_status(), 0) << run.standard_error;
  EXPECT_THAT(run.standard_output, HasSubstr("--- a/scene.snapshot\n+++ b/scene.snapshot\n@@ "));
  EXPECT_THAT(run.standard_output,
              HasSubstr("\n+shader \"a.comp compute\" invocations_compute 9\n"));
  EXPECT_EQ(tally({"check", "scene.snapshot", "more.tally"}).end.shell_status(), 0);
  EXPECT_EQ(tally({"check", "--update", "scene.snapshot", "more.tally"}).standard_output, "");
}

TEST_F(CheckFiles, update_leaves_a_snapshot_that_it_cannot_replace) {
  const std::string before = read("scene.snapshot");
  const auto run = run_script(
      folder_.path(),
      "mkdir locked && cp scene.snapshot locked && cd locked && "
      "(trap '' XFSZ; ulimit -f 0; \"$TALLY\" check --update scene.snapshot ../more.tally)");
  EXPECT_EQ(run.end.shell_status(), 1) << run.standard_output;
  EXPECT_EQ(read("locked/scene.snapshot"), before);
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder_.file("locked")))
    files += entry.is_regular_file();
  EXPECT_EQ(files, 1u) << "no temporary file is left";
}

TEST_F(CheckFiles, limits_beside_the_snapshot_hold) {
  write("scene.limits", "tally-limits 1\npass * * +20%\nshader * * +20%\n");
  EXPECT_EQ(tally({"check", "scene.snapshot", "more.tally"}).end.shell_status(), 0);
  write("scene.limits",
        "tally-limits 1\npass * * +20%\nshader * * +20%\nshader * instructions <=10\n");
  EXPECT_EQ(tally({"check", "scene.snapshot", "more.tally"}).end.shell_status(), 3);
  EXPECT_EQ(tally({"check", "--update", "scene.snapshot", "more.tally"}).end.shell_status(), 3)
      << "an update lifts no cap";
}

TEST_F(CheckFiles, wrong_files_are_refused_in_one_line) {
  expect_refused({"check", "scene.snapshot", "no.tally"},
                 "there is no capture among the files: no.tally");
  expect_refused({"check", "scene.tally", "more.tally"}, "there is no snapshot among the files");
  write("scene.limits", "tally-limits 1\npass nothing draws exact\n");
  expect_refused({"check", "scene.snapshot", "scene.tally"},
                 "tally: scene.limits:2: no count matches this limit");
  expect_refused({"check", "--update", "scene.snapshot", "more.tally"}, "scene.limits:2: ");
  write("scene.limits", "tally-limits 9\n");
  expect_refused({"check", "scene.snapshot", "scene.tally"},
                 "scene.limits:1: tally-limits of version 9");
  std::filesystem::remove(folder_.file("scene.limits"));
  replace("scene.snapshot", "shader", "<<<<<<< mine\nshader");
  expect_refused({"check", "--update", "scene.snapshot", "scene.tally"},
                 ": a marker of an unresolved merge");
  write("scene.snapshot", "tally-snapshot 7\n");
  expect_refused({"check", "scene.snapshot", "scene.tally"},
                 "scene.snapshot:1: tally-snapshot of version 7");
  write("half.tally", read("scene.tally").substr(0, 3000));
  write("scene.snapshot", "tally-snapshot 1\ndriver \"GPU; \"\nframes 1\n");
  expect_refused({"check", "scene.snapshot", "half.tally"}, "half.tally");
  expect_refused({"diff", "scene.tally", "half.tally"}, "half.tally");
  expect_refused({"diff", "scene.tally", "scene.snapshot"}, "scene.snapshot");
  expect_refused({"diff", "scene.tally", "."}, "one is a folder, the other is not");
  expect_refused({"diff", "--sort", "nonsense", "scene.tally", "scene.tally"},
                 "there is no metric 'nonsense'; the metrics are executions, ");
}

TEST_F(CheckFiles, the_driver_is_named_where_only_the_driver_differs) {
  replace("scene.snapshot", "GPU; ", "GPU; other 2");
  EXPECT_EQ(tally({"check", "scene.snapshot", "scene.tally"}).end.shell_status(), 0)
      << "the counts are the same";
  replace("scene.snapshot", "shader \"a.comp compute\" invocations_compute 8",
          "shader \"a.comp compute\" invocations_compute 9");
  const auto run = tally({"check", "scene.snapshot", "scene.tally"});
  EXPECT_EQ(run.end.shell_status(), 3);
  EXPECT_THAT(
      run.standard_output,
      HasSubstr("The driver changed these counts: the shaders, draws and dispatches are the "
                "same.\nChanged metrics: invocations_compute\nSnapshot: GPU; other 2\nNow: "
                "GPU; \n"));
  EXPECT_EQ(tally({"check", "--update", "scene.snapshot", "scene.tally"}).end.shell_status(), 0);
  EXPECT_THAT(
      read("scene.snapshot"),
      testing::EndsWith("\non \"GPU; \"\nshader \"a.comp compute\" invocations_compute 8\n"));
  EXPECT_EQ(tally({"check", "scene.snapshot", "scene.tally"}).end.shell_status(), 0)
      << "the snapshot knows both drivers";
}

TEST_F(CheckFiles, another_driver_is_refused_unless_it_is_allowed) {
  replace("scene.snapshot", "GPU; ", "GPU; other 2");
  replace("scene.snapshot", "code \"a.comp compute\" ", "code \"a.comp compute\" 0");
  expect_refused(
      {"check", "scene.snapshot", "scene.tally"},
      "scene.snapshot: counted on driver \"GPU; other 2\", but scene.tally on \"GPU; \"");
  EXPECT_EQ(tally({"check", "--any-driver", "scene.snapshot", "scene.tally"}).end.shell_status(),
            0);
}

TEST_F(CheckFiles, another_number_of_frames_is_refused) {
  write_capture("two.tally", 4, 2);
  expect_refused({"check", "scene.snapshot", "two.tally"},
                 "scene.snapshot: 1 frame(s), but two.tally has 2");
  EXPECT_EQ(tally({"check", "--update", "scene.snapshot", "two.tally"}).end.shell_status(), 0);
}

TEST_F(CheckFiles, snapshot_replaces_snapshots_only) {
  write("notes.txt", "mine");
  const auto run = tally({"snapshot", "scene.tally", "-o", "notes.txt"});
  EXPECT_EQ(run.end.shell_status(), 2);
  EXPECT_THAT(run.standard_error, HasSubstr("notes.txt: exists and is not a snapshot"));
  EXPECT_EQ(read("notes.txt"), "mine");
  EXPECT_EQ(tally({"snapshot", "more.tally", "-o", "scene.snapshot"}).end.shell_status(), 0);
}

TEST_F(CheckFiles, several_scenes_are_matched_by_name) {
  std::filesystem::copy(folder_.file("scene.snapshot"), folder_.file("more.snapshot"));
  const auto run = tally({"check", "scene.snapshot", "more.snapshot", "more.tally", "scene.tally",
                          "--junit", "r.xml"});
  EXPECT_EQ(run.end.shell_status(), 3) << run.standard_error;
  const std::string junit = read("r.xml");
  EXPECT_THAT(junit, HasSubstr("<testsuite name=\"scene\" tests=\"2\" failures=\"0\">"));
  EXPECT_THAT(junit, HasSubstr("<testsuite name=\"more\" tests=\"3\" failures=\"3\">"));
  expect_refused({"check", "scene.snapshot", "more.tally", "scene.tally"},
                 "more.tally: there is no snapshot more.snapshot for it");
}

TEST_F(CheckFiles, folders_are_compared_capture_by_capture) {
  const auto run = run_script(folder_.path(),
                              "mkdir a b && cp scene.tally more.tally a && cp scene.tally b && "
                              "cp scene.tally b/new.tally && \"$TALLY\" diff --format json a b");
  EXPECT_EQ(run.end.shell_status(), 1) << run.standard_error;
  const auto diffs = nlohmann::json::parse(run.standard_output)["diffs"];
  ASSERT_EQ(diffs.size(), 3u);
  EXPECT_TRUE(diffs[0]["after"].is_null()) << "more.tally is gone";
  EXPECT_TRUE(diffs[1]["before"].is_null()) << "new.tally is new";
  EXPECT_TRUE(diffs[2]["tables"][0]["rows"].empty());
}

TEST_F(CheckFiles, markdown_is_bounded_and_harmless) {
  {
    analysis::TestScene scene(folder_.file("many.tally"));
    const auto shader = scene.add_shader("aa", "<script>|`x`.comp");
    scene.begin_frame(0);
    for (int i = 0; i < 2000; ++i) {
      const std::string name = "p" + std::to_string(i);
      scene.dispatch(scene.add_pipeline(name, name + "|<b>", shader), {}, {}, {1, 1, 0, 1});
    }
    scene.finish();
  }
  const auto run =
      tally({"diff", "--format", "markdown", "--top", "0", "scene.tally", "many.tally"});
  EXPECT_EQ(run.end.shell_status(), 1) << run.standard_error;
  EXPECT_LE(run.standard_output.size(), 65'536u);
  EXPECT_THAT(run.standard_output, HasSubstr("more rows"));
  EXPECT_THAT(run.standard_output, testing::Not(HasSubstr("<b>")));
  EXPECT_THAT(run.standard_output, testing::Not(HasSubstr("<script>")));
}

}  // namespace
}  // namespace tally::test
