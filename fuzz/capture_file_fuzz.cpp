// Fuzzes the capture file's reader: for any file, opening and reading it ends with rows or an
// error.
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <string>

#include "expect.h"
#include "store/read/reader.h"
#include "temporary_file.h"

using namespace tally::store;

namespace {

void read_everything(const Reader& reader) {
  (void)reader.processes();
  (void)reader.devices();
  (void)reader.queues();
  (void)reader.metrics();
  (void)reader.modules();
  (void)reader.spirv(1);
  (void)reader.shaders();
  (void)reader.pipelines();
  (void)reader.objects();
  (void)reader.labels();
  (void)reader.functions();
  (void)reader.frames();
  (void)reader.messages();
  (void)reader.region_counters();
  (void)reader.for_each_pass_regions([&](const PassRegionsRow& regions) {
    (void)reader.for_each_region_values(regions, [](const RegionValuesRow&) { return true; });
    (void)reader.pass_picture(regions.pass, regions.layer);
    return true;
  });
  (void)reader.for_each_submission([](const SubmissionRow&) { return true; });
  (void)reader.for_each_execution([](const ExecutionRow&) { return true; });
  (void)reader.for_each_pass([](const PassRow&) { return true; });
  (void)reader.for_each_block_cost([](const BlockCostRow&) { return true; });
  auto values = reader.batch_values();
  (void)reader.for_each_batch([&](const CommandBatchRow& batch) {
    BatchValues read;
    return values.ok() && values->read(batch.id, batch.size, read).ok();
  });
}

}  // namespace

// Checks that valid inputs can be read; otherwise the fuzzing would be worthless.
extern "C" int LLVMFuzzerInitialize(int*, char***) {
  TALLY_FUZZ_EXPECT(Reader::open(GOLDEN_CAPTURE).ok());
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const tally::fuzz::TemporaryFile file;
  file.write(std::as_bytes(std::span(data, size)));
  const auto reader = Reader::open(file.path());
  if (reader) read_everything(*reader);
  return 0;
}
