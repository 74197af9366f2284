// Fuzzes the snapshots and limits of `tally check`: any text is read or refused with its place, and
// what was read is written and read again as it is.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "analysis/check/check.h"
#include "expect.h"

using namespace tally;

namespace {

void expect_place(const std::string& message) { TALLY_FUZZ_EXPECT(message.starts_with("f:")); }

void fuzz_snapshot(std::string_view text) {
  const auto snapshot = analysis::parse_snapshot("f", text);
  if (!snapshot) return expect_place(snapshot.error().message);
  const std::string written = analysis::snapshot_text(*snapshot);
  const auto again = analysis::parse_snapshot("f", written);
  TALLY_FUZZ_EXPECT(again.ok());
  TALLY_FUZZ_EXPECT(again->counts == snapshot->counts);
  TALLY_FUZZ_EXPECT(analysis::snapshot_text(*again) == written);
  TALLY_FUZZ_EXPECT(analysis::check(*snapshot, std::nullopt, {}, {}, "1").ok());
}

void fuzz_limits(std::string_view text) {
  const auto limits = analysis::parse_limits("f", text);
  if (!limits) return expect_place(limits.error().message);
  analysis::Snapshot snapshot;
  snapshot.counts[{"pass", "main 64x64", "instructions"}] = 1000;
  const auto checked = analysis::check(snapshot, *limits, {}, {}, "1");
  if (!checked) return expect_place(checked.error().message);
  TALLY_FUZZ_EXPECT(checked->compared >= 1);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  fuzz_snapshot(text);
  fuzz_limits(text);
  return 0;
}
