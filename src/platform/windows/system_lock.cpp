// The lock is the first instance of a named pipe, which nobody connects to. Windows makes it for
// one process, whichever of its threads asks, and refuses it to others without giving them a handle
// that would keep the name. Pipes are common to all sessions of the machine. Waiters poll.
#include "platform/system_lock.h"

#include <unistd.h>
#include <windows.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <set>
#include <utility>

#include "platform/process.h"

namespace tally {
namespace {

using Clock = std::chrono::steady_clock;

constexpr DWORD kBetweenTriesMs = 5;
// A name that was taken may be free again when exists() looks, but not each time.
constexpr int kMaxTries = 16;

std::string shared_name() {
  const char* other = platform::trusted_variable("TALLY_PROFILING_LOCK");
  return other != nullptr && *other != '\0' ? other : "tally-profiling-lock";
}

std::string pipe_of(const std::string& name) { return "\\\\.\\pipe\\" + name; }

bool exists(const std::string& pipe) {
  constexpr DWORD kNoWait = 1;  // ms
  return ::WaitNamedPipeA(pipe.c_str(), kNoWait) != 0 || ::GetLastError() != ERROR_FILE_NOT_FOUND;
}

// The names that this process holds. Never destroyed: locks may be static objects.
struct HeldNames {
  std::mutex mutex;
  std::set<std::string> names;

  static HeldNames& instance() {
    static auto* const held = new HeldNames;
    return *held;
  }
};

}  // namespace

struct SystemLock::Held {
  HANDLE pipe = INVALID_HANDLE_VALUE;
};

SystemLock::SystemLock() : SystemLock(shared_name()) {}
SystemLock::SystemLock(std::string name)
    : name_(std::move(name)), held_(std::make_unique<Held>()) {}
SystemLock::~SystemLock() { release(); }

SystemLock::Outcome SystemLock::try_once() {
  const std::string pipe = pipe_of(name_);
  for (int i = 0; i < kMaxTries; ++i) {
    held_->pipe = ::CreateNamedPipeA(
        pipe.c_str(), PIPE_ACCESS_OUTBOUND | FILE_FLAG_FIRST_PIPE_INSTANCE,
        PIPE_TYPE_BYTE | PIPE_WAIT | PIPE_REJECT_REMOTE_CLIENTS, 1, 0, 0, 0, nullptr);
    if (held_->pipe != INVALID_HANDLE_VALUE) {
      HeldNames& held = HeldNames::instance();
      const std::lock_guard lock(held.mutex);
      held.names.insert(name_);
      return Outcome::Acquired;
    }
    if (exists(pipe)) return Outcome::Busy;
  }
  return Outcome::Unavailable;
}

SystemLock::Outcome SystemLock::acquire(uint64_t timeout_ns) {
  if (held()) return Outcome::Acquired;
  constexpr uint64_t kLongest = UINT64_C(1) << 62;  // keeps the deadline from overflowing
  const bool forever = timeout_ns >= kLongest;
  const auto deadline = Clock::now() + std::chrono::nanoseconds(forever ? 0 : timeout_ns);
  while (true) {
    const Outcome outcome = try_once();
    if (outcome != Outcome::Busy || (!forever && Clock::now() >= deadline)) return outcome;
    ::Sleep(kBetweenTriesMs);
  }
}

void SystemLock::release() {
  if (!held()) return;
  HeldNames& names = HeldNames::instance();
  const std::lock_guard lock(names.mutex);
  names.names.erase(name_);
  ::CloseHandle(std::exchange(held_->pipe, INVALID_HANDLE_VALUE));
}

bool SystemLock::held() const { return held_->pipe != INVALID_HANDLE_VALUE; }

std::optional<pid_t> SystemLock::holder() const {
  HeldNames& held = HeldNames::instance();
  const std::lock_guard lock(held.mutex);
  if (!held.names.contains(name_)) return std::nullopt;
  return ::getpid();
}

}  // namespace tally
