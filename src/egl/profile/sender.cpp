#include "egl/profile/sender.h"

#include "base/log.h"
#include "store/clock.h"
#include "store/this_process.h"

namespace tally::egl {
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

}  // namespace tally::egl
