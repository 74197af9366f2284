#include "egl/profile/profile.h"

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/frame_range.h"
#include "base/log.h"
#include "base/settings.h"
#include "egl/driver/driver.h"
#include "egl/driver/lifetime.h"
#include "egl/gl/hot.h"
#include "egl/session/session.h"
#include "store/stream/clock.h"
#include "store/stream/ledger.h"
#include "store/stream/stream_client.h"

namespace tally::egl {

// The profile's side of the capture stream. Describes the process's GL and its counters, then sends
// one batch of messages per frame. Once send() returns, the batch has left the process, even if the
// process is then killed. A receiver that does not respond is dropped
// (store/stream/stream_client.h).

struct GlDescription {
  std::string renderer;
  std::string vendor;
  std::string version;
};

struct ProfiledFrame {
  int64_t number = 0;
  int64_t begin_ns = 0;
  std::optional<int64_t> end_ns;  // empty: the process ended during the frame
  std::vector<Record> records;
};

class Sender {
 public:
  // Returns null and logs a warning if nothing listens at `socket`.
  static std::unique_ptr<Sender> connect(const std::string& socket, const GlDescription& gl);

  void send(const ProfiledFrame& frame);
  void warn(const std::string& text);
  void send_end();

  // The receiver's request.
  store::stream::Orders orders() const { return client_->ledger().orders(); }
  void count_dropped_frame() { client_->ledger().add_dropped_frame(); }

 private:
  explicit Sender(std::unique_ptr<store::stream::StreamClient> client);
  void introduce(const GlDescription& gl);
  // Adds a description of the counter if the receiver does not know it yet.
  uint64_t counter_id(const Record& record, store::stream::Bytes& bytes);

  std::unique_ptr<store::stream::StreamClient> client_;
  std::vector<std::vector<uint64_t>> known_;  // ids of counters, by group and index; 0: not sent
  uint64_t next_id_ = 1;
};

namespace {

namespace stream = store::stream;

constexpr stream::Id kDevice = 1;  // stands for all GL of the process
constexpr size_t kMaxWaiting = size_t{64} << 20;

}  // namespace

std::unique_ptr<Sender> Sender::connect(const std::string& socket, const GlDescription& gl) {
  auto client = stream::StreamClient::connect(socket);
  if (!client) {
    log_once(LogLevel::Warning, "the EGL program is not profiled: {}", client.error().message);
    return nullptr;
  }
  std::unique_ptr<Sender> sender(new Sender(std::move(*client)));
  sender->introduce(gl);
  return sender;
}

Sender::Sender(std::unique_ptr<stream::StreamClient> client) : client_(std::move(client)) {}

void Sender::introduce(const GlDescription& gl) {
  stream::Bytes bytes;
  stream::append_message(bytes, stream::describe_this_process());
  stream::append_message(bytes, stream::Device{{.id = kDevice,
                                                .name = gl.renderer,
                                                .type = "gl",
                                                .driver_name = gl.vendor,
                                                .driver_info = gl.version},
                                               {},
                                               {}});
  client_->push(std::move(bytes), kMaxWaiting);
}

uint64_t Sender::counter_id(const Record& record, stream::Bytes& bytes) {
  if (known_.size() <= record.group) known_.resize(record.group + 1);
  std::vector<uint64_t>& ids = known_[record.group];
  if (ids.size() <= record.counter) ids.resize(record.counter + 1);
  uint64_t& id = ids[record.counter];
  if (id != 0) return id;
  id = next_id_++;
  const auto group = static_cast<EGLint>(record.group);
  const auto description = session().describe_group(group);
  const auto info = session().describe_counter(group, static_cast<EGLint>(record.counter));
  stream::append_message(
      bytes, stream::FrameCounter{.id = id,
                                  .device = kDevice,
                                  .group = description ? description->name : "",
                                  .name = info ? info->name : "",
                                  .unit = info ? info->unit : "",
                                  .denominator = info ? info->denominator : 1,
                                  .is_level = info && info->kind != CounterInfo::Kind::Total});
  return id;
}

void Sender::send(const ProfiledFrame& frame) {
  stream::Bytes definitions, bytes;
  stream::FrameValues values{kDevice, frame.number, {}};
  for (const Record& record : frame.records) {
    values.values.push_back({counter_id(record, definitions), record.value});
  }
  if (!definitions.empty()) client_->push(std::move(definitions), SIZE_MAX);
  stream::append_message(bytes, stream::Frame{kDevice, frame.number, frame.begin_ns});
  stream::append_message(bytes, values);
  if (frame.end_ns) {
    stream::append_message(
        bytes, stream::FrameEnded{kDevice, frame.number, *frame.end_ns, store::FrameEnd::Present});
  }
  client_->push(std::move(bytes), kMaxWaiting);
  client_->flush();
}

void Sender::warn(const std::string& text) {
  stream::Bytes bytes;
  stream::append_message(bytes, stream::Message{.time_ns = store::monotonic_ns(),
                                                .severity = store::Severity::Warning,
                                                .text = text});
  client_->push(std::move(bytes), SIZE_MAX);
}

void Sender::send_end() {
  stream::Bytes bytes;
  stream::append_message(bytes, stream::End{store::monotonic_ns()});
  client_->push(std::move(bytes), SIZE_MAX);
  client_.reset();
}

namespace {

// Empty if the variable is not set or must not be trusted.
std::string environment(const char* name) {
  const char* const value = secure_getenv(name);
  return value != nullptr ? value : "";
}

std::string text_of(const RawGl& gl, GLenum name) {
  const GLubyte* const text = gl.glGetString(name);
  return text != nullptr ? reinterpret_cast<const char*>(text) : "";
}

GlDescription describe(GlContext& context) {
  const RawGl& gl = context.driver().raw();
  return {text_of(gl, GL_RENDERER), text_of(gl, GL_VENDOR), text_of(gl, GL_VERSION)};
}

// True if a frame looks for new GPU engines. A kernel driver reports an engine once it has been
// used: soon in most programs. Looking at all descriptors can take as long as a small frame.
bool looks_for_engines(int64_t frame) {
  constexpr int64_t kEvery = 64;
  return frame % kEvery == 0 || std::has_single_bit(static_cast<uint64_t>(frame));
}

class Recorder {
 public:
  static Recorder& instance() {
    static Recorder& one = kept(std::make_unique<Recorder>());
    return one;
  }

