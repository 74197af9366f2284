/* Reads the results of VK_INTEL_performance_query that VK_LAYER_TALLY_counters returns. Vulkan
 * treats the results of such a query as opaque; this header defines their contents. C and C++,
 * header only. All functions may be called from any thread.
 *
 * The layout of a report, in the machine's byte order, without padding:
 *
 *     0  uint32  magic, TALLY_INTEL_REPORT_MAGIC
 *     4  uint16  version, 1; incremented when an older reader would misread the report
 *     6  uint16  size of the header in bytes, 40 or more; new fields keep the version
 *     8  uint32  size of the whole report in bytes
 *    12  uint32  number of values in the report
 *    16  uint32  number of values of the query; larger than the above if the buffer was too small
 *    20  uint32  flags, TALLY_INTEL_REPORT_HAS_*
 *    24  uint64  the last marker that was set before the query ended, or 0
 *    32  uint32  the last stream marker, or 0
 *    36  uint32  commands that could not be counted
 *        after the header, for each value: uint32 counter number, uint32 0, uint64 value
 *
 * docs/reference/counters.md lists the counter numbers, which never change, and their units. A
 * buffer of TALLY_INTEL_REPORT_BYTES bytes is always large enough; a smaller buffer gets as many
 * values as fit.
 */
#ifndef TALLY_INTEL_REPORT_H
#define TALLY_INTEL_REPORT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TALLY_INTEL_REPORT_MAGIC UINT32_C(0x594c4c54) /* "TLLY" */
#define TALLY_INTEL_REPORT_VERSION 1
#define TALLY_INTEL_REPORT_HEADER_BYTES 40
#define TALLY_INTEL_REPORT_VALUE_BYTES 16
#define TALLY_INTEL_REPORT_BYTES 4096

/* Flags. */
#define TALLY_INTEL_REPORT_HAS_MARKER UINT32_C(1)
#define TALLY_INTEL_REPORT_HAS_STREAM_MARKER UINT32_C(2)

/* Some counters. GPU time is measured while shaders count, so it includes the cost of counting. */
#define TALLY_INTEL_INSTRUCTIONS UINT32_C(256)
#define TALLY_INTEL_GPU_TIME UINT32_C(1024)
#define TALLY_INTEL_DRAWS UINT32_C(1027)
#define TALLY_INTEL_DISPATCHES UINT32_C(1029)
#define TALLY_INTEL_SHADER_INVOCATIONS UINT32_C(1045)
#define TALLY_INTEL_VERTEX_SHADER_INVOCATIONS UINT32_C(1046)
#define TALLY_INTEL_FRAGMENT_SHADER_INVOCATIONS UINT32_C(1050)
#define TALLY_INTEL_COMPUTE_SHADER_INVOCATIONS UINT32_C(1051)

typedef enum TallyIntelReportResult {
  TALLY_INTEL_REPORT_OK = 0,
  TALLY_INTEL_REPORT_TOO_SHORT = 1,       /* fewer bytes than the report states */
  TALLY_INTEL_REPORT_NOT_A_REPORT = 2,    /* does not begin with the magic number */
  TALLY_INTEL_REPORT_UNKNOWN_VERSION = 3, /* written by a newer layer */
  TALLY_INTEL_REPORT_DAMAGED = 4          /* its sizes contradict each other */
} TallyIntelReportResult;

/* A parsed report. `values` points into the caller's data, which must outlive it. */
typedef struct TallyIntelReport {
  uint64_t marker;
  uint32_t stream_marker;
  uint32_t flags;
  uint32_t uncounted_commands;
  uint32_t value_count;
  uint32_t values_of_query; /* value_count, or more if the buffer was too small */
  uint32_t bytes;           /* size of the report; data after it is ignored */
  const unsigned char* values;
} TallyIntelReport;

static inline uint16_t tally_intel_report_u16(const unsigned char* at) {
  uint16_t value;
  memcpy(&value, at, sizeof value);
  return value;
}
static inline uint32_t tally_intel_report_u32(const unsigned char* at) {
  uint32_t value;
  memcpy(&value, at, sizeof value);
  return value;
}
static inline uint64_t tally_intel_report_u64(const unsigned char* at) {
  uint64_t value;
  memcpy(&value, at, sizeof value);
  return value;
}

/* Validates everything that the other functions rely on. Writes `report` only on success. */
static inline TallyIntelReportResult tally_intel_report_read(const void* data, size_t size,
                                                             TallyIntelReport* report) {
  const unsigned char* bytes = (const unsigned char*)data;
  uint32_t header, total, count;
  if (size < 8) return TALLY_INTEL_REPORT_TOO_SHORT;
  if (tally_intel_report_u32(bytes) != TALLY_INTEL_REPORT_MAGIC)
    return TALLY_INTEL_REPORT_NOT_A_REPORT;
  if (tally_intel_report_u16(bytes + 4) != TALLY_INTEL_REPORT_VERSION)
    return TALLY_INTEL_REPORT_UNKNOWN_VERSION;
  if (size < TALLY_INTEL_REPORT_HEADER_BYTES) return TALLY_INTEL_REPORT_TOO_SHORT;
  header = tally_intel_report_u16(bytes + 6);
  total = tally_intel_report_u32(bytes + 8);
  count = tally_intel_report_u32(bytes + 12);
  if (header < TALLY_INTEL_REPORT_HEADER_BYTES || total < header ||
      (total - header) % TALLY_INTEL_REPORT_VALUE_BYTES != 0 ||
      count != (total - header) / TALLY_INTEL_REPORT_VALUE_BYTES ||
      count > tally_intel_report_u32(bytes + 16)) {
    return TALLY_INTEL_REPORT_DAMAGED;
  }
  if (size < total) return TALLY_INTEL_REPORT_TOO_SHORT;
  report->values_of_query = tally_intel_report_u32(bytes + 16);
  report->flags = tally_intel_report_u32(bytes + 20);
  report->marker = tally_intel_report_u64(bytes + 24);
  report->stream_marker = tally_intel_report_u32(bytes + 32);
  report->uncounted_commands = tally_intel_report_u32(bytes + 36);
  report->value_count = count;
  report->bytes = total;
  report->values = bytes + header;
  return TALLY_INTEL_REPORT_OK;
}

/* Reads the value at `index`. Returns 1, or 0 if there is no such value. */
static inline int tally_intel_report_at(const TallyIntelReport* report, uint32_t index,
                                        uint32_t* counter, uint64_t* value) {
  const unsigned char* at;
  if (index >= report->value_count) return 0;
  at = report->values + (size_t)TALLY_INTEL_REPORT_VALUE_BYTES * index;
  *counter = tally_intel_report_u32(at);
  *value = tally_intel_report_u64(at + 8);
  return 1;
}

/* Reads the value of a counter. Returns 1, or 0 if the report does not contain it. */
static inline int tally_intel_report_value(const TallyIntelReport* report, uint32_t counter,
                                           uint64_t* value) {
  uint32_t index, found;
  uint64_t candidate;
  for (index = 0; tally_intel_report_at(report, index, &found, &candidate); ++index) {
    if (found != counter) continue;
    *value = candidate;
    return 1;
  }
  return 0;
}

#ifdef __cplusplus
}
#endif

#endif /* TALLY_INTEL_REPORT_H */
