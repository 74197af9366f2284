// A renderer becomes slower in five ways. `tally diff` finds each, at its line where a line is to
// blame, and nothing else; `tally check` fails.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "program.h"
#include "store/testing/test_capture.h"

namespace tally::test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;
using testing::UnorderedElementsAre;

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class Slower : public testing::Test {
 protected:
  void SetUp() override { capture("before"); }

  // Captures the renderer; `edit` replaces a text of one shader.
  struct Edit {
    std::string shader, from, to;
  };
  void capture(const std::string& name, const std::string& options = {}, const Edit& edit = {}) {
    std::filesystem::create_directories(folder_.file(name));
    for (const auto& entry : std::filesystem::directory_iterator(TALLY_SHADERS)) {
      const std::string file = entry.path().filename().string();
      std::string text = read_file(entry.path().string());
      if (file == edit.shader) {
        const size_t at = text.find(edit.from);
        ASSERT_NE(at, std::string::npos);
        text.replace(at, edit.from.size(), edit.to);
      }
      std::ofstream(folder_.file(name + "/" + file)) << text;
    }
    const auto run = run_script(
        folder_.path(), "cd " + name +
                            " && for f in *.vert *.frag; do '" TALLY_GLSLANG
                            "' -V -gVS --quiet --target-env vulkan1.1 -o $f.spv $f || exit 1; done"
                            " && \"$TALLY\" run -q -o ../" +
                            name + ".tally -- \"$APP\" . " + options);
    ASSERT_EQ(run.end.shell_status(), 0) << run.standard_output << run.standard_error;
  }

  nlohmann::json rows(const std::string& by, const std::string& after = "after") {
    const auto run =
        run_tally(folder_.path(),
                  {"diff", "--format", "json", "--by", by, "before.tally", after + ".tally"}, {});
    EXPECT_LE(run.end.shell_status(), 1) << run.standard_error;
    return nlohmann::json::parse(run.standard_output)["diffs"][0]["tables"][0]["rows"];
  }

  std::vector<std::string> names(const std::string& by) {
    std::vector<std::string> result;
    for (const auto& row : rows(by)) result.push_back(row["name"]);
    return result;
  }

  // "changed ground.frag:7"; without rows of which only the number of invocations is the cause.
  std::vector<std::string> blamed(const std::string& by) {
    std::vector<std::string> result;
    for (const auto& row : rows(by)) {
      if (row["only_invocations"]) continue;
      result.push_back(row["change"].get<std::string>() + " " + row["name"].get<std::string>());
    }
    return result;
  }

  std::string overview() {
    return run_tally(folder_.path(), {"diff", "before.tally", "after.tally"}, {}).standard_output;
  }

  // The labels of the passes that differ.
  std::vector<std::string> passes() {
    std::vector<std::string> result;
    for (const auto& row : rows("pass")) result.push_back(row["place"]);
    return result;
  }

  // The sentences of `tally diff`. Their parts add up to the change.
  std::vector<std::string> causes() {
    const auto run =
        run_tally(folder_.path(), {"diff", "--format", "json", "before.tally", "after.tally"}, {});
    const auto found = nlohmann::json::parse(run.standard_output)["diffs"][0]["causes"];
    int64_t sum = 0;
    std::vector<std::string> texts;
    for (const auto& cause : found["list"]) {
      texts.push_back(cause["text"]);
      sum += cause["amount"].get<int64_t>();
      int64_t parts = 0;
      for (const auto& part : cause["parts"]) parts += part.get<int64_t>();
      EXPECT_EQ(cause["amount"], parts) << cause;
    }
    EXPECT_EQ(sum, found["after"].get<int64_t>() - found["before"].get<int64_t>());
    return texts;
  }

  // It names this cause first.
  void expect_check_fails(const std::string& cause) {
    const auto run =
        run_script(folder_.path(),
                   "\"$TALLY\" snapshot before.tally -o scene.snapshot && "
                   "\"$TALLY\" check scene.snapshot before.tally >/dev/null && "
                   "\"$TALLY\" check --junit junit.xml --sarif all.sarif --markdown summary.md "
                   "scene.snapshot after.tally");
    EXPECT_EQ(run.end.shell_status(), 3) << run.standard_output << run.standard_error;
    const std::string junit = read_file(folder_.file("junit.xml"));
    EXPECT_THAT(junit, HasSubstr("<testcase classname=\"cause\" name=\"" + cause));
    EXPECT_THAT(run.standard_output, HasSubstr("Causes of the change: instructions "));
    EXPECT_THAT(read_file(folder_.file("summary.md")),
                HasSubstr("Causes of the change: instructions "));
  }

  std::string first_sarif_message() {
    const auto sarif = nlohmann::json::parse(read_file(folder_.file("all.sarif")));
    const auto& results = sarif["runs"][0]["results"];
    return results.empty() ? std::string() : results[0]["message"]["text"].get<std::string>();
  }

  store::TestDirectory folder_;
};