  void context_is_current() {
    const std::lock_guard lock(mutex_);
    if (finished_) return;
    if (gl_) return begin();
    g_before_first_call.store(&Profile::gl_is_called, std::memory_order_release);
    g_collecting.fetch_or(kAwaitCall, std::memory_order_relaxed);
  }

  void gl_is_called() {
    if (t_hot.context == nullptr) return;  // of another thread, then
    const std::lock_guard lock(mutex_);
    try {
      if (!finished_ && !gl_) begin();
    } catch (...) {
      stop_awaiting();
      throw;
    }
    stop_awaiting();
  }

  void end_frame() {
    const std::lock_guard lock(mutex_);
    if (finished_) return;
    if (!gl_) begin();
    if (!gl_ || !announce()) return;
    const bool captured = schedule_.captured(number_);
    send_frame(store::monotonic_ns());
    if (finished_) return;
    number_++;
    if (schedule_.past(number_)) return finish();
    schedule_.obey(sender_->orders(), number_);
    if (schedule_.dropped(number_)) sender_->count_dropped_frame();
    if (schedule_.captured(number_)) {
      session().profile_everything(looks_for_engines(number_));
    } else if (captured) {
      session().end_profile();
    }
    begin_ns_ = store::monotonic_ns();
  }

  // Does nothing if the lock is held: then exit was called inside one of our functions.
  void end_process() {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock || finished_ || !gl_ || process_ != ::getpid()) return;
    send_frame(std::nullopt);
    finish();
  }

 private:
  static void stop_awaiting() {
    g_collecting.fetch_and(~uint32_t{kAwaitCall}, std::memory_order_relaxed);
  }

  void begin() {
    if (t_hot.context == nullptr) return;
    if (!gl_) {
      gl_ = describe(*t_hot.context);
      process_ = ::getpid();
      begin_ns_ = store::monotonic_ns();
    }
    if (schedule_.captured(number_)) session().profile_everything(true);
  }

  // Tells the receiver of the process and its GL. Returns false where that cannot be done.
  bool announce() {
    if (sender_ != nullptr) return true;
    if (process_ == ::getpid())
      sender_ = Sender::connect(environment("TALLY_CAPTURE_SOCKET"), *gl_);
    finished_ = sender_ == nullptr;
    return !finished_;
  }

  // Calls no GL at process exit: results that the GPU has not delivered by then are missing.
  void send_frame(std::optional<int64_t> end_ns) {
    if (process_ != ::getpid()) {
      finished_ = true;
      return;
    }
    if (!schedule_.captured(number_)) return;
    std::vector<Record> records;
    const bool measured = session().read_profile(end_ns.has_value(), records);
    if (!announce()) return;
    if (!measured) return warn_counters_are_taken();
    sender_->send({number_, begin_ns_, end_ns, std::move(records)});
  }

  void warn_counters_are_taken() {
    if (std::exchange(warned_, true)) return;
    sender_->warn("frames in which the program itself holds the counters are not profiled");
  }

  void finish() {
    finished_ = true;
    session().end_profile();
    if (sender_ != nullptr) sender_->send_end();
  }

  std::mutex mutex_;
  std::optional<GlDescription> gl_;  // of the first context
  pid_t process_ = 0;                // that made it current
  std::unique_ptr<Sender> sender_;   // null until the first swap
  store::stream::FrameSchedule schedule_{frame_choice(Settings::load("tally_capture", {}))};
  int64_t number_ = 0;
  int64_t begin_ns_ = 0;
  bool finished_ = false;
  bool warned_ = false;
};

template <typename Action>
void log_exceptions(Action action) noexcept {
  try {
    action();
  } catch (const std::exception& error) {
    log_once(LogLevel::Warning, "the EGL program's profile has a gap: {}", error.what());
  }
}

}  // namespace

const bool Profile::wanted_ = !environment("TALLY_CAPTURE_SOCKET").empty();

void Profile::context_is_current() noexcept {
  log_exceptions([] { Recorder::instance().context_is_current(); });
}

void Profile::gl_is_called() noexcept {
  log_exceptions([] { Recorder::instance().gl_is_called(); });
}

void Profile::swapped() noexcept {
  log_exceptions([] { Recorder::instance().end_frame(); });
}

void Profile::end() noexcept {
  if (wanted()) log_exceptions([] { Recorder::instance().end_process(); });
}

}  // namespace tally::egl
