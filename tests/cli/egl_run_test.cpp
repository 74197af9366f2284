// `tally run` and `tally report` with an EGL program. Its frame f has f + 1 draws of one triangle
// of 64 x 64 samples (tests/egl/profiled_app.cpp).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "program.h"
#include "store/testing/test_capture.h"

namespace tally::test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class EglRun : public ::testing::Test {
 protected:
  platform::CapturedRun run(const std::string& options, const std::string& application,
                            const std::vector<std::string>& variables = {}) {
    return run_script(folder_.path(),
                      "exec \"$TALLY\" run -o a.tally " + options + " -- \"$APP\" " + application,
                      variables);
  }
  nlohmann::json report(const std::string& options) {
    const auto run =
        run_script(folder_.path(), "exec \"$TALLY\" report --format json " + options + " a.tally");
    EXPECT_EQ(run.end.shell_status(), 0) << run.standard_error;
    return nlohmann::json::parse(run.standard_output, nullptr, false);
  }
  nlohmann::json frames() { return report("--by frame").at("tables").at(0).at("rows"); }

  void expect_known_counts(const nlohmann::json& row) {
    const uint64_t draws = row.at("frame").get<uint64_t>() + 1;
    EXPECT_EQ(row.at("api.draw_calls"), draws);
    EXPECT_EQ(row.at("api.vertices_submitted"), 3 * draws);
    EXPECT_EQ(row.at("api.primitives_submitted"), draws);
    EXPECT_EQ(row.at("gpu.primitives_generated"), draws);
    EXPECT_EQ(row.at("frame.swaps"), 1u);
    EXPECT_GT(row.at("process_and_device.resident_memory"), 0u);
  }

  store::TestDirectory folder_;
};

TEST_F(EglRun, every_frame_has_the_counts_of_its_own_draws) {
  const auto done = run("", "es 5");
  EXPECT_EQ(done.end.shell_status(), 0) << done.standard_error;
  EXPECT_THAT(done.standard_output, IsEmpty());
  EXPECT_THAT(done.standard_error, HasSubstr("6 frames on llvmpipe"));
  const nlohmann::json rows = frames();
  ASSERT_EQ(rows.size(), 6u) << "five swaps, and what comes after the last";
  for (size_t f = 0; f < 5; f++) {
    EXPECT_EQ(rows[f].at("frame"), f);
    EXPECT_GT(rows[f].at("time"), 0u);
    expect_known_counts(rows[f]);
  }
  EXPECT_EQ(rows[5].at("api.draw_calls"), 0u);
  EXPECT_TRUE(rows[5].at("time").is_null());
}

TEST_F(EglRun, samples_of_desktop_gl_belong_to_their_frame) {
  run("", "gl 3");
  const nlohmann::json rows = frames();
  ASSERT_EQ(rows.size(), 4u);
  for (size_t f = 0; f < 3; f++) {
    expect_known_counts(rows[f]);
    EXPECT_EQ(rows[f].at("gpu.samples_passed"), (f + 1) * 64 * 64);
  }
}

TEST_F(EglRun, the_overview_sums_the_counters_of_all_frames) {
  run("", "es 5");
  const nlohmann::json counters = report("--by counter").at("tables").at(0).at("rows");
  bool found = false;
  for (const auto& row : counters) {
    if (row.at("counter") != "Draw calls") continue;
    found = true;
    EXPECT_EQ(row.at("total"), 1 + 2 + 3 + 4 + 5);
    EXPECT_EQ(row.at("max"), 5);
    EXPECT_EQ(row.at("mean"), 15 / 6.0);
  }
  EXPECT_TRUE(found);
  const auto text = run_script(folder_.path(), "exec \"$TALLY\" report a.tally");
  EXPECT_THAT(text.standard_output, HasSubstr("GL counters, by frame"));
  EXPECT_THAT(text.standard_output, HasSubstr("GL frames, by time"));
}

TEST_F(EglRun, only_the_frames_that_were_asked_for_are_kept) {
  run("--frames 1-2", "es 5");
  const nlohmann::json rows = frames();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].at("frame"), 1u);
  expect_known_counts(rows[0]);
  expect_known_counts(rows[1]);
}

