#include "store/ledger.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <new>

namespace tally::store::stream {
namespace {

constexpr size_t kLedgerBytes = 2 * sizeof(uint64_t);
static_assert(std::atomic<uint64_t>::is_always_lock_free);

}  // namespace

Ledger::Ledger() : file_(::memfd_create("tally-ledger", MFD_CLOEXEC)) {
  if (!file_ || ::ftruncate(file_.get(), kLedgerBytes) != 0) return;
  void* const memory =
      ::mmap(nullptr, kLedgerBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0);
  static_assert(sizeof(Page) == kLedgerBytes);
  if (memory != MAP_FAILED) page_ = new (memory) Page;
}

Ledger::~Ledger() {
  if (page_) ::munmap(page_, kLedgerBytes);
}

// Reads instead of mapping: the other process may truncate the file at any time.
std::optional<uint64_t> read_ledger(int descriptor) {
  struct stat info {};
  if (descriptor < 0 || ::fstat(descriptor, &info) != 0 || !S_ISREG(info.st_mode)) {
    return std::nullopt;
  }
  std::array<uint64_t, 2> page{};
  if (::pread(descriptor, page.data(), sizeof page, 0) != sizeof page) return std::nullopt;
  const auto [submitted, closed] = page;
  if (closed != 0) return std::nullopt;
  return submitted;
}

}  // namespace tally::store::stream
