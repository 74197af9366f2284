#include "store/write/collector.h"

#include <fmt/format.h>

#include <algorithm>
#include <list>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "platform/channel.h"
#include "store/format/schema.h"
#include "store/stream/clock.h"
#include "store/stream/ledger.h"
#include "store/stream/stream.h"
#include "store/write/ingest.h"

namespace tally::store {
namespace {

using platform::ChannelServer;
using platform::kLargeRead;

constexpr size_t kMaxConnections = 256;
constexpr size_t kReadBytes = size_t{256} << 10;
constexpr std::chrono::milliseconds kPoll{100};
constexpr std::chrono::duration<double> kCommitEvery{kCommitSeconds};

struct Connection {
  std::unique_ptr<ChannelServer::Incoming> channel;
  stream::Bytes greeting;  // until it is complete
  bool greeted = false;
  uint64_t received = 0;  // bytes after the handshake
  Ingest ingest;
  stream::StreamDecoder decoder;
  stream::ReceivedLedger ledger;
  uint64_t requested = 0;  // frames, until there is a ledger

  Status status;  // an error: the stream is malformed

  Connection(std::unique_ptr<ChannelServer::Incoming> accepted, Writer& writer, SizeLimit& limit)
      : channel(std::move(accepted)), ingest(writer, limit) {}
  bool is_open() const { return channel->is_open(); }
  // Neither: it was a resumption, and another connection has what was its own.
  bool is_open_or_watched() const { return is_open() || channel->is_watched(); }
  bool dropped() const { return ingest.dropped() || ledger.frames_dropped() != 0; }
  uint64_t frames_dropped() const { return ingest.frames_dropped() + ledger.frames_dropped(); }
};

}  // namespace

// Only the thread uses the writer and the connections, until it is joined.
class Collector::Loop {
 public:
  Loop(Writer writer, CollectorLimits limits, std::unique_ptr<ChannelServer> server)
      : writer_(std::move(writer)),
        limit_(limits.file_bytes),
        last_frames_(limits.last_frames),
        server_(std::move(server)) {}

  ~Loop() { stop(); }

  void start() {
    thread_ = std::thread([this] { run(); });
  }
  const std::string& name() const { return server_->name(); }

  Progress progress() const {
    return {processes_.load(), connected(),   accept_rounds_.load(),
            frames_.load(),    bytes_.load(), frames_dropped_.load()};
  }
  void stop_capturing() {
    stopped_ = true;
    server_->wake();
  }
  uint64_t request_frames(uint64_t frames) {
    const uint64_t processes = connected();
    if (processes == 0) return 0;
    requested_ += frames;
    server_->wake();
    return processes;
  }

  void begin_ending(std::chrono::milliseconds grace) {
    deadline_ns_ = monotonic_ns() + std::chrono::nanoseconds(grace).count();
    server_->wake();
  }
  void stop() {
    if (!thread_.joinable()) return;
    if (deadline_ns_ == kNever) deadline_ns_ = 0;
    server_->wake();
    thread_.join();
  }
  Writer& writer() { return writer_; }
  // After the end of all connections.
  void remove_frames() {
    if (last_frames_ == 0) return;
    writer_.keep_last_frames(last_frames_);
    writer_.remove_unused({});
  }

 private:
  static constexpr int64_t kNever = INT64_MAX;

  void run();
  const std::vector<ChannelServer::Incoming*>& channels();
  bool done();
  uint64_t connected() const;
  bool accept_one();
  void accept_all();
  bool any_has_ended() const;
  enum class Read { Some, Nothing, End };
  Read read_once(Connection& connection);
  void greet(Connection& connection);
  bool goes_on(Connection& connection);
  bool has_connected_again(Connection& connection);
  bool read_some(Connection& connection);
  void resume(Connection& fresh);
  void report_dropped(const Connection& connection, int64_t now);
  void report_refused();
  void drop(Connection& connection);
  void commit_when_due(bool idle);
  void remove_unused();
  void give_orders();

