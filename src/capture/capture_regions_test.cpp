// Counters by region and the pictures of passes, captured from VK_LAYER_TALLY_counters.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "capture/testing/counted_session.h"
#include "picture/picture.h"

namespace tally::capture::testing {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Session run_by_region(const std::string& scenario, const std::string& region_size = "16x16") {
  return run({.scenario = scenario,
              .environment = {{"TALLY_REGIONS", "1"}, {"TALLY_REGION_SIZE", region_size}}});
}

constexpr const char* kInvocations =
    " FROM region_values JOIN region_counter ON region_counter.id = counter JOIN pass_regions ON "
    "pass_regions.id = regions WHERE name = 'Fragment invocations' ";

// The values of all regions of a subpass and layer of the capture's only pass with regions.
std::vector<uint32_t> invocations(const Session& session, int subpass = 0, int layer = 0) {
  Result<store::Statement> rows = session.reader().query(
      std::string("SELECT by_region") + kInvocations + "AND subpass = ? AND layer = ?");
  EXPECT_TRUE(rows.ok()) << rows.error().message;
  rows->bind(int64_t{subpass}).bind(int64_t{layer});
  std::vector<uint32_t> values;
  if (!rows->step()) return values;
  values.resize(rows->blob(0).size() / sizeof(uint32_t));
  std::memcpy(values.data(), rows->blob(0).data(), rows->blob(0).size());
  EXPECT_FALSE(rows->step()) << "more than one";
  return values;
}

std::vector<uint32_t> everywhere(size_t regions, uint32_t value) {
  return std::vector<uint32_t>(regions, value);
}

TEST(CaptureByRegion, every_region_of_a_pass_has_its_invocations) {
  const Session session = run_by_region("render_pass");
  EXPECT_EQ(invocations(session), everywhere(4 * 4, 16 * 16 * (2 + 3)));
  EXPECT_EQ(executions(session), (std::vector<int64_t>{3 * 2, 3 * 3}))
      << "vertices: both extensions in one pass";
  EXPECT_EQ(session.number("SELECT count(*) FROM region_counter WHERE name NOT IN "
                           "('Fragment shader clock', 'Fragment primitives')"),
            20)
      << "apart from those that not every device has";
  EXPECT_THAT(session.number("SELECT total FROM region_values JOIN region_counter ON "
                             "region_counter.id = counter WHERE name = 'Fragment warps'"),
              AnyOf(64 * 64 * 5 / 8, 64 * 64 * 5 / 4, 64 * 64 * 5 / 32))
      << "subgroups of lavapipe, SwiftShader and NVIDIA";
  EXPECT_EQ(session.text("SELECT x || ' ' || y || ' ' || width || ' ' || height || ' ' || "
                         "region_width || ' ' || region_height FROM pass_regions"),
            "0 0 64 64 16 16");
}

TEST(CaptureByRegion, nothing_is_there_unless_it_is_asked_for) {
  const Session session = run({.scenario = "render_pass"});
  EXPECT_EQ(session.number("SELECT count(*) FROM region_counter"), 0);
  EXPECT_EQ(session.number("SELECT count(*) FROM pass_regions"), 0);
}

TEST(CaptureByRegion, secondaries_that_continue_a_pass_count_in_it) {
  EXPECT_EQ(invocations(run_by_region("secondaries")), everywhere(4 * 4, 16 * 16 * (2 + 2 * 5)));
}

// It began in another command buffer, and the part that ends it has the values of all of it.
TEST(CaptureByRegion, a_pass_that_is_resumed_has_the_values_of_all_its_parts) {
  const Session session = run_by_region("suspended");
  EXPECT_EQ(invocations(session), everywhere(4 * 4, 16 * 16 * (1 + 2 + 3)));
  EXPECT_EQ(session.number("SELECT count(*) FROM pass"), 2);
  EXPECT_EQ(session.number("SELECT pass FROM pass_regions"),
            session.number("SELECT max(id) FROM pass"));
}

TEST(CaptureByRegion, each_view_has_regions_of_its_own_from_the_corner_of_the_render_area) {
  const Session session = run_by_region("views");
  // The area is 40 x 20 from (8, 4): the last column is 8 wide, the last row 4 high.
  const std::vector<uint32_t> twice{512, 512, 256, 128, 128, 64};
  EXPECT_EQ(invocations(session, 0, 0), twice);
  EXPECT_THAT(invocations(session, 0, 1), IsEmpty());
  EXPECT_EQ(invocations(session, 0, 2), twice);
  EXPECT_EQ(session.number("SELECT count(*) FROM pass_regions"), 3);
  EXPECT_EQ(session.text("SELECT x || ' ' || y || ' ' || width || ' ' || height FROM pass_regions"),
            "8 4 40 20");
}

TEST(CaptureByRegion, each_subpass_has_its_own_values) {
  const Session session = run_by_region("subpasses");
  EXPECT_EQ(invocations(session, 0), everywhere(4 * 4, 16 * 16));
  EXPECT_EQ(invocations(session, 1), everywhere(4 * 4, 16 * 16 * 2));
}

TEST(CaptureByRegion, each_execution_of_a_recording_has_its_own_values) {
  const Session session = run_by_region("passes_again");
  EXPECT_EQ(session.number(std::string("SELECT count(*)") + kInvocations), 20);
  EXPECT_EQ(session.number(std::string("SELECT count(DISTINCT pass)") + kInvocations +
                           "AND total = 64 * 64 * 3"),
            20);
}

Session run_by_draw(const std::string& scenario) {
  return run(
      {.scenario = scenario,
       .environment = {
           {"TALLY_REGIONS", "1"}, {"TALLY_REGION_SIZE", "16x16"}, {"TALLY_REGION_DRAWS", "1"}}});
}

// Subpass, layer and fragment invocations of each draw.
std::string draws_by_region(const Session& session) {
  return session.text(
      "SELECT group_concat(text, ', ') FROM (SELECT subpass || ' ' || layer || ' ' || total AS "
      "text "
      "FROM region_draw JOIN region_counter ON region_counter.id = counter JOIN pass_regions ON "
      "pass_regions.id = regions WHERE name = 'Fragment invocations' ORDER BY regions, position)");
}

// Where the draws do not add up to what the pass counted.
int64_t unequal_sums(const Session& session) {
  return session.number(
      "SELECT count(*) FROM region_values AS v JOIN region_counter ON region_counter.id = "
      "v.counter "
      "WHERE name <> 'Fragment warps' AND total <> (SELECT coalesce(sum(total), 0) FROM "
      "region_draw "
      "AS d WHERE d.regions = v.regions AND d.counter = v.counter)");
}

TEST(CaptureDrawsByRegion, draws_add_up_to_their_pass) {
  const Session session = run_by_draw("render_pass");
  EXPECT_EQ(draws_by_region(session), "0 0 8192, 0 0 12288");
  EXPECT_EQ(invocations(session), everywhere(4 * 4, 16 * 16 * (2 + 3)));
  EXPECT_EQ(unequal_sums(session), 0);
  EXPECT_EQ(session.number("SELECT count(*) FROM command JOIN pass ON pass.execution = "
                           "command.execution JOIN region_draw AS d ON d.position = "
                           "command.position"),
            session.number("SELECT count(*) FROM region_draw"))
      << "each one is a command";
}

TEST(CaptureDrawsByRegion, draws_are_in_their_subpass) {
  const Session session = run_by_draw("subpasses");
  EXPECT_EQ(draws_by_region(session), "0 0 4096, 1 0 8192");
  EXPECT_EQ(unequal_sums(session), 0);
}

TEST(CaptureDrawsByRegion, a_draw_counts_in_each_view) {
  const Session session = run_by_draw("views");
  EXPECT_EQ(draws_by_region(session), "0 0 1600, 0 2 1600");
  EXPECT_EQ(unequal_sums(session), 0);
}

TEST(CaptureDrawsByRegion, each_execution_of_a_recording_has_its_own) {
  const Session session = run_by_draw("passes_again");
  EXPECT_EQ(session.number("SELECT count(DISTINCT regions) FROM region_draw"), 20);
  EXPECT_EQ(unequal_sums(session), 0);
}

TEST(CaptureDrawsByRegion, what_is_not_counted_is_said) {
  const auto message = [](const Session& session) {
    return session.text("SELECT text FROM message WHERE text LIKE 'not all draws%'");
  };
  const Session secondaries = run_by_draw("secondaries");
  EXPECT_THAT(message(secondaries), HasSubstr("secondary command buffers"));
  EXPECT_EQ(invocations(secondaries), everywhere(4 * 4, 16 * 16 * (2 + 2 * 5)));
  const Session suspended = run_by_draw("suspended");
  EXPECT_THAT(message(suspended), HasSubstr("suspended"));
  EXPECT_EQ(invocations(suspended), everywhere(4 * 4, 16 * 16 * (1 + 2 + 3)));
  EXPECT_EQ(message(run_by_draw("subpasses")), "");
}

// The capture's only pass with regions.
Picture picture(const Session& session, uint32_t layer = 0) {
  const auto row =
      session.reader().pass_picture(session.number("SELECT pass FROM pass_regions"), layer);
  EXPECT_TRUE(row.ok()) << row.error().message;
  if (!*row) {
    ADD_FAILURE() << "no picture: " << session.text("SELECT text FROM message");
    return {};
  }
  auto decoded = decode_png((*row)->png, 1 << 20);
  EXPECT_TRUE(decoded.ok()) << decoded.error().message;
  return *decoded;
}

Picture plain(uint32_t width, uint32_t height, uint32_t pixel) {
  return {width, height, std::vector<uint32_t>(size_t{width} * height, pixel)};
}

void expect_same(const Picture& a, const Picture& b) {
  EXPECT_EQ(a.width, b.width);
  EXPECT_EQ(a.height, b.height);
  EXPECT_EQ(a.pixels, b.pixels);
}

// Half of 255 is the driver's to round.
void expect_orange(const Picture& shown, uint32_t width, uint32_t height) {
  ASSERT_FALSE(shown.pixels.empty());
  EXPECT_THAT(shown.pixels[0], AnyOf(0xff0080ffu, 0xff007fffu));
  expect_same(shown, plain(width, height, shown.pixels[0]));
}

TEST(PassPictures, show_what_a_pass_has_drawn) {
  for (const char* scenario :
       {"render_pass", "secondaries", "suspended", "subpasses", "multisampled"}) {
    SCOPED_TRACE(scenario);
    expect_orange(picture(run_by_region(scenario)), 64, 64);
  }
}

TEST(PassPictures, are_not_taken_where_the_driver_refuses_what_they_need) {
  if (std::getenv("TALLY_TEST_VALIDATION")) GTEST_SKIP() << "not with the validation layer below";
  const Session session = run({.scenario = "imageless",
                               .environment = {{"TALLY_REGIONS", "1"},
                                               {"TALLY_REGION_SIZE", "16x16"},
                                               {"TALLY_TEST_FAULT", "vkCreateFramebuffer:1:-2"}}},
                              0,
                              "VK_LAYER_TALLY_capture:VK_LAYER_TALLY_counters:"
                              "VK_LAYER_TALLY_test_faults");
  EXPECT_EQ(session.number("SELECT count(*) FROM pass"), 1);
}

TEST(PassPictures, are_of_each_layer_as_far_as_the_render_area) {
  const Session session = run_by_region("views");
  expect_orange(picture(session, 0), 40, 20);
  expect_orange(picture(session, 2), 40, 20);
  EXPECT_EQ(session.number("SELECT count(*) FROM pass_picture"), 3);
}

// 64x64 pixels.
Picture halves(uint32_t left, uint32_t right) {
  Picture both = plain(64, 64, right);
  for (uint32_t y = 0; y < 64; ++y) {
    for (uint32_t x = 0; x < 32; ++x) both.at(x, y) = left;
  }
  return both;
}

TEST(PassPictures, are_there_of_images_that_the_application_never_reads) {
  expect_same(picture(run_by_region("shadow")), halves(0xff000000, 0xffffffff));
  expect_same(picture(run_by_region("imageless")), plain(40, 20, 0xffff0000));
}

TEST(PassPictures, are_there_of_samples_that_nobody_resolves) {
  expect_same(picture(run_by_region("unresolved")), halves(0xff0000ff, 0xffff0000));
}

TEST(PassPictures, show_numbers_and_depth_from_the_least_to_the_most) {
  expect_same(picture(run_by_region("numbers")), halves(0xffffffff, 0xff000000));
  expect_same(picture(run_by_region("depth_and_stencil")), halves(0xff000000, 0xffffffff));
}

TEST(CaptureByRegion, where_nothing_below_offers_it_that_is_said) {
  const Session session({.scenario = "render_pass", .environment = {{"TALLY_REGIONS", "1"}}});
  EXPECT_EQ(session.exit_status(), 0) << session.errors();
  EXPECT_EQ(session.number("SELECT count(*) FROM pass_regions"), 0);
  EXPECT_THAT(session.text("SELECT text FROM message"),
              HasSubstr("neither the driver nor VK_LAYER_TALLY_counters offers"));
}

}  // namespace
}  // namespace tally::capture::testing
