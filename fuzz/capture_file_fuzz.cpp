// The capture file's reader on any bytes: whatever the file holds, opening and reading it ends with
// rows or an error.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "store/reader.h"

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
  (void)reader.calls();
  (void)reader.frames();
  (void)reader.messages();
  (void)reader.for_each_submission([](const SubmissionRow&) { return true; });
  (void)reader.for_each_execution([](const ExecutionRow&) { return true; });
  (void)reader.for_each_pass([](const PassRow&) { return true; });
  (void)reader.for_each_command([](const CommandRow&) { return true; });
  (void)reader.for_each_command_metric([](const CommandMetricRow&) { return true; });
  (void)reader.for_each_block_cost([](const BlockCostRow&) { return true; });
  (void)reader.for_each_block_count([](const BlockCountRow&) { return true; });
  (void)reader.for_each_block_other([](const BlockOtherRow&) { return true; });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const int file = ::memfd_create("capture", MFD_CLOEXEC);
  if (file < 0) return 0;
  const bool written = ::write(file, data, size) == static_cast<ssize_t>(size);
  if (written) {
    const auto reader = Reader::open("/proc/self/fd/" + std::to_string(file));
    if (reader) read_everything(*reader);
  }
  ::close(file);
  return 0;
}
