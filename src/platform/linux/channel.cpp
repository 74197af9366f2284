// Unix sockets. The memory is a sealed file, whose descriptor comes with the first byte.
#include "platform/channel.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/file.h"
#include "platform/files.h"

namespace tally::platform {

bool fill_random(void* bytes, size_t size) {
  return ::getrandom(bytes, size, GRND_NONBLOCK) == static_cast<ssize_t>(size);
}

struct SharedMemory::Held {
  void* memory = nullptr;
  size_t size = 0;
  UniqueFd file;  // until it is sent

  Held() = default;
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  ~Held() {
    if (memory != nullptr) ::munmap(memory, size);
  }
  bool map(size_t bytes) {
    void* const at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
    if (at == MAP_FAILED) return false;
    memory = at;
    size = bytes;
    return true;
  }
};

namespace {

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
constexpr off_t kMaxShared = off_t{1} << 20;
constexpr int kConnectSeconds = 5;
// As many processes may wait to be accepted as the system allows.
constexpr int kBacklog = SOMAXCONN;
// Small packets gather for this long, or until a connection holds kLargeRead, which is checked at
// each step.
constexpr int kGatherMilliseconds = 50;
constexpr int kGatherStepMilliseconds = 5;

bool set_size(int file, size_t size) {
  const NoFileSizeSignal no_signal;
  return ::ftruncate(file, static_cast<off_t>(size)) == 0;
}

// Without the seals the process could truncate the file, and an access would end this process.
SharedMemory received_memory(UniqueFd file) {
  struct stat info {};
  const int seals = ::fcntl(file.get(), F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0) return {};
  if (::fstat(file.get(), &info) != 0 || info.st_size <= 0 || info.st_size > kMaxShared) return {};
  auto held = std::make_unique<SharedMemory::Held>();
  held->file = std::move(file);
  const bool mapped = held->map(static_cast<size_t>(info.st_size));
  held->file = UniqueFd();
  return mapped ? SharedMemory(std::move(held)) : SharedMemory();
}

bool is_readable(int file) {
  pollfd entry{file, POLLIN, 0};
  return ::poll(&entry, 1, 0) > 0;
}

// Becomes readable when the process ends. None: it has ended, or the kernel cannot tell.
UniqueFd watch(pid_t process) {
  UniqueFd watched(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
  return watched && !is_readable(watched.get()) ? std::move(watched) : UniqueFd();
}

// The process at the other end, if it is this user's.
std::optional<pid_t> sender_of(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return std::nullopt;
  if (peer.uid != ::geteuid()) return std::nullopt;
  return peer.pid;
}

Error error_of(const std::string& what) {
  return Error{fmt::format("{}: {}", what, std::strerror(errno))};
}

}  // namespace

SharedMemory::SharedMemory() = default;
SharedMemory::SharedMemory(std::unique_ptr<Held> held) : held_(std::move(held)) {}
SharedMemory::SharedMemory(SharedMemory&& other) noexcept = default;
SharedMemory& SharedMemory::operator=(SharedMemory&& other) noexcept = default;
SharedMemory::~SharedMemory() = default;

SharedMemory SharedMemory::make(size_t size) {
  auto held = std::make_unique<Held>();
  held->file = UniqueFd(::memfd_create("tally-ledger", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!held->file || !set_size(held->file.get(), size)) return {};
  if (::fcntl(held->file.get(), F_ADD_SEALS, kSeals) != 0 || !held->map(size)) return {};
  return SharedMemory(std::move(held));
}

void* SharedMemory::get() const { return held_ ? held_->memory : nullptr; }
size_t SharedMemory::size() const { return held_ ? held_->size : 0; }

// The sender.

struct ChannelClient::Held {
  KeptFd socket;
};

ChannelClient::ChannelClient(std::unique_ptr<Held> held) : held_(std::move(held)) {}
ChannelClient::ChannelClient(ChannelClient&& other) noexcept = default;
ChannelClient& ChannelClient::operator=(ChannelClient&& other) noexcept = default;
ChannelClient::~ChannelClient() = default;

Result<ChannelClient> ChannelClient::connect(const std::string& name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (name.size() >= sizeof address.sun_path) return Error{name + ": too long for a socket"};
  std::memcpy(address.sun_path, name.c_str(), name.size());
  KeptFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval limit{kConnectSeconds, 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  if (!socket || ::connect(socket.get(), generic, sizeof address) != 0) return error_of(name);
  return ChannelClient(std::make_unique<Held>(Held{std::move(socket)}));
}

// A connected socket keeps its peer, so it is enough that it is the same socket.
bool ChannelClient::is_open() const { return held_->socket.get() >= 0; }

Status ChannelClient::send_first(std::span<const std::byte> bytes, SharedMemory& memory) {
  std::vector<std::byte> copy(bytes.begin(), bytes.end());
  iovec part{copy.data(), copy.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  const UniqueFd file = memory ? std::move(memory.held_->file) : UniqueFd();
  if (const int descriptor = file.get(); descriptor >= 0) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof descriptor);
    std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  }
  const ssize_t sent = ::sendmsg(held_->socket.get(), &message, MSG_NOSIGNAL);
  if (sent == static_cast<ssize_t>(bytes.size())) return {};
  return Error{sent < 0 ? std::strerror(errno) : "the handshake was sent only in part"};
}

std::optional<size_t> ChannelClient::send_some(std::span<const std::byte> bytes) {
  const ssize_t size =
      ::send(held_->socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (size >= 0) return static_cast<size_t>(size);
  if (errno == EAGAIN || errno == EINTR) return 0;
  return std::nullopt;
}

void ChannelClient::wait_for_room(std::chrono::milliseconds limit) {
  pollfd writable{held_->socket.get(), POLLOUT, 0};
  ::poll(&writable, 1, static_cast<int>(limit.count()));
}

bool ChannelClient::flush(std::chrono::milliseconds /*limit*/) { return true; }
void ChannelClient::shut_down() { ::shutdown(held_->socket.get(), SHUT_RDWR); }

// The receiver.

using Incoming = ChannelServer::Incoming;

struct Incoming::Held {
  UniqueFd socket;
  UniqueFd process;  // in place of the socket
  pid_t sender = 0;
  SharedMemory memory;

  int polled() const { return socket ? socket.get() : process.get(); }
};

Incoming::Incoming(std::unique_ptr<Held> held) : held_(std::move(held)) {}
Incoming::~Incoming() = default;

pid_t Incoming::sender() const { return held_->sender; }
bool Incoming::is_open() const { return static_cast<bool>(held_->socket); }
bool Incoming::is_watched() const { return static_cast<bool>(held_->process); }

// Keeps the memory that arrives with the first byte. Closes any other descriptor.
std::optional<size_t> Incoming::read(std::span<std::byte> room) {
  constexpr size_t kMaxDescriptors = 253;  // SCM_MAX_FD of the kernel
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMaxDescriptors * sizeof(int))> control;
  iovec part{room.data(), room.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t size = ::recvmsg(held_->socket.get(), &message, MSG_CMSG_CLOEXEC);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
  if (size <= 0) return std::nullopt;
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int file = -1;
      std::memcpy(&file, CMSG_DATA(header) + i * sizeof file, sizeof file);
      UniqueFd received(file);
      if (!held_->memory) held_->memory = received_memory(std::move(received));
    }
  }
  return static_cast<size_t>(size);
}

SharedMemory Incoming::take_memory() { return std::exchange(held_->memory, {}); }

bool Incoming::watch_process() {
  held_->socket = UniqueFd();
  held_->process = watch(held_->sender);
  return is_watched();
}

void Incoming::close() {
  held_->socket = UniqueFd();
  held_->process = UniqueFd();
}

void Incoming::take_over(Incoming& other) {
  held_->socket = std::exchange(other.held_->socket, UniqueFd());
  held_->process = UniqueFd();
}

void Incoming::end_sending() { ::shutdown(held_->socket.get(), SHUT_RD); }

bool Incoming::has_ended() const {
  if (!held_->socket) return is_readable(held_->process.get());
  pollfd entry{held_->socket.get(), POLLRDHUP, 0};
  return ::poll(&entry, 1, 0) > 0;
}

struct ChannelServer::Held {
  std::string directory;
  std::string path;
  UniqueFd listener;
  UniqueFd wake;
  std::vector<pollfd> polled;
  Ready ready;

