#include "base/system_lock.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <mutex>
#include <span>
#include <vector>

#include "base/hash.h"

namespace tally {
namespace {

using Clock = std::chrono::steady_clock;

// The interval between retries when a waiter cannot be woken: the holder has bound its socket but
// does not listen yet, its queue of waiters is full, or it is in another network namespace. It also
// applies after a wakeup that did not give us the lock: another waiter was faster, or a holder that
// is not a SystemLock accepts connections and closes them.
constexpr int kRetryMilliseconds = 5;
constexpr int kMaxQueuedWaiters = 128;

struct Address {
  sockaddr_un name{};
  socklen_t size = 0;
};

Address abstract_address(const std::string& text) {
  Address address;
  address.name.sun_family = AF_UNIX;
  const size_t length = std::min(text.size(), sizeof address.name.sun_path - 1);
  std::memcpy(address.name.sun_path + 1, text.data(),
              length);  // a leading zero byte marks an abstract address
  address.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
  return address;
}

const sockaddr* generic(const Address& address) {
  return reinterpret_cast<const sockaddr*>(&address.name);
}

// A descriptor that we opened. The inode distinguishes it from a descriptor of the application that
// has since received the same number: programs that become daemons close descriptors they do not
// own. Applications open /dev/null, too, but not with these flags.
struct OwnedFile {
  int fd;
  ino_t inode;
};

constexpr int kSharedFileFlags = O_APPEND | O_NONBLOCK;

bool still_ours(const OwnedFile& owned) {
  struct stat now {};
  if (fstat(owned.fd, &now) != 0 || now.st_ino != owned.inode) return false;
  return S_ISSOCK(now.st_mode) || (S_ISCHR(now.st_mode) && (fcntl(owned.fd, F_GETFL) &
                                                            kSharedFileFlags) == kSharedFileFlags);
}

void close_if_ours(const OwnedFile& owned) {
  if (still_ours(owned)) close(owned.fd);
}

// The sockets and locked files held by this process. A forked child closes its copies; sharing them
// would keep the lock alive.
class HeldFiles {
 public:
  static HeldFiles& instance() {
    // Never destroyed: locks may be static objects.
    static auto* const held = new HeldFiles;
    return *held;
  }

  void add(int fd) {
    struct stat now {};
    fstat(fd, &now);
    const std::lock_guard lock(mutex_);
    held_.push_back({fd, now.st_ino});
  }

  // Closes the file. Returns false if this process no longer holds it.
  bool remove(int fd) {
    const std::lock_guard lock(mutex_);
    const auto found = find(fd);
    if (found == held_.end()) return false;
    close_if_ours(*found);
    held_.erase(found);
    return true;
  }

  bool holds(int fd) {
    const std::lock_guard lock(mutex_);
    const auto found = find(fd);
    return found != held_.end() && still_ours(*found);
  }

 private:
  HeldFiles() {
    pthread_atfork([] { instance().mutex_.lock(); }, [] { instance().mutex_.unlock(); },
                   [] { instance().release_in_child(); });
  }

  std::vector<OwnedFile>::iterator find(int fd) {
    return std::find_if(held_.begin(), held_.end(),
                        [fd](const OwnedFile& s) { return s.fd == fd; });
  }

  void release_in_child() {
    for (const OwnedFile& owned : held_) close_if_ours(owned);
    held_.clear();
    mutex_.unlock();
  }

  std::mutex mutex_;
  std::vector<OwnedFile> held_;
};

int open_socket(int flags) { return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0); }

// Milliseconds until the deadline, rounded up; -1 if there is none.
int milliseconds_left(bool forever, Clock::time_point deadline) {
  if (forever) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<int64_t>(left, 0, 1 << 30));
}

void pause_before_retry(int max_ms) {
  poll(nullptr, 0, max_ms < 0 ? kRetryMilliseconds : std::min(max_ms, kRetryMilliseconds));
}

// Returns when the holder may have gone, or after `max_ms`.
void wait_for_holder(const Address& address, int max_ms) {
  const int fd = open_socket(SOCK_NONBLOCK);
  const bool watching = fd >= 0 && connect(fd, generic(address), address.size) == 0;
  if (watching) {
    pollfd entry{fd, POLLRDHUP, 0};  // poll() always reports POLLHUP
    poll(&entry, 1, max_ms);
  } else {
    pause_before_retry(max_ms);
  }
  if (fd >= 0) close(fd);
}

