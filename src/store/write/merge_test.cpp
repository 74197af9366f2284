#include "store/write/merge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/read/reader.h"
#include "store/testing/test_capture.h"

namespace tally::store {
namespace {

using testing::HasSubstr;

class Merge : public testing::Test {
 protected:
  std::string capture(const std::string& name) {
    std::string path = folder_.file(name);
    write_test_capture(path);
    return path;
  }

  Status merge(const std::vector<std::string>& paths) {
    std::vector<CaptureRow> rows;
    for (const std::string& path : paths) rows.push_back(*Reader::open(path)->capture());
    auto merged = TALLY_TRY(CaptureMerge::create(merged_, rows));
    for (const std::string& path : paths) {
      TALLY_TRY(merged.add(*Reader::open(path)));
    }
    return merged.finish();
  }

  // The numbers that the query gives on the file.
  static std::vector<int64_t> numbers(const std::string& path, const std::string& sql) {
    const auto reader = Reader::open(path);
    if (!reader) return {};
    auto rows = reader->query(sql);
    std::vector<int64_t> numbers;
    while (rows.ok() && rows->step()) numbers.push_back(rows->integer(0));
    return numbers;
  }

  void change(const std::string& path, const char* sql) {
    auto database = Database::open(path, Database::Mode::Create);
    ASSERT_TRUE(database->execute(sql).ok());
  }