  Writer writer_;
  SizeLimit limit_;
  const uint64_t last_frames_;
  uint64_t frames_at_removal_ = 0;
  std::atomic<bool> stopped_ = false;
  const std::unique_ptr<ChannelServer> server_;
  std::thread thread_;
  std::list<Connection> connections_;
  std::vector<ChannelServer::Incoming*> channels_;
  std::vector<std::byte> buffer_ = std::vector<std::byte>(kReadBytes);
  std::chrono::steady_clock::time_point committed_ = std::chrono::steady_clock::now();
  std::atomic<int64_t> deadline_ns_ = kNever;
  bool cut_off_ = false;
  bool gathers_ = false;  // before the next read
  uint64_t refused_ = 0;  // processes beyond kMaxConnections
  std::atomic<uint64_t> accept_rounds_ = 0;
  std::atomic<uint64_t> processes_ = 0;
  std::atomic<uint64_t> connected_ = 0;
  std::atomic<uint64_t> frames_ = 0;
  std::atomic<uint64_t> bytes_ = 0;
  std::atomic<uint64_t> requested_ = 0;       // frames, not asked for yet
  std::atomic<uint64_t> frames_dropped_ = 0;  // of all connections
  uint64_t frames_dropped_before_ = 0;        // of those that have ended
};

void Collector::Loop::run() {
  while (!done()) {
    if (std::exchange(gathers_, false)) (void)server_->gather(channels());
    const ChannelServer::Ready& ready = server_->wait(channels(), kPoll);
    const bool is_asked = ready.is_asked;
    commit_when_due(!ready.any);
    give_orders();
    if (!ready.any) continue;
    auto connection = connections_.begin();
    for (const bool is_ready : ready.incoming) {
      const auto current = connection++;
      if (is_ready && !read_some(*current)) connections_.erase(current);
    }
    std::erase_if(connections_, [](const Connection& c) { return !c.is_open_or_watched(); });
    if (is_asked) accept_all();
    connected_ = connections_.size();
  }
  report_refused();
}

void Collector::Loop::report_refused() {
  if (refused_ == 0) return;
  writer_.add(
      MessageRow{.time_ns = monotonic_ns(),
                 .severity = Severity::Warning,
                 .text = fmt::format("processes not captured because {} others were connected: {}",
                                     kMaxConnections, refused_)});
}

const std::vector<ChannelServer::Incoming*>& Collector::Loop::channels() {
  channels_.clear();
  for (const Connection& connection : connections_) channels_.push_back(connection.channel.get());
  return channels_;
}

// Once the application has ended: no process is connected, and none waits to be accepted. After the
// grace, processes that are still connected can send nothing more; the loop reads what their
// sockets hold.
bool Collector::Loop::done() {
  if (deadline_ns_ == kNever) return false;
  if (!cut_off_ && monotonic_ns() >= deadline_ns_) {
    cut_off_ = true;
    std::erase_if(connections_, [this](Connection& connection) {
      const bool is_open = connection.is_open();
      if (!is_open) drop(connection);
      if (is_open) connection.channel->end_sending();
      return !is_open;
    });
  }
  return connections_.empty() && (cut_off_ || !server_->is_asked());
}

// Any thread. Never 0 once a process has connected: accept_one() raises connected_ before it
// accepts.
uint64_t Collector::Loop::connected() const {
  const uint64_t waiting = server_->is_asked() ? 1 : 0;
  return std::max(waiting, connected_.load());
}

// False: none waits.
bool Collector::Loop::accept_one() {
  connected_ = connections_.size() + 1;
  std::unique_ptr<ChannelServer::Incoming> accepted;
  const bool waited = server_->accept(accepted);
  const bool is_wanted = accepted && !cut_off_;
  if (is_wanted && connections_.size() < kMaxConnections) {
    connections_.emplace_back(std::move(accepted), writer_, limit_);
    ++processes_;
  } else if (is_wanted) {
    ++refused_;
  }
  connected_ = connections_.size();
  return waited;
}

// Beyond the limit, processes wait while one that has ended is read to its end, and are refused if
// there is none.
void Collector::Loop::accept_all() {
  bool any = false;
  while ((connections_.size() < kMaxConnections || !any_has_ended()) && accept_one()) {
    if (!any) ++accept_rounds_;
    any = true;
  }
}

bool Collector::Loop::any_has_ended() const {
  return std::ranges::any_of(
      connections_, [](const Connection& connection) { return connection.channel->has_ended(); });
}

Collector::Loop::Read Collector::Loop::read_once(Connection& connection) {
  std::span<std::byte> room = buffer_;
  if (!connection.greeted) {
    const bool resumes = connection.greeting.size() >= stream::kHandshakeBytes;
    room = room.first((resumes ? stream::Resumption::kBytes : stream::kHandshakeBytes) -
                      connection.greeting.size());
  }
  const auto size = connection.channel->read(room);
  if (!size) return Read::End;
  if (*size == 0) return Read::Nothing;
  platform::SharedMemory memory = connection.channel->take_memory();
  if (memory && !connection.ingest.has_process() && !connection.ledger.valid())
    connection.ledger = stream::ReceivedLedger(std::move(memory));
  const auto bytes = room.first(*size);
  bytes_ += bytes.size();
  if (!connection.greeted) {
    connection.greeting.insert(connection.greeting.end(), bytes.begin(), bytes.end());
    greet(connection);
    return connection.status.ok() ? Read::Some : Read::End;
  }
  connection.received += bytes.size();
  gathers_ = bytes.size() < kLargeRead;
  const uint64_t frames = connection.ingest.frames();
  connection.status = connection.decoder.feed(
      bytes, [&](stream::AnyMessage& message) { return connection.ingest.take(message); });
  frames_ += connection.ingest.frames() - frames;
  return connection.status.ok() ? Read::Some : Read::End;
}

void Collector::Loop::greet(Connection& connection) {
  const stream::Bytes& greeting = connection.greeting;
  if (greeting.size() < stream::kHandshakeBytes) return;
  if (stream::Resumption::begins(greeting)) {
    if (greeting.size() == stream::Resumption::kBytes) resume(connection);
    return;
  }
  connection.greeted = true;
  connection.status = connection.decoder.feed(greeting, {});
}

// Gives the channel to the connection whose stream goes on.
void Collector::Loop::resume(Connection& fresh) {
  --processes_;  // it was counted when it first connected
  const auto resumption = stream::Resumption::read(fresh.greeting);
  const auto found = std::ranges::find_if(connections_, [&](const Connection& old) {
    return old.channel->sender() == fresh.channel->sender() && old.greeted &&
           old.ledger.token() == resumption.token;
  });
  if (found != connections_.end()) {
    while (found->is_open() && read_once(*found) == Read::Some) {
    }
    if (found->status.ok() && found->received == resumption.position)
      found->channel->take_over(*fresh.channel);
  }
  fresh.channel->close();
}

// True if the stream of a connection that is closed goes on: the process has connected again,
// or it may as long as it lives.
bool Collector::Loop::goes_on(Connection& connection) {
  if (cut_off_ || !connection.greeted || !connection.status) return false;
  if (connection.ingest.ended() || !connection.ledger.valid()) return false;
  if (connection.ledger.goes_on() && connection.channel->watch_process()) return true;
  connection.channel->close();
  return has_connected_again(connection);
}

// Looks at the connections that have not said yet what they are.
bool Collector::Loop::has_connected_again(Connection& connection) {
  accept_all();
  for (Connection& fresh : connections_) {
    while (!connection.is_open() && fresh.is_open() && !fresh.greeted && fresh.status.ok() &&
           fresh.channel->sender() == connection.channel->sender() &&
           read_once(fresh) == Read::Some) {
    }
  }
  return connection.is_open();
}

// False: the connection has ended.
bool Collector::Loop::read_some(Connection& connection) {
  if (connection.is_open() && read_once(connection) != Read::End)
    return connection.is_open_or_watched();
  if (goes_on(connection)) return true;
  drop(connection);
  return false;
}

void Collector::Loop::drop(Connection& connection) {
  const int64_t now = monotonic_ns();
  report_dropped(connection, now);
  connection.ingest.end(now, !connection.status, connection.ledger.submitted(),
                        connection.dropped());
  if (connection.status.ok()) return;
  writer_.add(
      MessageRow{.time_ns = now,
                 .severity = Severity::Error,
                 .text = fmt::format("capturing process {} stopped: {}", connection.ingest.pid(),
                                     connection.status.error().message)});
}

void Collector::Loop::report_dropped(const Connection& connection, int64_t now) {
  const uint64_t dropped = connection.frames_dropped();
  frames_dropped_before_ += dropped;
  if (!connection.dropped()) return;
  writer_.add(MessageRow{
      .process = connection.ingest.process(),
      .time_ns = now,
      .severity = Severity::Warning,
      .text = fmt::format("the capture reached its limit of {:.1f} MiB: {} later frames of process "
                          "{} are not in it",
                          static_cast<double>(limit_.bytes()) / (1 << 20), dropped,
                          connection.ingest.pid())});
}

void Collector::Loop::give_orders() {
  const uint64_t frames = requested_.exchange(0);
  // The request is also for the processes that had connected when it was made.
  if (frames != 0) accept_all();
  uint64_t dropped = frames_dropped_before_;
  for (Connection& connection : connections_) {
    connection.requested += frames;
    if (connection.requested != 0 && connection.ledger.valid()) {
      connection.ledger.request_frames(std::exchange(connection.requested, 0));
    }
    if (limit_.full() || stopped_) connection.ledger.stop();
    dropped += connection.frames_dropped();
  }
  frames_dropped_ = dropped;
}

void Collector::Loop::commit_when_due(bool idle) {
  const auto now = std::chrono::steady_clock::now();
  if (!idle && now - committed_ < kCommitEvery) return;
  // Not at each frame: it reads all that is kept.
  if (last_frames_ != 0 && frames_ >= frames_at_removal_ + last_frames_) {
    frames_at_removal_ = frames_;
    writer_.keep_last_frames(last_frames_);
    if (writer_.has_many_new()) remove_unused();
  }
  writer_.commit();
  committed_ = now;
}

void Collector::Loop::remove_unused() {
  Writer::HeldRows held;
  for (const Connection& connection : connections_) connection.ingest.add_held(held);
  writer_.remove_unused(std::move(held));
}

Collector::Collector(std::unique_ptr<Loop> loop) : loop_(std::move(loop)) {}
Collector::~Collector() = default;

Result<std::unique_ptr<Collector>> Collector::start(Writer writer, const std::string& directory,
                                                    CollectorLimits limits) {
  auto server = TALLY_TRY(ChannelServer::listen(directory));
  auto loop = std::make_unique<Loop>(std::move(writer), limits, std::move(server));
  loop->start();
  return std::unique_ptr<Collector>(new Collector(std::move(loop)));
}

void Collector::stop_capturing() { loop_->stop_capturing(); }
uint64_t Collector::request_frames(uint64_t frames) { return loop_->request_frames(frames); }

const std::string& Collector::name() const { return loop_->name(); }
Collector::Progress Collector::progress() const { return loop_->progress(); }

Status Collector::finish(std::optional<int64_t> exit_status, std::chrono::milliseconds grace) {
  loop_->begin_ending(grace);
  loop_->stop();
  loop_->remove_frames();
  return loop_->writer().finish(monotonic_ns(), exit_status);
}

}  // namespace tally::store
