#include "counters/features/instrumentation/object.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace tally::counters {
namespace {

const Program kPrograms[2] = {};

std::vector<InstrumentationRecord> records_of(const RecordRange& segment) {
  std::vector<RecordRun> runs;
  segment.collect(runs);
  std::vector<InstrumentationRecord> records;
  for (const RecordRun& run : runs) {
    for (uint32_t i = 0; i < run.count; ++i) records.push_back(run.at(i));
  }
  return records;
}

// Whatever is appended comes back.
void expect_kept(const std::vector<InstrumentationRecord>& records) {
  RecordRange segment;
  for (const InstrumentationRecord& record : records) segment.append(record);
  EXPECT_EQ(records_of(segment), records);
}

std::vector<InstrumentationRecord> regular() {
  std::vector<InstrumentationRecord> records;
  for (uint32_t i = 0; i < 100; ++i) records.push_back({7 + i, 3, 40 + 2 * i, 0, &kPrograms[0]});
  return records;
}

TEST(RecordRange, an_empty_one_holds_nothing) { expect_kept({}); }

TEST(RecordRange, a_run_is_kept) { expect_kept(regular()); }

TEST(RecordRange, records_at_one_place_are_kept) {
  std::vector<InstrumentationRecord> records;
  for (uint32_t i = 0; i < 5; ++i) records.push_back({i, 0, 16, 0, &kPrograms[0]});
  expect_kept(records);
}

TEST(RecordRange, a_run_breaks_where_anything_changes) {
  const std::vector<void (*)(InstrumentationRecord&)> changes{
      [](InstrumentationRecord& record) { record.result_index += 1; },
      [](InstrumentationRecord& record) { record.page = 4; },
      [](InstrumentationRecord& record) { record.offset += 1; },
      [](InstrumentationRecord& record) { record.offset = 0; },
      [](InstrumentationRecord& record) { record.shards_log2 = 2; },
      [](InstrumentationRecord& record) { record.program = &kPrograms[1]; }};
  for (const auto& change : changes) {
    for (const size_t at : {size_t{1}, size_t{2}, size_t{50}}) {
      // One record, and all from there on.
      std::vector<InstrumentationRecord> one = regular();
      change(one[at]);
      expect_kept(one);
      std::vector<InstrumentationRecord> rest = regular();
      for (size_t i = at; i < rest.size(); ++i) change(rest[i]);
      expect_kept(rest);
    }
  }
}

TEST(RecordRange, records_without_any_order_are_kept) {
  std::vector<InstrumentationRecord> records;
  for (uint32_t i = 0; i < 1000; ++i) {
    const uint32_t noise = i * 2654435761u;
    records.push_back({2 * i, noise >> 30, noise >> 8 & 3, noise & 1, &kPrograms[noise >> 7 & 1]});
  }
  expect_kept(records);
}

// Records that are appended at the same time may be missing.
TEST(RecordRange, whoever_reads_meanwhile_sees_what_was_appended_before) {
  std::vector<InstrumentationRecord> all;
  for (uint32_t i = 0; i < 20000; ++i) {
    const uint32_t run = i / 100;
    all.push_back({i, run, (i % 100) * (1 + run % 3), 0, &kPrograms[i % 7 == 0 && i < 5000]});
  }
  RecordRange segment;
  std::atomic<size_t> appended = 0;
  const std::jthread writer([&] {
    for (const InstrumentationRecord& record : all) {
      segment.append(record);
      appended.fetch_add(1, std::memory_order_release);
    }
  });
  for (size_t before = 0; before < all.size();) {
    before = appended.load(std::memory_order_acquire);
    const std::vector<InstrumentationRecord> records = records_of(segment);
    ASSERT_GE(records.size(), before);
    uint32_t expected = 0;
    for (const InstrumentationRecord& record : records) {
      ASSERT_GE(record.result_index, expected);
      if (expected < before) {
        ASSERT_EQ(record.result_index, expected);
      }
      ASSERT_EQ(record, all[record.result_index]);
      expected = record.result_index + 1;
    }
  }
}

}  // namespace
}  // namespace tally::counters
