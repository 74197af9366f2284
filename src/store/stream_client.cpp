#include "store/stream_client.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "store/clock.h"
#include "store/quiet_thread.h"

namespace tally::store::stream {
namespace {

constexpr int kConnectSeconds = 5;
constexpr int kPollMilliseconds = 100;

}  // namespace

Result<std::unique_ptr<StreamClient>> StreamClient::connect(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return Error{path + ": too long for a socket"};
  std::memcpy(address.sun_path, path.c_str(), path.size());
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval patience{kConnectSeconds, 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  if (!socket || ::connect(socket.get(), generic, sizeof address) != 0) {
    return Error{fmt::format("{}: {}", path, std::strerror(errno))};
  }
  std::unique_ptr<StreamClient> client(new StreamClient(std::move(socket)));
  Bytes greeting;
  append_greeting(greeting);
  client->push(std::move(greeting), 0);
  return client;
}

StreamClient::StreamClient(UniqueFd socket) : socket_(std::move(socket)), owner_(::getpid()) {
  thread_ = quiet_thread("tally-send", [this] { run(); });
}

StreamClient::~StreamClient() {
  if (owner_ != ::getpid()) {
    thread_.detach();
    return;
  }
  give_up_ns_ = monotonic_ns() + std::chrono::nanoseconds(kClosingTime).count();
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  filled_.notify_all();
  thread_.join();
}

bool StreamClient::push(Bytes&& bytes, size_t limit) {
  if (receiver_gone()) return false;
  {
    const std::lock_guard lock(mutex_);
    if (waiting_ != 0 && waiting_ + bytes.size() > limit) return false;
    waiting_ += bytes.size();
    queue_.push_back(std::move(bytes));
  }
  filled_.notify_one();
  return true;
}

bool StreamClient::wait_below(size_t bytes, std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  return drained_.wait_for(lock, patience, [&] { return waiting_ <= bytes || receiver_gone(); }) &&
         !receiver_gone();
}

void StreamClient::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    filled_.wait(lock, [this] { return closing_ || !queue_.empty(); });
    if (queue_.empty()) return;
    const Bytes bytes = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    const bool written = write_all(bytes);
    lock.lock();
    waiting_ -= bytes.size();
    if (!written) {
      gone_ = true;
      queue_.clear();
      waiting_ = 0;
    }
    drained_.notify_all();
  }
}

bool StreamClient::write_all(const Bytes& bytes) {
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t size = ::send(socket_.get(), bytes.data() + done, bytes.size() - done,
                                MSG_NOSIGNAL | MSG_DONTWAIT);
    if (size >= 0) {
      done += static_cast<size_t>(size);
    } else if (errno == EAGAIN) {
      pollfd room{socket_.get(), POLLOUT, 0};
      ::poll(&room, 1, kPollMilliseconds);
      if (monotonic_ns() > give_up_ns_) return false;
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

}  // namespace tally::store::stream
