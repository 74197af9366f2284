#include "store/stream/ledger.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <new>

#include "platform/files.h"

namespace tally::store::stream {
namespace {

constexpr size_t kLedgerBytes = sizeof(LedgerPage);
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

LedgerPage* map_ledger(int file) {
  void* const memory = ::mmap(nullptr, kLedgerBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<LedgerPage*>(memory);
}

void unmap(LedgerPage* page) {
  if (page) ::munmap(page, kLedgerBytes);
}

bool set_size(int file) {
  const platform::NoFileSizeSignal no_signal;
  return ::ftruncate(file, kLedgerBytes) == 0;
}

}  // namespace

Ledger::Ledger() : file_(::memfd_create("tally-ledger", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
  if (!file_ || !set_size(file_.get())) return;
  if (::fcntl(file_.get(), F_ADD_SEALS, kSeals) != 0) return;
  page_ = map_ledger(file_.get());
  if (!page_) return;
  new (page_) LedgerPage{};
  StreamToken token{};
  if (::getrandom(token.data(), sizeof token, GRND_NONBLOCK) != sizeof token) return;
  page_->token[0] = token[0];
  page_->token[1] = token[1];
}

Ledger::~Ledger() { unmap(page_); }

// Without the seals the process could truncate the file, and an access would end this process.
ReceivedLedger::ReceivedLedger(UniqueFd file) {
  struct stat info {};
  const int seals = file ? ::fcntl(file.get(), F_GET_SEALS) : -1;
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0) return;
  if (::fstat(file.get(), &info) != 0 || info.st_size != static_cast<off_t>(kLedgerBytes)) return;
  page_ = map_ledger(file.get());
}

ReceivedLedger::~ReceivedLedger() { unmap(page_); }

ReceivedLedger::ReceivedLedger(ReceivedLedger&& other) noexcept
    : page_(std::exchange(other.page_, nullptr)) {}

ReceivedLedger& ReceivedLedger::operator=(ReceivedLedger&& other) noexcept {
  std::swap(page_, other.page_);
  return *this;
}

std::optional<uint64_t> ReceivedLedger::submitted() const {
  if (!page_ || page_->closed.load() != 0) return std::nullopt;
  return page_->submitted.load();
}

uint64_t ReceivedLedger::frames_dropped() const { return page_ ? page_->frames_dropped.load() : 0; }

bool ReceivedLedger::goes_on() const {
  return page_ && page_->closed.load() == 0 && page_->finished.load() == 0;
}

std::optional<StreamToken> ReceivedLedger::token() const {
  if (!page_) return std::nullopt;
  return StreamToken{page_->token[0].load(), page_->token[1].load()};
}

void ReceivedLedger::request_frames(uint64_t more) {
  if (page_) page_->requested.fetch_add(more);
}

void ReceivedLedger::stop() {
  if (page_) page_->stopped.store(1);
}

}  // namespace tally::store::stream
