#include "store/stream_client.h"

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
#include <utility>

namespace tally::store::stream {
namespace {

constexpr int kConnectSeconds = 5;
constexpr int kPollMilliseconds = 100;

}  // namespace

Result<std::unique_ptr<StreamClient>> StreamClient::connect(const std::string& path,
                                                            std::chrono::milliseconds patience) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return Error{path + ": too long for a socket"};
  std::memcpy(address.sun_path, path.c_str(), path.size());
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval limit{kConnectSeconds, 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  if (!socket || ::connect(socket.get(), generic, sizeof address) != 0) {
    return Error{fmt::format("{}: {}", path, std::strerror(errno))};
  }
  std::unique_ptr<StreamClient> client(new StreamClient(std::move(socket), patience));
  if (Status sent = client->send_handshake(); !sent) return with_context(sent.error(), path);
  return client;
}

StreamClient::StreamClient(UniqueFd socket, std::chrono::milliseconds patience)
    : socket_(std::move(socket)), patience_(patience), owner_(::getpid()) {}

// The handshake, and with it the ledger's descriptor.
Status StreamClient::send_handshake() {
  Bytes handshake;
  append_handshake(handshake);
  iovec part{handshake.data(), handshake.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  if (const int file = ledger_.descriptor(); file >= 0) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof file);
    std::memcpy(CMSG_DATA(header), &file, sizeof file);
  }
  const ssize_t sent = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL);
  if (sent == static_cast<ssize_t>(handshake.size())) return {};
  return Error{sent < 0 ? std::strerror(errno) : "the handshake was cut short"};
}

StreamClient::~StreamClient() {
  if (owner_ == ::getpid()) {
    finish();
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

bool StreamClient::flush() {
  if (owner_ != ::getpid()) return false;
  std::unique_lock lock(mutex_);
  drained_.wait(lock, [&] { return waiting_ == 0 || receiver_gone(); });
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

ssize_t StreamClient::send_some(std::span<const std::byte> bytes) const {
  return ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
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

}  // namespace tally::store::stream
