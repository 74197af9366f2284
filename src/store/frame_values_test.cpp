// The values of a frame's counters in a capture file.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "store/read/reader.h"
#include "store/testing/test_capture.h"
#include "store/write/writer.h"

namespace tally::store {
namespace {

class ValuesOfAFrame : public testing::Test {
 protected:
  TestDirectory directory_;
  const std::string path_ = directory_.file("capture.tally");
};

TEST_F(ValuesOfAFrame, are_those_that_the_frame_measured) {
  Result<Writer> writer = Writer::create(path_, test_capture_row());
  ASSERT_TRUE(writer.ok()) << writer.error().message;
  const std::vector<store::FrameValue> values = {{1, 3, 0},  {1, 4, 17}, {1, 6, UINT64_MAX},
                                                 {1, 40, 1}, {2, 3, 8},  {2, 90, 0}};
  const std::span all(values);
  writer->add_frame_values(all.first(4));
  writer->add_frame_values(all.subspan(4));
  ASSERT_TRUE(writer->finish(1, 0).ok());
  const Result<Reader> reader = Reader::open(path_);
  ASSERT_TRUE(reader.ok()) << reader.error().message;
  std::vector<store::FrameValue> read;
  const Status visited = reader->for_each_frame_value([&](const store::FrameValue& value) {
    read.push_back(value);
    return true;
  });
  ASSERT_TRUE(visited.ok()) << visited.error().message;
  Result<Statement> rows =
      reader->query("SELECT frame, counter, value FROM frame_value ORDER BY frame, counter");
  ASSERT_TRUE(rows.ok()) << rows.error().message;
  ASSERT_EQ(read.size(), values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(read[i].frame, values[i].frame);
    EXPECT_EQ(read[i].counter, values[i].counter);
    EXPECT_EQ(read[i].value, std::min<uint64_t>(values[i].value, INT64_MAX));
    ASSERT_TRUE(rows->step());
    EXPECT_EQ(rows->integer(0), read[i].frame);
    EXPECT_EQ(rows->integer(1), read[i].counter);
    EXPECT_EQ(static_cast<uint64_t>(rows->integer(2)), read[i].value);
  }
  EXPECT_FALSE(rows->step());
}

TEST_F(ValuesOfAFrame, that_are_damaged_are_an_error) {
  for (const char* damaged : {"", "7", "[1", "[1,]", "[]", "[1,x]", "{}"}) {
    {
      Result<Writer> writer = Writer::create(path_, test_capture_row());
      ASSERT_TRUE(writer.ok());
      writer->add_frame_values({{{1, 3, 5}}});
      ASSERT_TRUE(writer->finish(1, 0).ok());
    }
    Result<Database> database = Database::open(path_, Database::Mode::Create);
    ASSERT_TRUE(
        database->execute(fmt::format("UPDATE frame_values SET value = '{}'", damaged).c_str())
            .ok());
    ASSERT_TRUE(database->close().ok());
    const Result<Reader> reader = Reader::open(path_);
    ASSERT_TRUE(reader.ok());
    const Status status =
        reader->for_each_frame_value([](const store::FrameValue&) { return true; });
    ASSERT_FALSE(status.ok()) << damaged;
    EXPECT_THAT(status.error().message, testing::HasSubstr("a column of its table 'frame_values'"));
  }
}

}  // namespace
}  // namespace tally::store