TEST_F(Slower, the_same_renderer_has_no_difference) {
  capture("after");
  const auto run = run_tally(folder_.path(), {"diff", "before.tally", "after.tally"}, {});
  EXPECT_EQ(run.end.shell_status(), 0) << run.standard_output;
  EXPECT_THAT(run.standard_output, HasSubstr("No difference: every count is the same (1 frame)."));
}

TEST_F(Slower, one_more_octave_is_found_at_its_loop) {
  capture("after", "", {"sky.frag", "octave < 4", "octave < 5"});
  EXPECT_THAT(passes(), ElementsAre("sky"));
  EXPECT_THAT(names("shader"), ElementsAre("sky.frag"));
  EXPECT_THAT(overview(), Not(HasSubstr("Draws and dispatches"))) << "the code is the cause";
  EXPECT_THAT(blamed("function"),
              UnorderedElementsAre("changed clouds", "changed noise", "changed hash"));
  // The loop, its body, and what it calls; nothing of main.
  EXPECT_THAT(blamed("line"), UnorderedElementsAre("changed sky.frag:5", "changed sky.frag:8",
                                                   "changed sky.frag:9", "changed sky.frag:10",
                                                   "changed sky.frag:11", "changed sky.frag:12",
                                                   "changed sky.frag:18", "changed sky.frag:19",
                                                   "changed sky.frag:20", "changed sky.frag:21"));
  for (const auto& row : rows("line")) {
    if (row["name"] == "sky.frag:18") {
      EXPECT_EQ(row["old_text"], "for (int octave = 0; octave < 4; ++octave) {");
      EXPECT_EQ(row["text"], "for (int octave = 0; octave < 5; ++octave) {");
    }
    if (row["name"] == "sky.frag:19") {
      EXPECT_EQ(row["before"]["executions"], 4 * 32 * 32);
      EXPECT_EQ(row["after"]["executions"], 5 * 32 * 32);
    }
  }
  EXPECT_THAT(causes(), ElementsAre(StartsWith(
                            "sky.frag:18 was edited ((int octave = 0; octave < 4; ++octave) "
                            "-> (int octave = 0; octave < 5; ++octave)); the loop at :18 "
                            "ran 5.0 instead of 4.0 times per entry; cost +")));
  expect_check_fails("sky.frag:18 was edited");
  EXPECT_THAT(first_sarif_message(), StartsWith("scene: sky.frag:18 was edited"));
}

TEST_F(Slower, a_lost_early_out_is_found_at_the_lines_that_it_spared) {
  capture("after", "", {"lamps.frag", "  if (away > 0.5) return;\n", ""});
  EXPECT_THAT(passes(), ElementsAre("lamps"));
  EXPECT_THAT(names("shader"), ElementsAre("lamps.frag"));
  EXPECT_THAT(blamed("function"), UnorderedElementsAre("changed main", "changed glow"));
  const auto lines = blamed("line");
  EXPECT_THAT(lines, Contains("removed lamps.frag:13"));
  for (const char* spared : {"changed lamps.frag:6", "changed lamps.frag:7",
                             "changed lamps.frag:13", "changed lamps.frag:14"})
    EXPECT_THAT(lines, Contains(spared));
  // Lines 11 and 12 ran as often as before.
  for (const std::string& line : lines) {
    EXPECT_FALSE(line.ends_with(":11") || line.ends_with(":12")) << line;
  }
  EXPECT_THAT(causes(),
              ElementsAre(StartsWith("lamps.frag:13 was removed (if (away > 0.5) return); ")));
  EXPECT_THAT(causes().front(), HasSubstr(" ran 1.0 instead of 0."));
  expect_check_fails("a line of lamps.frag was removed (if (away &gt; 0.5) return)");
}

TEST_F(Slower, a_texture_that_is_sampled_twice_is_found_at_its_line) {
  capture("after", "",
          {"ground.frag", "texture(grass, position * 4.0);",
           "texture(grass, position * 4.0) * texture(grass, position * 4.0);"});
  EXPECT_THAT(passes(), ElementsAre("ground"));
  EXPECT_THAT(names("pipeline").size(), 1u);
  EXPECT_THAT(names("shader"), ElementsAre("ground.frag"));
  EXPECT_THAT(blamed("function"), ElementsAre("changed main"));
  EXPECT_THAT(blamed("line"), ElementsAre("changed ground.frag:7"));
  EXPECT_EQ(rows("line")[0]["before"]["texture_samples"], 32 * 32);
  EXPECT_EQ(rows("line")[0]["after"]["texture_samples"], 2 * 32 * 32);
  EXPECT_THAT(causes(), ElementsAre(StartsWith("ground.frag:7 was edited (")));
  EXPECT_THAT(causes().front(), Not(HasSubstr(" ran ")));
  expect_check_fails("ground.frag:7 was edited");
}

