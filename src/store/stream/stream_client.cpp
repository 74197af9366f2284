#include "store/stream/stream_client.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "platform/process.h"
#include "store/stream/clock.h"

namespace tally::store::stream {
namespace {

constexpr std::chrono::milliseconds kPoll{100};

}  // namespace

Result<std::unique_ptr<StreamClient>> StreamClient::connect(const std::string& name,
                                                            std::chrono::milliseconds patience) {
  auto channel = TALLY_TRY(platform::ChannelClient::connect(name));
  std::unique_ptr<StreamClient> client(new StreamClient(name, std::move(channel), patience));
  TALLY_TRY(with_context(client->send_handshake(), name));
  return client;
}

StreamClient::StreamClient(const std::string& name, platform::ChannelClient channel,
                           std::chrono::milliseconds patience)
    : name_(name), channel_(std::move(channel)), patience_(patience), owner_(::getpid()) {}

Status StreamClient::send_handshake() {
  Bytes handshake;
  append_handshake(handshake);
  return channel_.send_first(handshake, ledger_.memory());
}

// The receiver first reads what the lost connection holds.
Status StreamClient::reconnect() {
  const auto token = ledger_.token();
  if (!token) return Error{"the process shares no memory with `tally run`"};
  auto channel = TALLY_TRY(platform::ChannelClient::connect(name_));
  Bytes bytes;
  Resumption{*token, position_}.append_to(bytes);
  platform::SharedMemory none;
  TALLY_TRY(channel.send_first(bytes, none));
  channel_ = std::move(channel);
  return {};
}

bool StreamClient::is_connected() {
  if (channel_.is_open()) return true;
  const Status connected = reconnect();
  if (!connected) {
    log_once(LogLevel::Warning,
             "capturing stopped: the application closed the capture's connection, and Tally cannot "
             "open it again: {}",
             connected.error().message);
  }
  return connected.ok();
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
    // The connection usually takes everything at once, so the thread does not wake.
    if (waiting_ == 0)
      bytes.erase(bytes.begin(),
                  bytes.begin() + static_cast<ssize_t>(send_some(bytes).value_or(0)));
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
  return !receiver_gone() && channel_.flush(std::min(patience, patience_));
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
      channel_.shut_down();
    }
    drained_.notify_all();
  }
  thread_.end();
}

std::optional<size_t> StreamClient::send_some(std::span<const std::byte> bytes) {
  if (!is_connected()) return std::nullopt;
  const auto size = channel_.send_some(bytes);
  position_ += size.value_or(0);
  return size;
}

bool StreamClient::write_all(std::span<const std::byte> bytes) {
  auto last_progress = std::chrono::steady_clock::now();
  for (size_t done = 0; done < bytes.size();) {
    const auto size = send_some(bytes.subspan(done));
    if (!size) return false;
    const auto now = std::chrono::steady_clock::now();
    done += *size;
    if (*size > 0) last_progress = now;
    if (now - last_progress > patience_) return false;
    if (*size == 0) channel_.wait_for_room(kPoll);
  }
  return true;
}

Process describe_this_process(std::string application, std::string engine) {
  return {.pid = ::getpid(),
          .parent_pid = platform::parent_process(),
          .executable = platform::executable_path(),
          .command_line = platform::command_line(),
          .application = std::move(application),
          .engine = std::move(engine),
          .start_ns = monotonic_ns()};
}

}  // namespace tally::store::stream
