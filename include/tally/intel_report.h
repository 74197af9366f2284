/* Reads the results of VK_INTEL_performance_query as VK_LAYER_TALLY_counters gives them. To Vulkan
 * the results of such a query are opaque; this is what stands in them. C and C++, no library.
 *
 * A report, in the byte order of the machine, without padding:
 *
 *     0  uint32  magic, TALLY_INTEL_REPORT_MAGIC
 *     4  uint16  version, 1; raised when an older reader would read something wrong
 *     6  uint16  bytes of the header, 40 or more; what follows is added without a new version
 *     8  uint32  bytes of the whole report
 *    12  uint32  values in it
 *    16  uint32  values that the query has: more than are in it where the buffer was too small
 *    20  uint32  flags, TALLY_INTEL_REPORT_HAS_MARKER and so on
 *    24  uint64  the last marker that was set before the query ended, or 0
 *    32  uint32  the last stream marker, or 0
 *    36  uint32  commands that could not be counted
 *        then, behind the header, each value: uint32 number of the counter, uint32 0, uint64 value
 *
 * The numbers of counters are those of docs/reference/counters.md and never change. A buffer of
 * TALLY_INTEL_REPORT_BYTES bytes is always large enough; into a smaller one as many values are
 * written as fit.
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

/* Some counters. GPU time is measured while shaders count, so it is longer than without. */
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
  TALLY_INTEL_REPORT_TOO_SHORT = 1,       /* fewer bytes than the report says it has */
  TALLY_INTEL_REPORT_NOT_A_REPORT = 2,    /* begins with something else */
  TALLY_INTEL_REPORT_UNKNOWN_VERSION = 3, /* made by a newer layer */
  TALLY_INTEL_REPORT_DAMAGED = 4          /* its sizes contradict each other */
} TallyIntelReportResult;

/* Points into the bytes that it was read from. */
typedef struct TallyIntelReport {
  uint64_t marker;
  uint32_t stream_marker;
  uint32_t flags;
  uint32_t uncounted_commands;
  uint32_t value_count;
  uint32_t values_of_query; /* value_count, or more where the buffer was too small */
  uint32_t bytes;           /* of the report; what follows it is not part of it */
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

/* Checks everything that the other functions rely on. `report` is written only on success. */
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

/* The value at `index`; 0 where there is none. */
static inline int tally_intel_report_at(const TallyIntelReport* report, uint32_t index,
                                        uint32_t* counter, uint64_t* value) {
  const unsigned char* at;
  if (index >= report->value_count) return 0;
  at = report->values + (size_t)TALLY_INTEL_REPORT_VALUE_BYTES * index;
  *counter = tally_intel_report_u32(at);
  *value = tally_intel_report_u64(at + 8);
  return 1;
}

/* The value of a counter; 0 where the report does not have it. */
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