TEST_F(Slower, a_second_draw_is_found_in_its_pass_and_blames_no_line) {
  capture("after", "twice");
  EXPECT_THAT(passes(), ElementsAre("lamps"));
  const auto pass = rows("pass")[0];
  EXPECT_EQ(pass["before"]["draws"], 1);
  EXPECT_EQ(pass["after"]["draws"], 2);
  ASSERT_EQ(rows("draw").size(), 1u);
  EXPECT_THAT(rows("draw")[0]["name"], HasSubstr("lamps.frag"));
  EXPECT_EQ(rows("draw")[0]["frames"], "0");
  EXPECT_THAT(blamed("shader"), IsEmpty());
  EXPECT_THAT(blamed("function"), IsEmpty());
  EXPECT_THAT(blamed("line"), IsEmpty());
  EXPECT_THAT(names("shader"), UnorderedElementsAre("quad.vert", "lamps.frag"));
  EXPECT_THAT(overview(), HasSubstr("\nDraws and dispatches, by change of cost\n"))
      << "the code is the same";
  EXPECT_THAT(causes(),
              ElementsAre(StartsWith("lamps / lamps 32x32 had 2 draws instead of 1; cost +")));
  expect_check_fails("lamps / lamps 32x32 had 2 draws instead of 1");
}

TEST_F(Slower, overdraw_by_order_is_found_in_its_pass_and_blames_no_line) {
  capture("after", "far-first");
  EXPECT_THAT(passes(), ElementsAre("crates"));
  const auto pass = rows("pass")[0];
  EXPECT_EQ(pass["before"]["draws"], pass["after"]["draws"]);
  EXPECT_EQ(pass["before"]["invocations_fragment"], 32 * 32);
  EXPECT_EQ(pass["after"]["invocations_fragment"], 3 * 32 * 32);
  EXPECT_THAT(names("shader"), ElementsAre("crates.frag"));
  EXPECT_THAT(blamed("shader"), IsEmpty());
  EXPECT_THAT(blamed("function"), IsEmpty());
  EXPECT_THAT(blamed("line"), IsEmpty());
  EXPECT_THAT(causes(), ElementsAre(StartsWith("crates.frag fragment had 3,072 invocations instead "
                                               "of 1,024 in as many draws; cost +")));
  expect_check_fails(
      "crates.frag fragment had 3,072 invocations instead of 1,024 in as many draws");
}

TEST_F(Slower, an_edited_constant_is_the_cause_of_what_follows_from_it) {
  capture("after", "", {"lamps.frag", "away > 0.5", "away > 0.8"});
  EXPECT_THAT(causes(), ElementsAre(StartsWith("lamps.frag:13 was edited (")));
  EXPECT_THAT(causes().front(), HasSubstr("(away > 0.5) -> (away > 0.8)"));
  EXPECT_THAT(causes().front(), HasSubstr(" times per invocation; cost +"));
  expect_check_fails("lamps.frag:13 was edited");
}

// The program does the same until its third draw.
TEST_F(Slower, the_first_difference_is_the_third_draw_and_its_first_line) {
  capture("after", "small-lamps");
  const auto run =
      run_tally(folder_.path(), {"diff", "--first", "before.tally", "after.tally"}, {});
  EXPECT_EQ(run.end.shell_status(), 1) << run.standard_error;
  EXPECT_THAT(run.standard_output,
              HasSubstr("The first difference is draw or dispatch 2 of frame 0, after 2 commands"));
  EXPECT_THAT(run.standard_output, HasSubstr("quad.vert + lamps.frag"));
  EXPECT_THAT(run.standard_output,
              HasSubstr("lamps.frag:11: executed 1,024 before, 512 now: float away"));
}

TEST_F(Slower, a_draw_that_only_one_run_has_is_the_first_difference) {
  capture("after", "twice");
  const auto run = run_tally(
      folder_.path(), {"diff", "--first", "--format", "json", "before.tally", "after.tally"}, {});
  const auto first = nlohmann::json::parse(run.standard_output)["diffs"][0]["first"];
  EXPECT_EQ(first["number"], 3);
  EXPECT_THAT(first["before"].get<std::string>(), HasSubstr("crates.frag"));
  EXPECT_THAT(first["after"].get<std::string>(), HasSubstr("lamps.frag"));
}

TEST_F(Slower, two_runs_that_do_the_same_have_no_first_difference) {
  capture("after");
  const auto run =
      run_tally(folder_.path(), {"diff", "--first", "before.tally", "after.tally"}, {});
  EXPECT_EQ(run.end.shell_status(), 0);
  EXPECT_THAT(run.standard_output,
              HasSubstr("No difference: every draw and dispatch did the same"));
}

}  // namespace
}  // namespace tally::test