TEST_F(EglRun, of_every_second_frame_the_counts_are_its_own) {
  run("--every 2", "es 5");
  const nlohmann::json rows = frames();
  ASSERT_EQ(rows.size(), 3u);
  for (size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(rows[i].at("frame"), 2 * i);
  expect_known_counts(rows[1]);
}

TEST_F(EglRun, without_a_request_no_frame_is_kept) {
  const auto done = run("--trigger", "es 5");
  EXPECT_THAT(done.standard_error, HasSubstr("no frame was asked for"));
}

TEST_F(EglRun, a_program_that_never_swaps_is_one_open_frame) {
  run("", "es 4 offscreen");
  const nlohmann::json rows = frames();
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].at("api.draw_calls"), 1 + 2 + 3 + 4);
  EXPECT_EQ(rows[0].at("gpu.primitives_generated"), 1 + 2 + 3 + 4);
  EXPECT_TRUE(rows[0].at("time").is_null());
}

// As in a Vulkan program whose driver makes a context of its own.
TEST_F(EglRun, a_program_that_calls_no_gl_is_not_profiled) {
  const auto done = run("", "es 0 idle");
  EXPECT_EQ(done.end.shell_status(), 0);
  EXPECT_THAT(done.standard_error, HasSubstr("nothing was captured")) << done.standard_error;
}

TEST_F(EglRun, what_a_killed_program_had_swapped_is_kept) {
  EXPECT_EQ(run("", "es 5 kill").end.shell_status(), 128 + 9);
  const nlohmann::json rows = frames();
  ASSERT_EQ(rows.size(), 5u);
  for (const auto& row : rows) expect_known_counts(row);
}

TEST_F(EglRun, a_program_that_acquires_the_counters_has_them_and_the_capture_says_so) {
  const auto done = run("", "es 8 acquire");
  EXPECT_EQ(done.standard_output, "Draw calls: 7\n");
  EXPECT_THAT(done.standard_error, HasSubstr("itself holds the counters"));
  const nlohmann::json all = report("--by frame");
  std::vector<int> measured;
  for (const auto& row : all.at("tables").at(0).at("rows")) {
    measured.push_back(row.at("frame"));
    if (measured.back() < 8) expect_known_counts(row);
  }
  // It released them after frame 3 had been swapped: frame 4 had begun.
  EXPECT_THAT(measured, ::testing::ElementsAre(0, 1, 5, 6, 7, 8));
  EXPECT_THAT(all.at("capture").at("messages").at(0).at("text").get<std::string>(),
              HasSubstr("itself holds the counters"));
}

TEST_F(EglRun, where_gl_runs_on_vulkan_the_capture_has_both) {
  // A leak checker sees no owner of zink's leaks: it is unloaded by then.
  const auto done =
      run("", "es 3",
          {"LIBGL_ALWAYS_SOFTWARE=1", "GALLIUM_DRIVER=zink", "LSAN_OPTIONS=detect_leaks=0"});
  EXPECT_EQ(done.end.shell_status(), 0) << done.standard_error;
  EXPECT_THAT(done.standard_error, HasSubstr("tally: 4 frames, "));
  const nlohmann::json all = report("--by frame");
  EXPECT_EQ(all.at("capture").at("frames"), 4);
  EXPECT_EQ(all.at("capture").at("devices").size(), 2u);
  ASSERT_EQ(all.at("tables").size(), 2u);
  const nlohmann::json gl = all.at("tables").at(0).at("rows");
  ASSERT_EQ(gl.size(), 4u);
  for (size_t f = 0; f < 3; f++) {
    EXPECT_EQ(gl[f].at("api.draw_calls"), f + 1);
    EXPECT_EQ(gl[f].at("vulkan_layer.vertex_shader_invocations"), 3 * (f + 1));
    EXPECT_EQ(gl[f].at("vulkan_layer.fragment_shader_invocations"), 64 * 64 * (f + 1));
    for (const auto& [name, value] : gl[f].items()) {
      EXPECT_FALSE(name.starts_with("gpu.")) << name << " is left to the Vulkan layer";
    }
  }
  uint64_t vertices = 0, fragments = 0;
  const nlohmann::json draws = report("--by draw --each");
  for (const auto& row : draws.at("tables").at(0).at("rows")) {
    vertices += row.at("invocations_vertex").get<uint64_t>();
    fragments += row.at("invocations_fragment").get<uint64_t>();
  }
  EXPECT_EQ(vertices, (1 + 2 + 3) * 3u);
  EXPECT_EQ(fragments, (1 + 2 + 3) * 64 * 64u);
}

