// The last messages of `tally run`, from each state.
#include "cli/run/run_end.h"

#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include <string>

namespace tally::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

analysis::Summary captured() {
  analysis::Summary summary;
  summary.finished = true;
  summary.has_commands = true;
  summary.devices = {{.name = "llvmpipe", .api = "Vulkan"}};
  summary.frames = 3;
  summary.draws = 5;
  summary.shaders_counted = 1;
  return summary;
}

analysis::Summary nothing() {
  analysis::Summary summary = captured();
  summary.frames = summary.draws = summary.shaders_counted = 0;
  return summary;
}

RunEnd ended(analysis::Summary summary) {
  RunEnd end{.program = "app", .file = "app.tally", .connected = true};
  end.summary = std::move(summary);
  return end;
}

std::string text(const RunEnd& end, bool quiet = false) {
  return fmt::format("{}\n", fmt::join(messages(end, quiet), "\n"));
}

TEST(RunEnd, a_complete_capture_is_summed_up) {
  EXPECT_EQ(text(ended(captured())),
            fmt::format("3 frames, 0 passes, 5 draws, 0 dispatches on llvmpipe\n1 shader counted\n"
                        "capture: app.tally (0 B), file://{}/app.tally\n"
                        "next: tally report app.tally\n",
                        std::filesystem::current_path().string()));
  EXPECT_THAT(messages(ended(captured()), true), IsEmpty());
  EXPECT_TRUE(ended(captured()).complete());
}

TEST(RunEnd, missing_commands_are_why_nothing_was_captured) {
  analysis::Summary summary = nothing();
  summary.commands_missing = 1;
  const std::string said = text(ended(summary));
  EXPECT_THAT(said,
              HasSubstr("nothing was captured: the counts of the command that the application "
                        "submitted were never read\n"));
  EXPECT_THAT(said, HasSubstr("missing: 1 command whose counts were never read"));
  EXPECT_THAT(said, Not(HasSubstr("submitted no draw")));
  EXPECT_FALSE(ended(summary).complete());
}

TEST(RunEnd, an_application_that_submits_nothing_is_told_from_one_whose_commands_are_missing) {
  EXPECT_THAT(text(ended(nothing())), HasSubstr("the application submitted no draw"));
  analysis::Summary cut_off = nothing();
  cut_off.processes_cut_off = 1;
  EXPECT_THAT(text(ended(cut_off)), Not(HasSubstr("submitted no draw")));
}

TEST(RunEnd, frames_on_request_are_not_frames_that_were_not_reached) {
  analysis::Summary summary = nothing();
  summary.frame_range = "on request, the last 5";
  EXPECT_THAT(text(ended(summary)), HasSubstr("no frame was asked for (tally trigger)"));
  summary.frame_range = "7-9, the last 5";
  EXPECT_THAT(text(ended(summary)), HasSubstr("did not reach the frames 7-9 of"));
  summary.frame_range = "the last 5";
  EXPECT_THAT(text(ended(summary)), HasSubstr("the application submitted no draw"));
}

TEST(RunEnd, a_full_disk_is_why_there_is_no_capture) {
  RunEnd end{.program = "app", .file = "app.tally"};
  end.written = Error{"app.tally: database or disk is full"};
  EXPECT_THAT(messages(end, false), ElementsAre("the capture cannot be written: "
                                                "app.tally: database or disk is full"));
  EXPECT_EQ(messages(end, true), messages(end, false));
  end.connected = true;
  end.summary = Error{"app.tally: is not a capture"};
  EXPECT_EQ(messages(end, false).size(), 1u);
  RunEnd part = ended(captured());
  part.written = end.written;
  EXPECT_THAT(text(part), HasSubstr("the capture is incomplete: app.tally: database or disk"));
  EXPECT_FALSE(part.complete());
}

TEST(RunEnd, only_an_application_without_a_device_gets_the_hints) {
  RunEnd end{.program = "app", .file = "app.tally", .hints = {"a hint"}};
  EXPECT_THAT(messages(end, false),
              ElementsAre("app created no Vulkan device and no EGL context for GL, so nothing was "
                          "captured",
                          "a hint"));
  EXPECT_THAT(messages(end, true), IsEmpty());
  RunEnd connected = ended(nothing());
  connected.hints = {"a hint"};
  EXPECT_THAT(text(connected), Not(HasSubstr("a hint")));
}

TEST(RunEnd, a_capture_without_names_says_what_switches_them_on) {
  EXPECT_THAT(text(ended(captured())), Not(HasSubstr("names: ")));
  analysis::Summary summary = captured();
  summary.has_names = false;
  EXPECT_THAT(text(ended(summary)), HasSubstr("GGML_VK_DEBUG_MARKERS=1"));
  EXPECT_THAT(text(ended(summary)), HasSubstr("--generate-spirv-debug-info"));
}

TEST(RunEnd, equal_devices_are_one) {
  analysis::Summary summary = captured();
  summary.devices.assign(40, summary.devices.front());
  EXPECT_THAT(text(ended(summary)), HasSubstr(" on llvmpipe (40 devices)\n"));
  for (auto& device : summary.devices) device.not_captured = "no memory";
  const std::string missing = text(ended(summary), true);
  EXPECT_EQ(missing, "missing: llvmpipe was not captured: no memory (40 devices)\n");
}

TEST(RunEnd, the_signal_that_ended_the_application_is_said_first) {
  RunEnd end = ended(captured());
  end.application = {.by_signal = true, .number = 11};
  EXPECT_EQ(messages(end, false).front(),
            "the application was terminated by SIGSEGV; exit status 139");
}

}  // namespace
}  // namespace tally::cli