  Held() = default;
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  ~Held() {
    ::unlink(path.c_str());
    ::rmdir(directory.c_str());
  }
};

ChannelServer::ChannelServer(std::unique_ptr<Held> held) : held_(std::move(held)) {}
ChannelServer::~ChannelServer() = default;

Result<std::unique_ptr<ChannelServer>> ChannelServer::listen(const std::string& directory) {
  std::string place = (directory.empty() ? temporary_folder() : directory) + "/tally-XXXXXX";
  if (!::mkdtemp(place.data())) return error_of(place);
  auto held = std::make_unique<Held>();
  held->directory = place;
  held->path = place + "/capture";
  held->listener = UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  held->wake = UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (held->path.size() >= sizeof address.sun_path) {
    return Error{
        fmt::format("{}: too long for a socket; set TMPDIR to a shorter path", held->path)};
  }
  std::memcpy(address.sun_path, held->path.c_str(), held->path.size());
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  if (::bind(held->listener.get(), generic, sizeof address) != 0 ||
      ::listen(held->listener.get(), kBacklog) != 0 || !held->wake) {
    return error_of(held->path);
  }
  return std::unique_ptr<ChannelServer>(new ChannelServer(std::move(held)));
}

const std::string& ChannelServer::name() const { return held_->path; }

void ChannelServer::wake() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(held_->wake.get(), &one, sizeof one);
}

bool ChannelServer::is_asked() const { return is_readable(held_->listener.get()); }

bool ChannelServer::accept(std::unique_ptr<Incoming>& accepted) {
  UniqueFd socket(::accept4(held_->listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket) return false;
  const auto sender = sender_of(socket.get());
  if (!sender) return true;
  auto held = std::make_unique<Incoming::Held>();
  held->socket = std::move(socket);
  held->sender = *sender;
  accepted = std::make_unique<Incoming>(std::move(held));
  return true;
}

const ChannelServer::Ready& ChannelServer::wait(std::span<Incoming* const> incoming,
                                                std::chrono::milliseconds limit) {
  auto& polled = held_->polled;
  polled.assign({{held_->wake.get(), POLLIN, 0}, {held_->listener.get(), POLLIN, 0}});
  for (Incoming* const one : incoming) polled.push_back({one->held().polled(), POLLIN, 0});
  const int count = ::poll(polled.data(), polled.size(), static_cast<int>(limit.count()));
  Ready& ready = held_->ready;
  ready.any = count > 0;
  ready.is_asked = ready.any && polled[1].revents != 0;
  ready.incoming.assign(incoming.size(), false);
  if (!ready.any) return ready;
  if (polled[0].revents != 0) {
    uint64_t woken = 0;
    [[maybe_unused]] const ssize_t read = ::read(held_->wake.get(), &woken, sizeof woken);
  }
  for (size_t i = 0; i < incoming.size(); ++i) ready.incoming[i] = polled[i + 2].revents != 0;
  return ready;
}

Gathered ChannelServer::gather(std::span<Incoming* const> incoming) {
  auto& polled = held_->polled;
  polled.assign({{held_->wake.get(), POLLIN, 0}, {held_->listener.get(), POLLIN, 0}});
  const auto urgent = std::ssize(polled);
  for (Incoming* const one : incoming) {
    if (one->is_open()) polled.push_back({one->held().socket.get(), POLLRDHUP, 0});
  }
  for (int waited = 0; waited < kGatherMilliseconds; waited += kGatherStepMilliseconds) {
    if (::poll(polled.data(), polled.size(), kGatherStepMilliseconds) != 0) {
      const auto is_ready = [](const pollfd& entry) { return entry.revents != 0; };
      return std::any_of(polled.begin(), polled.begin() + urgent, is_ready) ? Gathered::Urgent
                                                                            : Gathered::Closed;
    }
    for (auto entry = polled.begin() + urgent; entry != polled.end(); ++entry) {
      int bytes = 0;
      if (::ioctl(entry->fd, FIONREAD, &bytes) != 0) return Gathered::Closed;
      if (static_cast<size_t>(bytes) >= kLargeRead) return Gathered::Enough;
    }
  }
  return Gathered::Late;
}

}  // namespace tally::platform
