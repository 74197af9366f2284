// Files that are no capture, or a damaged one, are refused in one line or read as far as they are
// whole.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <ios>
#include <string>

#include "store/read/reader.h"
#include "store/testing/capture_file.h"
#include "store/write/writer.h"

namespace tally::store {
namespace {

using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;

std::string why_refused(const std::string& path) {
  const Result<Reader> reader = Reader::open(path);
  return reader ? "opened" : reader.error().message;
}

void overwrite(const std::string& path, std::streamoff offset, const std::string& bytes) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(offset);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

void change(const std::string& path, const char* sql) {
  Database database = require(Database::open(path, Database::Mode::Create));
  require(database.execute(sql));
  require(database.close());
}

TEST_F(CaptureFile, a_column_of_the_wrong_size_is_an_error) {
  const TestCapture ids = write_test_capture(path_);
  change(path_,
         "UPDATE batch_count SET executions = '[1,2,3]';"
         "UPDATE command_batch SET labels = 'x' WHERE size = 1");
  const Result<Reader> reader = Reader::open(path_);
  ASSERT_TRUE(reader.ok());
  BatchValues values;
  const Status counts = reader->batch_values()->read(ids.draws, 2, values);
  ASSERT_FALSE(counts.ok());
  EXPECT_THAT(counts.error().message, HasSubstr("a column of its table 'batch_count'"));
  const Status batches = reader->for_each_batch([](const CommandBatchRow&) { return true; });
  ASSERT_FALSE(batches.ok());
  EXPECT_THAT(batches.error().message, HasSubstr("a column of its table 'command_batch'"));
}

TEST_F(CaptureFile, malformed_constants_are_left_out) {
  write_test_capture(path_);
  change(path_,
         "UPDATE shader SET constants = "
         "'{\"1\":\"0x0005\",\"2\":\"5\",\"3\":\"0x123\",\"x\":\"0x01\","
         "\"4\":7,\"5\":\"0x\",\"6\":\"0x00112233445566778899\"}'");
  EXPECT_THAT(Reader::open(path_)->shaders()->at(0).constants,
              ElementsAre(SpecializationConstant{1, 2, 5}));
}

TEST_F(CaptureFile, region_values_of_the_wrong_size_are_left_out) {
  Result<Writer> writer = Writer::create(path_, test_capture_row());
  ASSERT_TRUE(writer.ok());
  const TestCapture ids = write_test_rows(*writer);
  writer->add(
      RegionValuesRow{.regions = ids.regions, .counter = ids.invocations, .by_region = {1, 2, 3}});
  ASSERT_TRUE(writer->finish(1, 0).ok());
  const Result<Reader> reader = Reader::open(path_);
  ASSERT_TRUE(reader.ok());
  const PassRegionsRow regions = collect(*reader, &Reader::for_each_pass_regions).at(0);
  const Status status = reader->for_each_region_values(regions, [](const RegionValuesRow&) {
    ADD_FAILURE();
    return true;
  });
  EXPECT_TRUE(status.ok());
}

TEST_F(CaptureFile, regions_of_a_render_area_beyond_all_offsets_are_left_out) {
  write_test_capture(path_);
  change(path_, "UPDATE pass_regions SET x = 9223372036854775807");
  const Result<Reader> reader = Reader::open(path_);
  ASSERT_TRUE(reader.ok());
  EXPECT_TRUE(collect(*reader, &Reader::for_each_pass_regions).empty());
}

TEST_F(CaptureFile, missing_and_foreign_files_are_refused) {
  EXPECT_THAT(why_refused(path_), EndsWith("No such file or directory"));
  // Windows does not open a folder.
  EXPECT_THAT(why_refused(directory_.path()),
              AnyOf(EndsWith("not a regular file"), EndsWith("Permission denied")));
  std::ofstream(path_) << "#!/bin/sh\n";
  EXPECT_THAT(why_refused(path_), EndsWith("not a Tally capture"));
  std::ofstream(path_, std::ios::trunc).close();
  EXPECT_THAT(why_refused(path_), EndsWith("not a Tally capture"));
}

TEST_F(CaptureFile, another_program_s_database_is_refused) {
  write_test_capture(path_);
  overwrite(path_, 68, std::string("\0\0\0\1", 4));
  EXPECT_THAT(why_refused(path_), EndsWith("an SQLite database, but not a Tally capture"));
}

TEST_F(CaptureFile, other_versions_are_refused) {
  write_test_capture(path_);
  overwrite(path_, 60, std::string("\0\0\0\x63", 4));
  EXPECT_THAT(why_refused(path_), HasSubstr("has format 99; this tally reads formats up to"));
  overwrite(path_, 60, std::string("\0\0\0\x3", 4));
  EXPECT_THAT(why_refused(path_), HasSubstr("has format 3; this tally reads formats from"));
}

TEST_F(CaptureFile, a_truncated_capture_is_refused_at_every_length) {
  write_test_capture(path_);
  const auto size = std::filesystem::file_size(path_);
  for (const double part : {0.9, 0.5, 0.1, 0.0005, 0.0001}) {
    std::filesystem::resize_file(path_, static_cast<uintmax_t>(static_cast<double>(size) * part));
    EXPECT_THAT(why_refused(path_),
                ::testing::AnyOf(HasSubstr("truncated"), HasSubstr("not a Tally")));
  }
}

TEST_F(CaptureFile, a_capture_without_a_table_is_refused) {
  write_test_capture(path_);
  change(path_, "DROP TABLE batch_other");
  EXPECT_THAT(why_refused(path_), EndsWith("capture is damaged: it has no table 'batch_other'"));
}

TEST_F(CaptureFile, a_capture_whose_rows_cannot_be_looked_up_is_refused) {
  write_test_capture(path_);
  change(path_,
         "CREATE TABLE copy AS SELECT * FROM region_values;"
         "DROP TABLE region_values;"
         "CREATE TABLE region_values AS SELECT * FROM copy");
  EXPECT_THAT(why_refused(path_),
              EndsWith("capture is damaged: its table 'region_values' has no key"));
}

TEST_F(CaptureFile, damaged_pages_give_an_error_and_no_crash) {
  write_test_capture(path_);
  const auto size = std::filesystem::file_size(path_);
  overwrite(path_, 4096, std::string(size - 4096, '\xa5'));
  const Result<Reader> reader = Reader::open(path_);
  if (reader) {
    const auto devices = reader->devices();
    ASSERT_FALSE(devices.ok());
    EXPECT_THAT(devices.error().message, HasSubstr("damaged"));
  } else {
    EXPECT_THAT(reader.error().message, HasSubstr("damaged"));
  }
}

TEST_F(CaptureFile, a_foreign_file_is_never_overwritten) {
  std::ofstream(path_) << "somebody's thesis, which is longer than the header of a database is, by "
                          "some way, as they are";
  const auto size = std::filesystem::file_size(path_);
  const Result<Writer> writer = Writer::create(path_, test_capture_row());
  ASSERT_FALSE(writer.ok());
  EXPECT_THAT(writer.error().message, HasSubstr("not a Tally capture"));
  EXPECT_EQ(std::filesystem::file_size(path_), size);
}

TEST_F(CaptureFile, a_place_that_cannot_be_written_is_an_error) {
  const Result<Writer> writer =
      Writer::create(directory_.file("no/such/directory.tally"), test_capture_row());
  EXPECT_FALSE(writer.ok());
}

}  // namespace
}  // namespace tally::store
