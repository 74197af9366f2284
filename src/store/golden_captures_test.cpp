// Captures of every version that was released are read, and this version is the newest of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "picture/picture.h"
#include "store/format/schema.h"
#include "store/read/reader.h"
#include "store/testing/capture_file.h"

namespace tally::store {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// The regions of write_test_capture().
void expect_regions(const Reader& reader) {
  const auto counters = *reader.region_counters();
  ASSERT_EQ(counters.size(), 2u);
  EXPECT_EQ(counters[1].name, "Fragment invocations");
  const auto all = collect(reader, &Reader::for_each_pass_regions);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].pass, collect(reader, &Reader::for_each_pass).at(0).id);
  EXPECT_EQ(all[0].x, 4);
  EXPECT_EQ(all[0].height, 50u);
  EXPECT_EQ(all[0].columns(), 2u);
  EXPECT_EQ(all[0].rows(), 2u);
  std::vector<RegionValuesRow> values;
  const Status status = reader.for_each_region_values(all[0], [&](const RegionValuesRow& row) {
    values.push_back(row);
    return true;
  });
  EXPECT_TRUE(status.ok());
  ASSERT_EQ(values.size(), 1u) << "a counter that is 0 everywhere has no row";
  EXPECT_EQ(values[0].counter, counters[1].id);
  EXPECT_THAT(values[0].by_region, ElementsAre(10, 0, ~0u, 7));
  const auto picture = *reader.pass_picture(all[0].pass, 0);
  ASSERT_NE(picture, std::nullopt);
  EXPECT_EQ(picture->width, 2u);
  EXPECT_THAT(decode_png(picture->png, 2)->pixels, ElementsAre(0xff0000ff, 0xff00ff00));
  EXPECT_EQ(*reader.pass_picture(all[0].pass, 1), std::nullopt);
}

// Contents of every version.
void expect_golden(const std::string& path) {
  const Result<Reader> reader = Reader::open(path);
  ASSERT_TRUE(reader.ok()) << reader.error().message;
  EXPECT_THAT(reader->capture()->command_line, ElementsAre("app", "--fast"));
  EXPECT_EQ(collect(*reader, &Reader::for_each_batch).size(), 2u);
  EXPECT_EQ(collect(*reader, &Reader::for_each_frame_value).at(0).value, 1500u);
  expect_regions(*reader);
  // A query in SQL finds what the version lacks, too.
  Result<Statement> rows = reader->query("SELECT shader.* FROM shader");
  ASSERT_TRUE(rows.ok()) << rows.error().message;
  EXPECT_TRUE(rows->step());
}

TEST_F(CaptureFile, the_golden_file_of_version_6_is_read) {
  const std::string path = STORE_TEST_GOLDEN "/capture-v6.sqlite";
  expect_golden(path);
  EXPECT_TRUE(Reader::open(path)->shaders()->at(0).constants.empty());
}

TEST_F(CaptureFile, the_golden_file_of_version_7_is_read) {
  const std::string path = STORE_TEST_GOLDEN "/capture-v7.sqlite";
  expect_golden(path);
  EXPECT_THAT(
      Reader::open(path)->shaders()->at(0).constants,
      ElementsAre(SpecializationConstant{1, 4, 8}, SpecializationConstant{300, 8, ~uint64_t{0}}));
}

TEST_F(CaptureFile, the_golden_file_of_version_8_is_read) {
  const std::string path = STORE_TEST_GOLDEN "/capture-v8.sqlite";
  expect_golden(path);
  EXPECT_EQ(Reader::open(path)->capture()->frame_per, "label");
  EXPECT_EQ(Reader::open(path)->capture()->frame_label, "^token");
  EXPECT_EQ(Reader::open(STORE_TEST_GOLDEN "/capture-v7.sqlite")->capture()->frame_per, "");
}

TEST_F(CaptureFile, the_golden_file_of_version_9_is_read) {
  const std::string path = STORE_TEST_GOLDEN "/capture-v9.sqlite";
  expect_golden(path);
  EXPECT_THAT(Reader::open(path)->capture()->replacements, ElementsAre("blur.*=less.frag"));
  EXPECT_EQ(Reader::open(path)->replacements()->at(0).file, "less.frag");
  EXPECT_TRUE(Reader::open(STORE_TEST_GOLDEN "/capture-v8.sqlite")->replacements()->empty());
}

