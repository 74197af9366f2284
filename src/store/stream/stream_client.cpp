#include "store/stream/stream_client.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

#include "base/file.h"
#include "base/log.h"
#include "store/stream/clock.h"

namespace tally::store::stream {
namespace {

constexpr int kConnectSeconds = 5;
constexpr int kPollMilliseconds = 100;

Result<KeptFd> open_connection(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return Error{path + ": too long for a socket"};
  std::memcpy(address.sun_path, path.c_str(), path.size());
  KeptFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval limit{kConnectSeconds, 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  if (!socket || ::connect(socket.get(), generic, sizeof address) != 0) {
    return Error{fmt::format("{}: {}", path, std::strerror(errno))};
  }
  return socket;
}

}  // namespace

Result<std::unique_ptr<StreamClient>> StreamClient::connect(const std::string& path,
                                                            std::chrono::milliseconds patience) {
  auto socket = open_connection(path);
  if (!socket) return socket.error();
  std::unique_ptr<StreamClient> client(new StreamClient(path, std::move(*socket), patience));
  if (Status sent = client->send_handshake(); !sent) return with_context(sent.error(), path);
  return client;
}

StreamClient::StreamClient(const std::string& path, KeptFd socket,
                           std::chrono::milliseconds patience)
    : path_(path), socket_(std::move(socket)), patience_(patience), owner_(::getpid()) {}

// The handshake, and with it the ledger's descriptor.
Status StreamClient::send_handshake() {
  Bytes handshake;
  append_handshake(handshake);
  iovec part{handshake.data(), handshake.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  const UniqueFd file = ledger_.take_descriptor();
  if (const int descriptor = file.get(); descriptor >= 0) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof descriptor);
    std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  }
  const ssize_t sent = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL);
  if (sent == static_cast<ssize_t>(handshake.size())) return {};
  return Error{sent < 0 ? std::strerror(errno) : "the handshake was cut short"};
}

// The receiver first reads what the lost connection holds.
Status StreamClient::reconnect() {
  const auto token = ledger_.token();
  if (!token) return Error{"there is no shared memory"};
  auto socket = open_connection(path_);
  if (!socket) return socket.error();
  Bytes bytes;
  Resumption{*token, position_}.append_to(bytes);
  const ssize_t sent = ::send(socket->get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (sent != static_cast<ssize_t>(bytes.size())) return Error{std::strerror(errno)};
  socket_ = std::move(*socket);
  return {};
}

// A connected socket keeps its peer, so it is enough that it is the same socket.
int StreamClient::checked_socket() {
  if (const int socket = socket_.get(); socket >= 0) return socket;
  if (const Status connected = reconnect(); !connected) {
    log_once(
        LogLevel::Warning,
        "nothing more is captured: the application has closed the capture's connection, and it "
        "cannot be opened again: {}",
        connected.error().message);
    return -1;
  }
  return socket_.get();
}

StreamClient::~StreamClient() {
  if (owner_ == ::getpid()) {
    finish();
    ledger_.finish();
  } else {
    thread_.forget();
  }
}

void StreamClient::finish() {
  if (owner_ != ::getpid()) return;
  flush();
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  filled_.notify_all();
  thread_.join();
}

bool StreamClient::push(Bytes&& bytes, size_t limit) {
  if (receiver_gone() || owner_ != ::getpid()) return false;
  {
    std::unique_lock lock(mutex_);
    drained_.wait(
        lock, [&] { return waiting_ == 0 || waiting_ + bytes.size() <= limit || receiver_gone(); });
    if (receiver_gone() || closing_) return false;
    // The socket usually takes everything at once, so the thread does not wake.
    if (waiting_ == 0)
      bytes.erase(bytes.begin(), bytes.begin() + std::max<ssize_t>(send_some(bytes), 0));
    if (bytes.empty()) return true;
    waiting_ += bytes.size();
    queue_.push_back(std::move(bytes));
    thread_.start([this] { run(); });
  }
  filled_.notify_one();
  return true;
}

bool StreamClient::flush(std::chrono::milliseconds patience) {
  if (owner_ != ::getpid()) return false;
  std::unique_lock lock(mutex_);
  const auto drained = [&] { return waiting_ == 0 || receiver_gone(); };
  if (patience == std::chrono::milliseconds::max()) {
    drained_.wait(lock, drained);
  } else if (!drained_.wait_for(lock, patience, drained)) {
    return false;
  }
  return !receiver_gone();
}

void StreamClient::run() {
  std::unique_lock lock(mutex_);
  while (filled_.wait_for(lock, kIdleTime, [this] { return closing_ || !queue_.empty(); }) &&
         !queue_.empty()) {
    const Bytes bytes = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    const bool written = write_all(bytes);
    lock.lock();
    waiting_ -= bytes.size();
    if (!written) {
      ledger_.close();
      gone_ = true;
      queue_.clear();
      waiting_ = 0;
      ::shutdown(socket_.get(), SHUT_RDWR);
    }
    drained_.notify_all();
  }
  thread_.end();
}

ssize_t StreamClient::send_some(std::span<const std::byte> bytes) {
  const int socket = checked_socket();
  if (socket < 0) {
    errno = ENOTCONN;
    return -1;
  }
  const ssize_t size = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (size > 0) position_ += static_cast<uint64_t>(size);
  return size;
}

bool StreamClient::write_all(std::span<const std::byte> bytes) {
  auto last_progress = std::chrono::steady_clock::now();
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t size = send_some(bytes.subspan(done));
    const auto now = std::chrono::steady_clock::now();
    if (size >= 0) {
      done += static_cast<size_t>(size);
      last_progress = now;
    } else if (errno == EAGAIN) {
      if (now - last_progress > patience_) return false;
      pollfd writable{socket_.get(), POLLOUT, 0};
      ::poll(&writable, 1, kPollMilliseconds);
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

namespace {

std::string executable_path() {
  std::array<char, 4096> path{};
  const ssize_t size = ::readlink("/proc/self/exe", path.data(), path.size());
  return size > 0 ? std::string(path.data(), static_cast<size_t>(size)) : std::string{};
}

std::vector<std::string> command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::vector<std::string> arguments;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\0', begin), text.size());
    arguments.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return arguments;
}

}  // namespace

Process describe_this_process(std::string application, std::string engine) {
  return {.pid = ::getpid(),
          .parent_pid = ::getppid(),
          .executable = executable_path(),
          .command_line = command_line(),
          .application = std::move(application),
          .engine = std::move(engine),
          .start_ns = monotonic_ns()};
}

}  // namespace tally::store::stream