TEST_F(EglRun, list_and_doctor_know_the_counters) {
  const auto list = run_script(folder_.path(), "exec \"$TALLY\" list --format json");
  const nlohmann::json egl = nlohmann::json::parse(list.standard_output).at("egl");
  EXPECT_EQ(egl.at("missing"), "");
  std::vector<std::string> groups;
  for (const auto& group : egl.at("groups")) groups.push_back(group.at("name"));
  EXPECT_THAT(groups, ::testing::IsSupersetOf({"API", "Frame", "Process and device", "GPU"}));
  EXPECT_EQ(egl.at("groups").at(0).at("counters").at(0).at("name"), "Draw calls");
  const auto doctor = run_script(folder_.path(), "exec \"$TALLY\" doctor");
#ifdef TALLY_PLAIN_EGL_FOLDER
  EXPECT_THAT(doctor.standard_output, HasSubstr("by a vendor library of libglvnd"));
#else
  EXPECT_THAT(doctor.standard_output,
              HasSubstr("EGL: some of Tally's EGL libraries cannot be used"));
#endif
}

TEST_F(EglRun, switched_off_it_leaves_the_program_alone) {
  const auto done = run("--egl off", "es 2", {"TALLY_TEST_EGL=as is"});
  EXPECT_EQ(done.end.shell_status(), 0);
  EXPECT_THAT(done.standard_error, HasSubstr("nothing was captured"));
}

// Runs tests/egl/reloading_app.cpp without Tally and with it. Both end well, and have the same
// files mapped at the end.
class Reload : public EglRun, public ::testing::WithParamInterface<const char*> {
 protected:
  std::vector<std::string> mapped_after(const std::string& command) {
    const std::string loops = "\" 50 " + std::string(GetParam());
    const auto done =
        run_script(folder_.path(), "exec " + command + " \"" TALLY_RELOADING_APP + loops,
                   {"TALLY_TEST_EGL=as is"});
    EXPECT_EQ(done.end.shell_status(), 0) << done.standard_error;
    std::vector<std::string> files;
    std::istringstream lines(done.standard_output);
    for (std::string line; std::getline(lines, line);) {
      const bool cache = line.find("mesa_shader_cache") != std::string::npos;
      if (!cache && line.find("libVkLayer_tally") == std::string::npos) files.push_back(line);
    }
    return files;
  }
};

TEST_P(Reload, what_is_mapped_after_unloading_is_what_is_mapped_without_tally) {
  const std::vector<std::string> bare = mapped_after("env");
  EXPECT_THAT(bare, ::testing::Contains(HasSubstr("libc.so")));
  EXPECT_EQ(mapped_after("\"$TALLY\" run -q -o a.tally --"), bare);
}

const auto step_name = [](const auto& info) { return info.param; };
INSTANTIATE_TEST_SUITE_P(egl, Reload,
                         ::testing::Values("open", "display", "context", "counters", "left"),
                         step_name);
INSTANTIATE_TEST_SUITE_P(vulkan, Reload, ::testing::Values("instance", "loader"), step_name);

#ifdef TALLY_PLAIN_EGL_FOLDER
TEST_F(EglRun, without_libglvnd_the_library_is_preloaded) {
  const std::vector<std::string> plain = {"TALLY_TEST_EGL=as is",
                                          "LD_LIBRARY_PATH=" TALLY_PLAIN_EGL_FOLDER};
  for (const char* way : {"--force", "--force --egl preload"}) {
    const auto done = run(way, "es 3", plain);
    EXPECT_EQ(done.end.shell_status(), 0) << done.standard_error;
    const nlohmann::json rows = frames();
    ASSERT_EQ(rows.size(), 4u) << way;
    for (size_t f = 0; f < 3; f++) expect_known_counts(rows[f]);
  }
}
#endif

}  // namespace
}  // namespace tally::test