// The lock on the byte of /dev/null that stands for the name.
struct SharedByte {
  SystemLock::Outcome outcome;  // Unavailable: there is no /dev/null that can be locked
  int fd;
};

SharedByte lock_shared_byte(const std::string& name) {
  const int fd = open("/dev/null", O_RDWR | O_CLOEXEC | kSharedFileFlags);
  struct stat now {};
  if (fd < 0 || fstat(fd, &now) != 0 || !S_ISCHR(now.st_mode)) {
    if (fd >= 0) close(fd);
    return {SystemLock::Outcome::Unavailable, -1};
  }
  struct flock range {};
  range.l_type = F_WRLCK;
  range.l_whence = SEEK_SET;
  range.l_start =
      static_cast<off_t>(hash_bytes(std::as_bytes(std::span(name))).low >> 2);  // fits off_t
  range.l_len = 1;
  if (fcntl(fd, F_OFD_SETLK, &range) == 0) return {SystemLock::Outcome::Acquired, fd};
  const bool taken = errno == EAGAIN || errno == EACCES;
  close(fd);
  return {taken ? SystemLock::Outcome::Busy : SystemLock::Outcome::Unavailable, -1};
}

std::string shared_name() {
  const char* other = secure_getenv("TALLY_PROFILING_LOCK");
  return other != nullptr && *other != '\0' ? other : "tally-profiling-lock";
}

}  // namespace

SystemLock::SystemLock() : SystemLock(shared_name()) {}
SystemLock::SystemLock(std::string name) : name_(std::move(name)) {}
SystemLock::~SystemLock() { release(); }

SystemLock::Outcome SystemLock::try_once() {
  const Address address = abstract_address(name_);
  const int fd = open_socket(0);
  if (fd < 0) return Outcome::Unavailable;
  if (bind(fd, generic(address), address.size) == 0 && listen(fd, kMaxQueuedWaiters) == 0) {
    const SharedByte byte = lock_shared_byte(name_);
    if (byte.outcome == Outcome::Busy) {
      close(fd);
      return Outcome::Busy;
    }
    HeldFiles::instance().add(fd);
    if (byte.fd >= 0) HeldFiles::instance().add(byte.fd);
    fd_ = fd;
    byte_ = byte.fd;
    return Outcome::Acquired;
  }
  const bool taken = errno == EADDRINUSE;
  close(fd);
  return taken ? Outcome::Busy : Outcome::Unavailable;
}

SystemLock::Outcome SystemLock::acquire(uint64_t timeout_ns) {
  if (held()) return Outcome::Acquired;
  release();                                        // forgets a socket that the program closed
  constexpr uint64_t kLongest = UINT64_C(1) << 62;  // keeps the deadline from overflowing
  const bool forever = timeout_ns >= kLongest;
  const auto deadline = Clock::now() + std::chrono::nanoseconds(forever ? 0 : timeout_ns);
  for (bool woken = false;; woken = true) {
    const Outcome outcome = try_once();
    if (outcome != Outcome::Busy || (!forever && Clock::now() >= deadline)) return outcome;
    if (woken) pause_before_retry(milliseconds_left(forever, deadline));
    wait_for_holder(abstract_address(name_), milliseconds_left(forever, deadline));
  }
}

// The byte first: whoever is woken by the socket then finds it free.
void SystemLock::release() {
  if (byte_ >= 0) HeldFiles::instance().remove(byte_);
  if (fd_ >= 0) HeldFiles::instance().remove(fd_);
  fd_ = byte_ = -1;
}

bool SystemLock::held() const { return fd_ >= 0 && HeldFiles::instance().holds(fd_); }

std::optional<SystemLock::Holder> SystemLock::holder() const {
  const Address address = abstract_address(name_);
  const int fd = open_socket(SOCK_NONBLOCK);
  if (fd < 0) return std::nullopt;
  std::optional<Holder> found;
  ucred credentials{};
  socklen_t size = sizeof credentials;
  if (connect(fd, generic(address), address.size) == 0 &&
      getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0) {
    found = Holder{credentials.pid, credentials.uid};
  }
  close(fd);
  return found;
}

}  // namespace tally