TEST_F(CaptureFile, the_golden_file_of_version_10_is_read) {
  const std::string path = STORE_TEST_GOLDEN "/capture-v10.sqlite";
  expect_golden(path);
  const auto statistics = *Reader::open(path)->pipeline_statistics();
  ASSERT_THAT(statistics, SizeIs(2));
  EXPECT_EQ(statistics[0].name, "Registers");
  EXPECT_EQ(statistics[0].value, 40);
  EXPECT_EQ(statistics[0].executable_name, "fragment shader");
  EXPECT_EQ(statistics[1].format, StatisticFormat::Float);
  EXPECT_EQ(statistics[1].value, 0.75);
  EXPECT_THAT(*Reader::open(STORE_TEST_GOLDEN "/capture-v9.sqlite")->pipeline_statistics(),
              IsEmpty());
}

TEST_F(CaptureFile, the_golden_file_of_version_11_is_read) {
  const std::string path = STORE_TEST_GOLDEN "/capture-v11.sqlite";
  expect_golden(path);
  const auto draws_of = [](const std::string& file) {
    return collect(*Reader::open(file), &Reader::for_each_batch).at(0);
  };
  EXPECT_EQ(draws_of(path).topology, 4);
  EXPECT_TRUE(draws_of(path).primitive_restart);
  EXPECT_EQ(draws_of(path).patch_control_points, 3u);
  EXPECT_EQ(draws_of(STORE_TEST_GOLDEN "/capture-v10.sqlite").topology, std::nullopt);
}

TEST_F(CaptureFile, the_golden_file_of_version_12_is_read) {
  const auto draws_of = [](const std::string& version) {
    const std::string path = STORE_TEST_GOLDEN "/capture-v" + version + ".sqlite";
    expect_golden(path);
    const Result<Reader> reader = Reader::open(path);
    std::vector<RegionDrawRow> draws;
    for (const PassRegionsRow& row : collect(*reader, &Reader::for_each_pass_regions)) {
      const Status read = reader->for_each_region_draw(row, [&](const RegionDrawRow& draw) {
        draws.push_back(draw);
        return true;
      });
      EXPECT_TRUE(read.ok());
    }
    return draws;
  };
  const auto draws = draws_of("12");
  ASSERT_THAT(draws, SizeIs(1));
  EXPECT_EQ(draws[0].position, 1);
  EXPECT_THAT(draws[0].places, ElementsAre(0u, 2u));
  EXPECT_THAT(draws[0].values, ElementsAre(4u, 9u));
  EXPECT_THAT(draws_of("11"), IsEmpty());
}

TEST_F(CaptureFile, regions_and_pictures_are_read_as_they_were_written) {
  write_test_capture(path_);
  const Result<Reader> reader = Reader::open(path_);
  ASSERT_TRUE(reader.ok()) << reader.error().message;
  expect_regions(*reader);
}

// A schema that differs is another version: raise kCaptureVersion and add a golden file, which
// TALLY_UPDATE_GOLDEN=1 store_test writes. Views hold nothing, and the reader brings its own.
TEST_F(CaptureFile, the_schema_of_version_16_is_that_of_the_golden_file) {
  const std::string golden_file = STORE_TEST_GOLDEN "/capture-v16.sqlite";
  EXPECT_EQ(kCaptureVersion, 16);
  write_test_capture(path_);
  if (std::getenv("TALLY_UPDATE_GOLDEN") != nullptr) {
    std::filesystem::copy_file(path_, golden_file,
                               std::filesystem::copy_options::overwrite_existing);
  }
  const auto schema = [](const std::string& path) {
    const Result<Reader> reader = Reader::open(path);
    std::vector<std::string> statements;
    if (!reader) return statements;
    Result<Statement> rows =
        reader->query("SELECT sql FROM sqlite_schema WHERE type <> 'view' ORDER BY type, name");
    while (rows && rows->step()) statements.push_back(rows->text(0));
    return statements;
  };
  const auto golden = schema(golden_file);
  EXPECT_FALSE(golden.empty());
  EXPECT_EQ(schema(path_), golden);
}

}  // namespace
}  // namespace tally::store