  TestDirectory folder_;
  const std::string merged_ = folder_.file("merged.tally");
};

TEST_F(Merge, has_the_values_of_all_captures_and_their_definitions_once) {
  const std::string a = capture("a"), b = capture("b"), c = capture("c");
  ASSERT_TRUE(merge({a, b, c}).ok());
  for (const char* table :
       {"process", "queue", "object", "frame", "frame_value", "submission", "execution", "pass",
        "pass_regions", "region_values", "region_draw", "pass_picture", "command_batch",
        "batch_count", "batch_other", "message"}) {
    const std::string count = std::string("SELECT count(*) FROM ") + table;
    EXPECT_EQ(numbers(merged_, count)[0], 3 * numbers(a, count)[0]) << table;
    EXPECT_GT(numbers(a, count)[0], 0) << table;
  }
  for (const char* table :
       {"capture", "device", "metric", "device_metric", "module", "shader", "pipeline",
        "pipeline_shader", "label", "function", "frame_counter", "region_counter", "block_cost"}) {
    const std::string count = std::string("SELECT count(*) FROM ") + table;
    EXPECT_EQ(numbers(merged_, count), numbers(a, count)) << table;
  }
  const std::string sum = "SELECT sum(value) FROM block_metric";
  EXPECT_EQ(numbers(merged_, sum)[0], 3 * numbers(a, sum)[0]);
}

TEST_F(Merge, batches_of_several_commands_keep_the_values_that_they_share) {
  const std::string a = capture("a"), b = capture("b");
  for (const std::string& path : {a, b}) {
    for (const char* table : {"batch_count", "batch_other"}) {
      change(path, ("UPDATE " + std::string(table) + " SET batch = -batch").c_str());
    }
    change(path, "UPDATE command_batch SET value_set = -id");
  }
  ASSERT_GT(numbers(a, "SELECT count(*) FROM batch_count WHERE json_type(executions) = 'array'")[0],
            0);
  ASSERT_TRUE(merge({a, b}).ok());
  const std::string sum = "SELECT sum(value) FROM block_metric";
  EXPECT_GT(numbers(a, sum)[0], 0);
  EXPECT_EQ(numbers(merged_, sum)[0], 2 * numbers(a, sum)[0]);
}

TEST_F(Merge, samples_of_times_of_two_captures_have_different_numbers) {
  const std::string a = capture("a"), b = capture("b");
  for (const std::string& path : {a, b}) {
    change(path, "UPDATE command_batch SET time_sample = 7");
    change(path, "UPDATE pass SET time_sample = 8");
  }
  ASSERT_TRUE(merge({a, b}).ok());
  EXPECT_EQ(numbers(merged_, "SELECT count(*) FROM pass WHERE time_sample IS NULL")[0], 0);
  EXPECT_EQ(numbers(merged_,
                    "SELECT count(DISTINCT time_sample) FROM (SELECT time_sample FROM pass "
                    "UNION ALL SELECT time_sample FROM command_batch)")[0],
            4);
  EXPECT_EQ(numbers(merged_, "SELECT count(DISTINCT time_sample) FROM command_batch")[0], 2);
  EXPECT_EQ(numbers(merged_, "SELECT count(*) FROM command_batch WHERE time_sample IS NULL")[0], 0);
}

TEST_F(Merge, frames_and_recordings_follow_each_other) {
  const std::string a = capture("a"), b = capture("b");
  ASSERT_TRUE(merge({a, b}).ok());
  EXPECT_EQ(numbers(merged_, "SELECT number FROM frame ORDER BY id"), (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(numbers(merged_, "SELECT count(DISTINCT recording) FROM execution")[0], 2);
  EXPECT_EQ(numbers(merged_, "SELECT count(DISTINCT number) FROM submission")[0], 2);
}

TEST_F(Merge, labels_of_commands_are_those_of_the_merged_file) {
  const std::string a = capture("a"), b = capture("b");
  change(b, "UPDATE label SET name = 'Other' WHERE parent IS NOT NULL");
  ASSERT_TRUE(merge({a, b}).ok());
  EXPECT_EQ(numbers(merged_,
                    "SELECT count(*) FROM command JOIN label ON label.id = command.label "
                    "WHERE label.name IN ('Shadow', 'Other') GROUP BY label.name"),
            (std::vector<int64_t>{1, 1}));
}

TEST_F(Merge, times_are_on_one_clock) {
  const std::string a = capture("a"), b = capture("b");
  change(b, "UPDATE capture SET start_unix_ns = start_unix_ns + 1000000");
  ASSERT_TRUE(merge({a, b}).ok());
  EXPECT_EQ(numbers(merged_, "SELECT begin_ns FROM frame ORDER BY number"),
            (std::vector<int64_t>{1500, 1001500}));
  EXPECT_EQ(numbers(merged_, "SELECT start_monotonic_ns FROM capture")[0], 0);
}

TEST_F(Merge, devices_that_differ_stay_apart_with_their_shaders) {
  const std::string a = capture("a"), b = capture("b");
  change(b, "UPDATE device SET driver_info = 'newer'");
  ASSERT_TRUE(merge({a, b}).ok());
  EXPECT_EQ(numbers(merged_, "SELECT count(*) FROM device")[0], 2);
  EXPECT_EQ(numbers(merged_, "SELECT count(*) FROM shader")[0], 2);
  EXPECT_EQ(numbers(merged_, "SELECT count(*) FROM module")[0], 1);
}

TEST_F(Merge, source_texts_are_kept) {
  const std::string a = capture("a"), b = capture("b");
  ASSERT_TRUE(add_source_texts(a, {{"x.frag", "one"}}).ok());
  ASSERT_TRUE(add_source_texts(b, {{"x.frag", "two"}, {"y.frag", "three"}}).ok());
  ASSERT_TRUE(merge({a, b}).ok());
  EXPECT_EQ(source_texts(*Reader::open(merged_))->size(), 2u);
}

TEST_F(Merge, refuses_captures_that_are_incomplete_or_of_another_version) {
  const std::string a = capture("a"), b = capture("b");
  change(b, "UPDATE capture SET tool_version = '9'");
  EXPECT_THAT(merge({a, b}).error().message, HasSubstr("written by tally 9"));
  const std::string c = capture("c");
  change(c, "UPDATE capture SET end_monotonic_ns = NULL");
  EXPECT_THAT(merge({a, c}).error().message, HasSubstr("incomplete"));
}

TEST_F(Merge, refuses_a_capture_whose_rows_refer_to_none) {
  const std::string a = capture("a"), b = capture("b");
  change(b, "PRAGMA foreign_keys = OFF; UPDATE command_batch SET pipeline = 77");
  EXPECT_THAT(merge({a, b}).error().message, HasSubstr("refers to one that is not there"));
}

}  // namespace
}  // namespace tally::store
