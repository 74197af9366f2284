// The lock is a listening Unix socket bound to an abstract address. A lock file of ours would not
// do: in a directory that all users can write to (/tmp, /run/lock), another user can plant a file
// or a link first; a directory that nobody else can write to ($XDG_RUNTIME_DIR) excludes only
// processes of the same user. An abstract address
//  - is acquired atomically, by one process of the network namespace at a time, for any user,
//  - is not a file,
//  - is released by the kernel when its holder ends, even by SIGKILL,
//  - carries no data: the holder never reads or writes a byte. The listening socket only lets
//    others see the holder (the kernel verifies pid and uid) and wakes them when it closes, so
//    that waiting needs no polling.
//
// An abstract address belongs to a network namespace, so a container may have its own. Therefore
// the holder also locks a byte of /dev/null, chosen by the lock's name (an open-file-description
// lock). That is one file for the whole system, which belongs to root, and which bubblewrap,
// Flatpak and rootless Podman show to the programs inside. Its waiters poll. A container engine
// that makes device nodes of its own (Docker as root) has another /dev/null: there, processes
// exclude each other only within a container.
#include "platform/system_lock.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <map>
#include <mutex>
#include <span>
#include <utility>

#include "base/hash.h"
#include "platform/files.h"
#include "platform/process.h"

namespace tally {
namespace {

using Clock = std::chrono::steady_clock;

// The interval between retries when a waiter cannot be woken: the holder has bound its socket but
// does not listen yet, its queue of waiters is full, or it is in another network namespace. It also
// applies after a wakeup that did not give us the lock: another waiter was faster, or a holder that
// is not a SystemLock accepts connections and closes them.
constexpr int kRetryMilliseconds = 5;
constexpr int kMaxQueuedWaiters = 128;
// Applications open /dev/null as well, but not with these flags.
constexpr int kSharedFileFlags = O_APPEND | O_NONBLOCK;

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

// The sockets and locked files held by this process. A forked child closes its copies; sharing them
// would keep the lock alive.
class HeldFiles {
 public:
  static HeldFiles& instance() {
    // Never destroyed: locks may be static objects.
    static auto* const held = new HeldFiles;
    return *held;
  }

  // Returns the file's number.
  uint64_t add(KeptFd file) {
    const std::lock_guard lock(mutex_);
    held_.emplace(++last_, std::move(file));
    return last_;
  }
  void remove(uint64_t number) {
    const std::lock_guard lock(mutex_);
    held_.erase(number);
  }
  // False: the file was removed, this is the child of a fork, or the application has closed it.
  bool holds(uint64_t number) {
    const std::lock_guard lock(mutex_);
    const auto found = held_.find(number);
    return found != held_.end() && found->second;
  }

 private:
  HeldFiles() {
    pthread_atfork([] { instance().mutex_.lock(); }, [] { instance().mutex_.unlock(); },
                   [] { instance().release_in_child(); });
  }

  void release_in_child() {
    held_.clear();
    mutex_.unlock();
  }

  std::mutex mutex_;
  std::map<uint64_t, KeptFd> held_;
  uint64_t last_ = 0;
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
  const KeptFd socket(open_socket(SOCK_NONBLOCK));
  const bool watching = connect(socket.get(), generic(address), address.size) == 0;
  if (watching) {
    pollfd entry{socket.get(), POLLRDHUP, 0};  // poll() always reports POLLHUP
    poll(&entry, 1, max_ms);
  } else {
    pause_before_retry(max_ms);
  }
}

// The lock on the byte of /dev/null that stands for the name.
struct SharedByte {
  SystemLock::Outcome outcome;  // Unavailable: there is no /dev/null that can be locked
  KeptFd file;
};

SharedByte lock_shared_byte(const std::string& name) {
  KeptFd file(open("/dev/null", O_RDWR | O_CLOEXEC | kSharedFileFlags));
  struct stat now {};
  if (fstat(file.get(), &now) != 0 || !S_ISCHR(now.st_mode)) {
    return {SystemLock::Outcome::Unavailable, {}};
  }
  struct flock range {};
  range.l_type = F_WRLCK;
  range.l_whence = SEEK_SET;
  range.l_start =
      static_cast<off_t>(hash_bytes(std::as_bytes(std::span(name))).low >> 2);  // fits off_t
  range.l_len = 1;
  if (fcntl(file.get(), F_OFD_SETLK, &range) == 0) {
    return {SystemLock::Outcome::Acquired, std::move(file)};
  }
  const bool taken = errno == EAGAIN || errno == EACCES;
  return {taken ? SystemLock::Outcome::Busy : SystemLock::Outcome::Unavailable, {}};
}

std::string shared_name() {
  const char* other = platform::trusted_variable("TALLY_PROFILING_LOCK");
  return other != nullptr && *other != '\0' ? other : "tally-profiling-lock";
}

}  // namespace

// Numbers in the process's list of held files; 0: none.
struct SystemLock::Held {
  uint64_t socket = 0;  // that listens
  uint64_t byte = 0;    // /dev/null, with a byte locked; none as well where there is no /dev/null
};

SystemLock::SystemLock() : SystemLock(shared_name()) {}
SystemLock::SystemLock(std::string name)
    : name_(std::move(name)), held_(std::make_unique<Held>()) {}
SystemLock::~SystemLock() { release(); }

SystemLock::Outcome SystemLock::try_once() {
  const Address address = abstract_address(name_);
  KeptFd socket(open_socket(0));
  if (!socket) return Outcome::Unavailable;
  if (bind(socket.get(), generic(address), address.size) != 0 ||
      listen(socket.get(), kMaxQueuedWaiters) != 0) {
    return errno == EADDRINUSE ? Outcome::Busy : Outcome::Unavailable;
  }
  SharedByte byte = lock_shared_byte(name_);
  if (byte.outcome == Outcome::Busy) return Outcome::Busy;
  held_->socket = HeldFiles::instance().add(std::move(socket));
  if (byte.file) held_->byte = HeldFiles::instance().add(std::move(byte.file));
  return Outcome::Acquired;
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
  if (held_->byte != 0) HeldFiles::instance().remove(held_->byte);
  if (held_->socket != 0) HeldFiles::instance().remove(held_->socket);
  *held_ = {};
}

bool SystemLock::held() const {
  return held_->socket != 0 && HeldFiles::instance().holds(held_->socket);
}

std::optional<pid_t> SystemLock::holder() const {
  const Address address = abstract_address(name_);
  const int fd = open_socket(SOCK_NONBLOCK);
  if (fd < 0) return std::nullopt;
  std::optional<pid_t> found;
  ucred credentials{};
  socklen_t size = sizeof credentials;
  if (connect(fd, generic(address), address.size) == 0 &&
      getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0) {
    found = credentials.pid;
  }
  close(fd);
  return found;
}

}  // namespace tally
