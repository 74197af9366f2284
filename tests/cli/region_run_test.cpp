// Whole way by region: the sample scene under `tally run --regions`, then reports of its capture.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <tuple>

#include "picture/picture.h"
#include "program.h"
#include "store/read/reader.h"
#include "store/testing/test_capture.h"

namespace tally::test {
namespace {

using testing::HasSubstr;

class RegionRun : public testing::Test {
 protected:
  platform::CapturedRun run(const std::string& options, const std::string& arguments) {
    return run_script(folder_.path(), "exec \"$TALLY\" run -o lanterns.tally --force " + options +
                                          " -- \"" TALLY_LANTERNS "\" " + arguments);
  }
  platform::CapturedRun report(const std::string& options) {
    return run_script(folder_.path(), "exec \"$TALLY\" report " + options + " lanterns.tally");
  }
  nlohmann::json rows(const std::string& options) {
    const auto result = report("--format json " + options);
    EXPECT_EQ(result.end.shell_status(), 0) << result.standard_error;
    return nlohmann::json::parse(result.standard_output)["tables"][0]["rows"];
  }

  store::TestDirectory folder_;
};

// Two ways of counting the same: by region of a pass, and by block of the shaders that ran in it.
TEST_F(RegionRun, regions_of_a_pass_add_up_to_its_fragment_shaders) {
  const auto result = run("--regions=32x32", "--frames 2 --size 100x70");
  ASSERT_EQ(result.end.shell_status(), 0) << result.standard_error;
  std::map<std::pair<uint64_t, uint64_t>, uint64_t> by_pass;
  for (const auto& region : rows("--by region")) {
    by_pass[{region["frame"], region["pass_number"]}] +=
        region["fragment_invocations"].get<uint64_t>();
  }
  size_t passes = 0;
  for (const auto& pass : rows("--by pass")) {
    if (pass["pass_number"].is_null()) continue;
    const std::pair<uint64_t, uint64_t> key{pass["frame"], pass["pass_number"]};
    EXPECT_GE(by_pass[key], 100u * 70u);
    EXPECT_EQ(by_pass[key], pass["invocations_fragment"].get<uint64_t>()) << key.second;
    ++passes;
  }
  EXPECT_EQ(passes, 2u * 2u);
  EXPECT_EQ(by_pass.size(), passes);
}

// The draws of a region add up to it, and the regions of a draw to what its shaders counted.
TEST_F(RegionRun, draws_of_regions_add_up_to_the_regions_and_to_the_draws) {
  const auto result = run("--regions=16x16 --region-draws", "--frames 2 --size 100x70");
  ASSERT_EQ(result.end.shell_status(), 0) << result.standard_error;
  EXPECT_EQ(result.standard_error.find("not all draws"), std::string::npos)
      << result.standard_error;
  using Place = std::array<uint64_t, 4>;  // frame, pass, x and y
  const auto place_of = [](const nlohmann::json& row) {
    return Place{row["frame"], row["pass_number"], row["x"], row["y"]};
  };
  std::map<Place, std::map<std::string, uint64_t>> regions, sums;
  std::map<std::pair<uint64_t, uint64_t>, uint64_t> draws;  // by frame and number
  const auto by_region = rows("--by region --top 0");
  const auto by_draw = rows("--by region-draw --top 0");
  for (const auto& [name, value] : by_region[0].items()) {
    const bool counts = value.is_number_unsigned() && by_draw[0].contains(name) &&
                        name.find("_per_pixel") == std::string::npos && name != "fragment_warps";
    if (!counts || name.find('_') == std::string::npos || name == "pass_number") continue;
    for (const auto& row : by_region) regions[place_of(row)][name] += row[name].get<uint64_t>();
    for (const auto& row : by_draw) sums[place_of(row)][name] += row[name].get<uint64_t>();
  }
  EXPECT_GE(regions.begin()->second.size(), 15u);
  EXPECT_EQ(sums, regions);
  for (const auto& row : by_draw) {
    ASSERT_FALSE(row["command"].is_null()) << "every draw was counted on its own";
    draws[{row["frame"], row["command"]}] += row["fragment_invocations"].get<uint64_t>();
  }
  size_t found = 0;
  for (const auto& row : rows("--by draw --each --top 0")) {
    const uint64_t fragments = row.value("invocations_fragment", uint64_t{0});
    if (fragments == 0) continue;
    EXPECT_EQ((draws[{row["frame"], row["command"]}]), fragments) << row;
    ++found;
  }
  EXPECT_EQ(found, draws.size());
  EXPECT_GT(found, 4u);
  const auto one = rows("--by region-draw --top 0 --pass 0 --at 40,40");
  EXPECT_GT(one.size(), 0u);
  for (const auto& row : one) EXPECT_EQ(place_of(row), (Place{row["frame"], 0, 32, 32}));
}

TEST_F(RegionRun, draws_by_region_are_counted_where_regions_are) {
  const auto result = run("--region-draws", "--frames 1 --size 32x32");
  EXPECT_EQ(result.end.shell_status(), 2);
  EXPECT_EQ(result.standard_error, "tally: --region-draws needs --regions\n");
  ASSERT_EQ(run("--regions=16x16", "--frames 1 --size 32x32").end.shell_status(), 0);
  EXPECT_THAT(report("--by region-draw").standard_error,
              HasSubstr("capture with tally run --regions --region-draws"));
  EXPECT_THAT(report("--by region --at 4").standard_error, HasSubstr("--at 4: not X,Y"));
}

TEST_F(RegionRun, pixels_add_up_to_the_regions_that_contain_them) {
  using Place = std::tuple<uint64_t, uint64_t, uint64_t>;  // pass, column and row of 8x8 pixels
  const auto sums = [&](const std::string& size) {
    std::map<Place, std::map<std::string, uint64_t>> of_place;
    EXPECT_EQ(run("--regions=" + size, "--frames 1 --size 40x24").end.shell_status(), 0);
    for (const auto& region : rows("--by region --top 0")) {
      const Place place{region["pass_number"], region["x"].get<uint64_t>() / 8,
                        region["y"].get<uint64_t>() / 8};
      for (const char* counter : {"fragment_invocations", "fragment_instructions"})
        of_place[place][counter] += region[counter].get<uint64_t>();
      ++of_place[place]["regions"];
    }
    return of_place;
  };
  auto pixels = sums("1x1");
  const auto regions = sums("8x8");
  ASSERT_EQ(regions.size(), 2u * 5 * 3);
  for (auto& [place, of_pixels] : pixels) {
    EXPECT_EQ(of_pixels["regions"], 64u);
    of_pixels["regions"] = 1;
  }
  EXPECT_EQ(pixels, regions);
}

TEST_F(RegionRun, regions_have_the_size_that_was_asked_for) {
  ASSERT_EQ(run("--regions=32x16", "--frames 1 --size 100x70").end.shell_status(), 0);
  std::set<std::pair<int, int>> sizes;
  const auto all = rows("--by region --pass 1");
  for (const auto& region : all) {
    sizes.emplace(region["width"].get<int>(), region["height"].get<int>());
  }
  EXPECT_EQ(sizes, (std::set<std::pair<int, int>>{{32, 16}, {4, 16}, {32, 6}, {4, 6}}));
  EXPECT_EQ(all.size(), 4u * 5u);
  EXPECT_THAT(report("--by region").standard_output, HasSubstr("Regions of 32x16 pixels"));
}

Result<Picture> read_png(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  return decode_png(std::as_bytes(std::span(bytes)), 1 << 24);
}

TEST_F(RegionRun, a_heatmap_is_written_of_the_pass_and_counter_that_are_asked_for) {
  ASSERT_EQ(run("--regions=16x16", "--frames 1 --size 320x200").end.shell_status(), 0);
  const auto hottest = report("--heatmap map.png");
  EXPECT_EQ(hottest.standard_output,
            "map.png: fragment instructions of scene 320x200, frame 0, pass 0\n");
  const auto first = read_png(folder_.file("map.png"));
  ASSERT_TRUE(first.ok()) << first.error().message;
  EXPECT_GT(first->width, 320u);
  EXPECT_GT(first->height, 200u);
  const auto other = report("--heatmap map.png --force --pass 1 --counter fragment_invocations");
  EXPECT_EQ(other.standard_output,
            "map.png: fragment invocations of composite 320x200, frame 0, pass 1\n");
  const auto second = read_png(folder_.file("map.png"));
  ASSERT_TRUE(second.ok()) << "a picture is replaced";
  EXPECT_NE(first->pixels, second->pixels);
}

// The last pass draws the frame.
TEST_F(RegionRun, the_final_image_of_a_pass_is_the_one_that_the_application_reads) {
  ASSERT_EQ(run("--regions=32x32", "--frames 1 --size 100x70 --png own.png").end.shell_status(), 0);
  const auto reader = store::Reader::open(folder_.file("lanterns.tally"));
  ASSERT_TRUE(reader.ok()) << reader.error().message;
  store::RowId last = 0;
  const Status status = reader->for_each_pass_regions([&](const store::PassRegionsRow& row) {
    last = row.pass;
    return true;
  });
  ASSERT_TRUE(status.ok());
  const auto picture = reader->pass_picture(last, 0);
  ASSERT_TRUE(picture.ok() && *picture);
  const auto own = read_png(folder_.file("own.png"));
  const auto captured = decode_png((*picture)->png, 1 << 24);
  ASSERT_TRUE(own.ok() && captured.ok());
  EXPECT_EQ(captured->pixels, own->pixels);
}

TEST_F(RegionRun, without_a_size_a_region_has_8x8_pixels) {
  ASSERT_EQ(run("--regions", "--frames 1 --size 100x70").end.shell_status(), 0);
  const auto map = report("--heatmap map.png --format json");
  ASSERT_EQ(map.end.shell_status(), 0) << map.standard_error;
  const auto json = nlohmann::json::parse(map.standard_output)["heatmap"];
  EXPECT_EQ(json["columns"], 13);  // 100 / 8, rounded up
  EXPECT_EQ(json["region_width"], 8);
}

TEST_F(RegionRun, a_heatmap_that_cannot_be_is_refused_in_one_line) {
  ASSERT_EQ(run("--regions=16x16", "--frames 1 --size 32x32").end.shell_status(), 0);
  EXPECT_THAT(report("--heatmap map.png --counter nonsense").standard_error,
              HasSubstr("there is no counter 'nonsense'; the counters are fragment_warps, "));
  EXPECT_THAT(report("--heatmap map.png --pass 9").standard_error,
              HasSubstr("no pass with number 9 was counted by region"));
  EXPECT_THAT(report("--heatmap map.png --frames 9").standard_error,
              HasSubstr("lanterns.tally: no pass of these frames was counted by region"));
  const auto half =
      run_script(folder_.path(),
                 "trap '' XFSZ; ulimit -f 1; \"$TALLY\" report --heatmap half.png lanterns.tally");
  EXPECT_THAT(half.standard_error, HasSubstr("half.png: File too large"));
  EXPECT_FALSE(std::filesystem::exists(folder_.file("half.png")));
  EXPECT_THAT(report("--heatmap lanterns.tally --force").standard_error,
              HasSubstr("lanterns.tally is the capture itself"));
  EXPECT_THAT(report("--heatmap no/where.png").standard_error, HasSubstr("no/where.png: "));
  EXPECT_EQ(report("--by pass").end.shell_status(), 0) << "the capture is as it was";
}

TEST_F(RegionRun, a_name_that_a_report_shows_selects_the_shader) {
  ASSERT_EQ(run("--shader blur.comp", "--frames 1 --size 32x32").end.shell_status(), 0);
  std::set<std::string> counted;
  for (const auto& row : rows("--by shader")) {
    if (row["not_counted"] == "") counted.insert(row["shader"]);
  }
  EXPECT_THAT(counted, testing::ElementsAre("blur.comp"));
}

TEST_F(RegionRun, the_picture_is_the_same_with_and_without) {
  const std::string draw = "--frames 1 --size 100x70 --png ";
  ASSERT_EQ(run("--regions=16x16", draw + "counted.png").end.shell_status(), 0);
  const auto compared = run_script(
      folder_.path(), "\"" TALLY_LANTERNS "\" " + draw + "plain.png && cmp plain.png counted.png");
  EXPECT_EQ(compared.end.shell_status(), 0) << compared.standard_output << compared.standard_error;
}

TEST_F(RegionRun, what_cannot_be_is_said_in_one_line) {
  const auto size = run("--regions=32x33", "--frames 1 --size 32x32");
  EXPECT_EQ(size.end.shell_status(), 2);
  EXPECT_EQ(size.standard_error,
            "tally: --regions=32x33: not WIDTHxHEIGHT in powers of two up to 4096\n");
  ASSERT_EQ(run("", "--frames 1 --size 32x32").end.shell_status(), 0);
  const auto none = report("--by region");
  EXPECT_EQ(none.end.shell_status(), 1);
  EXPECT_EQ(none.standard_error,
            "tally: lanterns.tally: the capture has no counters by region: capture with tally run "
            "--regions\n");
}

}  // namespace
}  // namespace tally::test
