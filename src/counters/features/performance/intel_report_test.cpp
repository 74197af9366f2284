#include "counters/features/performance/counters.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string_view>

#include <tally/intel_report.h>

#include "catalogue/catalogue.h"

namespace tally::counters {
namespace {

const IntelReport kReport = {
    0x1122334455667788, 0x99aabbcc, 3, {{1024, 5000}, {1027, 7}, {256, ~uint64_t{0}}}};

// A report as the layout in the header says, made without the writer.
std::vector<unsigned char> report_by_hand() {
  return {'T',  'L',  'L',  'Y',  1,    0,    40,   0,     // magic, version, header
          56,   0,    0,    0,    1,    0,    0,    0,     // bytes, values
          9,    0,    0,    0,    3,    0,    0,    0,     // values of the query, flags
          0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11,  // marker
          0xcc, 0xbb, 0xaa, 0x99, 2,    0,    0,    0,     // stream marker, uncounted
          0,    4,    0,    0,    0,    0,    0,    0,     // counter 1024
          0x88, 0x13, 0,    0,    0,    0,    0,    0};    // 5000
}

TallyIntelReportResult read(const std::vector<unsigned char>& bytes, TallyIntelReport& report) {
  return tally_intel_report_read(bytes.data(), bytes.size(), &report);
}

TEST(IntelReport, bytes_are_read_as_the_header_describes_them) {
  TallyIntelReport report;
  const auto bytes = report_by_hand();
  ASSERT_EQ(read(bytes, report), TALLY_INTEL_REPORT_OK);
  EXPECT_EQ(report.marker, 0x1122334455667788u);
  EXPECT_EQ(report.stream_marker, 0x99aabbccu);
  EXPECT_EQ(report.flags, TALLY_INTEL_REPORT_HAS_MARKER | TALLY_INTEL_REPORT_HAS_STREAM_MARKER);
  EXPECT_EQ(report.uncounted_commands, 2u);
  EXPECT_EQ(report.value_count, 1u);
  EXPECT_EQ(report.values_of_query, 9u);
  EXPECT_EQ(report.bytes, 56u);
  uint64_t time = 0;
  EXPECT_TRUE(tally_intel_report_value(&report, TALLY_INTEL_GPU_TIME, &time));
  EXPECT_EQ(time, 5000u);
  EXPECT_FALSE(tally_intel_report_value(&report, TALLY_INTEL_DRAWS, &time));
  uint32_t counter = 0;
  EXPECT_FALSE(tally_intel_report_at(&report, 1, &counter, &time));
}

TEST(IntelReport, a_report_of_a_later_minor_layout_with_a_longer_header_is_read) {
  auto bytes = report_by_hand();
  bytes.insert(bytes.begin() + 40, 8, 0xee);
  bytes[6] = 48;
  bytes[8] = 64;
  TallyIntelReport report;
  ASSERT_EQ(read(bytes, report), TALLY_INTEL_REPORT_OK);
  uint64_t time = 0;
  EXPECT_TRUE(tally_intel_report_value(&report, TALLY_INTEL_GPU_TIME, &time));
  EXPECT_EQ(time, 5000u);
}

TEST(IntelReport, every_shortened_report_is_rejected) {
  const auto whole = report_by_hand();
  for (size_t size = 0; size < whole.size(); ++size) {
    // A copy of its own, so that a sanitizer sees a read behind the end.
    const std::vector<unsigned char> bytes(whole.begin(), whole.begin() + static_cast<long>(size));
    TallyIntelReport report;
    EXPECT_EQ(read(bytes, report), TALLY_INTEL_REPORT_TOO_SHORT) << size;
  }
}

TEST(IntelReport, what_is_no_report_is_rejected_and_says_why) {
  const auto with = [](size_t at, unsigned char byte) {
    auto bytes = report_by_hand();
    bytes[at] = byte;
    TallyIntelReport report;
    return read(bytes, report);
  };
  EXPECT_EQ(with(0, 'X'), TALLY_INTEL_REPORT_NOT_A_REPORT);
  EXPECT_EQ(with(4, 2), TALLY_INTEL_REPORT_UNKNOWN_VERSION);
  EXPECT_EQ(with(6, 39), TALLY_INTEL_REPORT_DAMAGED) << "header too short";
  EXPECT_EQ(with(7, 0xff), TALLY_INTEL_REPORT_DAMAGED) << "header longer than the report";
  EXPECT_EQ(with(8, 55), TALLY_INTEL_REPORT_DAMAGED) << "a part of a value";
  EXPECT_EQ(with(12, 2), TALLY_INTEL_REPORT_DAMAGED) << "more values than bytes";
  EXPECT_EQ(with(15, 0xff), TALLY_INTEL_REPORT_DAMAGED) << "values whose bytes overflow";
  EXPECT_EQ(with(16, 0), TALLY_INTEL_REPORT_DAMAGED) << "more values than the query has";
}

TEST(IntelReport, whatever_single_byte_is_wrong_nothing_behind_the_end_is_read) {
  for (size_t at = 0; at < report_by_hand().size(); ++at) {
    for (int byte = 0; byte < 256; ++byte) {
      auto bytes = report_by_hand();
      bytes[at] = static_cast<unsigned char>(byte);
      TallyIntelReport report;
      if (read(bytes, report) != TALLY_INTEL_REPORT_OK) continue;
      EXPECT_LE(report.values + size_t{report.value_count} * TALLY_INTEL_REPORT_VALUE_BYTES,
                bytes.data() + bytes.size());
    }
  }
}

TEST(IntelReport, what_is_written_is_read_back) {
  std::vector<unsigned char> bytes(TALLY_INTEL_REPORT_BYTES);
  ASSERT_TRUE(write_intel_report(kReport, std::as_writable_bytes(std::span(bytes))));
  TallyIntelReport report;
  ASSERT_EQ(read(bytes, report), TALLY_INTEL_REPORT_OK);
  EXPECT_EQ(report.marker, kReport.marker);
  EXPECT_EQ(report.stream_marker, kReport.stream_marker);
  EXPECT_EQ(report.uncounted_commands, 3u);
  ASSERT_EQ(report.value_count, kReport.values.size());
  EXPECT_EQ(report.values_of_query, report.value_count);
  for (uint32_t i = 0; i < report.value_count; ++i) {
    IntelValue value;
    EXPECT_TRUE(tally_intel_report_at(&report, i, &value.counter, &value.value));
    EXPECT_EQ(value.counter, kReport.values[i].counter);
    EXPECT_EQ(value.value, kReport.values[i].value);
  }
}

TEST(IntelReport, a_marker_of_0_is_told_from_none) {
  std::vector<unsigned char> bytes(TALLY_INTEL_REPORT_BYTES);
  TallyIntelReport report;
  ASSERT_TRUE(
      write_intel_report({0, std::nullopt, 0, {}}, std::as_writable_bytes(std::span(bytes))));
  ASSERT_EQ(read(bytes, report), TALLY_INTEL_REPORT_OK);
  EXPECT_EQ(report.flags, TALLY_INTEL_REPORT_HAS_MARKER);
  ASSERT_TRUE(write_intel_report({}, std::as_writable_bytes(std::span(bytes))));
  ASSERT_EQ(read(bytes, report), TALLY_INTEL_REPORT_OK);
  EXPECT_EQ(report.flags, 0u);
  EXPECT_EQ(report.value_count, 0u);
}

TEST(IntelReport, a_small_buffer_gets_the_values_that_fit_and_no_byte_more) {
  std::vector<unsigned char> bytes(40 + 2 * 16 + 15, 0xab);
  ASSERT_TRUE(write_intel_report(kReport, std::as_writable_bytes(std::span(bytes))));
  TallyIntelReport report;
  ASSERT_EQ(read(bytes, report), TALLY_INTEL_REPORT_OK);
  EXPECT_EQ(report.value_count, 2u);
  EXPECT_EQ(report.values_of_query, 3u);
  EXPECT_TRUE(std::all_of(bytes.begin() + 72, bytes.end(), [](auto byte) { return byte == 0xab; }));
  std::vector<std::byte> tiny(39, std::byte{1});
  EXPECT_FALSE(write_intel_report(kReport, tiny));
  EXPECT_EQ(std::ranges::count(tiny, std::byte{1}), 39);
}

TEST(IntelReport, constants_of_the_header_are_the_catalogues_numbers) {
  const std::map<uint32_t, std::string_view> ids = {
      {TALLY_INTEL_INSTRUCTIONS, "instructions"},
      {TALLY_INTEL_GPU_TIME, "gpu_time"},
      {TALLY_INTEL_DRAWS, "draws"},
      {TALLY_INTEL_DISPATCHES, "dispatches"},
      {TALLY_INTEL_SHADER_INVOCATIONS, "shader_invocations"},
      {TALLY_INTEL_VERTEX_SHADER_INVOCATIONS, "vertex_shader_invocations"},
      {TALLY_INTEL_FRAGMENT_SHADER_INVOCATIONS, "fragment_shader_invocations"},
      {TALLY_INTEL_COMPUTE_SHADER_INVOCATIONS, "compute_shader_invocations"}};
  for (const auto& [number, id] : ids) {
    ASSERT_NE(catalogue::find(id), nullptr) << id;
    EXPECT_EQ(static_cast<uint32_t>(catalogue::find(id)->number), number) << id;
  }
}

TEST(IntelReport, all_whole_numbers_are_in_it_and_fit_the_promised_bytes) {
  PhysicalDevice gpu;
  gpu.subgroup_stages = VK_SHADER_STAGE_ALL;
  gpu.geometry_shader = gpu.tessellation_shader = true;
  gpu.queue_families = {{VK_QUEUE_TRANSFER_BIT, 1, 0, {}},
                        {VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT, 1, 64, {}}};
  const auto counters = intel_counters(gpu, {});
  EXPECT_GE(counters.size(), 70u);
  EXPECT_LE(TALLY_INTEL_REPORT_HEADER_BYTES +
                catalogue::counters().size() * TALLY_INTEL_REPORT_VALUE_BYTES,
            static_cast<size_t>(TALLY_INTEL_REPORT_BYTES));
  for (const PerformanceCounter& one : counters) EXPECT_TRUE(one.divisor.empty());
  EXPECT_EQ(counters.front().counter->id, "gpu_time");
  EXPECT_EQ(counters.back().counter->id, "other_instructions");
}

}  // namespace
}  // namespace tally::counters
