#include "egl/gl/driver_segments.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace tally::egl {
namespace {

using Type = DriverCounter::Type;

constexpr size_t kMaxPendingSegments = 64;  // pending results before we wait for the oldest

bool any(const std::vector<bool>& bits) {
  return std::find(bits.begin(), bits.end(), true) != bits.end();
}

template <typename T>
T load(const std::byte* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

// In units of 1/DriverCounter::kFraction. NaN, infinities and negative values become 0.
uint64_t fixed_point(double value) {
  return value > 0 && std::isfinite(value)
             ? static_cast<uint64_t>(value * DriverCounter::kFraction + 0.5)
             : 0;
}

uint64_t decode(Type type, const std::byte* bytes) {
  switch (type) {
    case Type::Uint32:
      return load<uint32_t>(bytes);
    case Type::Uint64:
      return load<uint64_t>(bytes);
    case Type::Float:
      return fixed_point(load<float>(bytes));
    default:
      return fixed_point(load<double>(bytes));
  }
}

}  // namespace

DriverSegments::DriverSegments(const RawGl& gl, std::shared_ptr<const DriverCounters> counters)
    : gl_(gl),
      counters_(std::move(counters)),
      totals_(new std::atomic<uint64_t>[counters_->total_count]()) {}

void DriverSegments::open(const DriverChoice& choice) {
  if (open_) return;
  open_ = true;
  choice_ = choice;
  begin_all();
}

void DriverSegments::close() {
  end_all();
  open_ = false;
}

void DriverSegments::begin_all() {
  if (application_queries_ > 0) return;
  const size_t groups = std::min(choice_.size(), counters_->groups.size());
  for (size_t g = 0; g < groups; g++) {
    if (any(choice_[g])) begin(counters_->groups[g], choice_[g]);
  }
}

bool DriverSegments::begin(const DriverCounterGroup& group, const std::vector<bool>& chosen) {
  Running running{&group, 0, chosen};
  if (group.api == DriverCounterGroup::Api::IntelQuery) {
    gl_.glCreatePerfQueryINTEL(group.id, &running.handle);
    gl_.glBeginPerfQueryINTEL(running.handle);
  } else {
    std::vector<GLuint> ids;
    for (size_t i = 0; i < chosen.size(); i++) {
      if (chosen[i]) ids.push_back(group.counters[i].id);
    }
    gl_.glGenPerfMonitorsAMD(1, &running.handle);
    gl_.glSelectPerfMonitorCountersAMD(running.handle, GL_TRUE, group.id,
                                       static_cast<GLint>(ids.size()), ids.data());
    gl_.glBeginPerfMonitorAMD(running.handle);
  }
  if (gl_.glGetError() != GL_NO_ERROR) {  // the hardware cannot measure it together with the others
    if (group.api == DriverCounterGroup::Api::IntelQuery) {
      gl_.glDeletePerfQueryINTEL(running.handle);
    } else {
      gl_.glDeletePerfMonitorsAMD(1, &running.handle);
    }
    return false;
  }
  running_.push_back(std::move(running));
  return true;
}

void DriverSegments::end_all() {
  for (Running& running : running_) {
    if (running.group->api == DriverCounterGroup::Api::IntelQuery) {
      gl_.glEndPerfQueryINTEL(running.handle);
    } else {
      gl_.glEndPerfMonitorAMD(running.handle);
    }
    pending_.push_back(std::move(running));
  }
  running_.clear();
}

void DriverSegments::before_application_begins() {
  application_queries_++;
  end_all();
}

void DriverSegments::after_application_ends() {
  if (application_queries_ > 0 && --application_queries_ == 0 && open_) begin_all();
}

void DriverSegments::collect_results(bool wait) {
  // AMD's extension has no call that waits for a result.
  if (wait && !pending_.empty() && !is_available(pending_.back())) gl_.glFinish();
  while (!pending_.empty() &&
         (wait || pending_.size() > kMaxPendingSegments || is_available(pending_.front()))) {
    finish(pending_.front());
    pending_.pop_front();
  }
}

bool DriverSegments::is_available(const Running& running) const {
  GLuint available = 0;
  if (running.group->api == DriverCounterGroup::Api::AmdMonitor) {
    gl_.glGetPerfMonitorCounterDataAMD(running.handle, GL_PERFMON_RESULT_AVAILABLE_AMD,
                                       sizeof available, &available, nullptr);
  } else {
    std::vector<std::byte> data(running.group->result_bytes);
    gl_.glGetPerfQueryDataINTEL(running.handle, GL_PERFQUERY_DONOT_FLUSH_INTEL,
                                static_cast<GLsizei>(data.size()), data.data(), &available);
  }
  return available != 0;
}

void DriverSegments::finish(const Running& running) {
  if (running.group->api == DriverCounterGroup::Api::AmdMonitor) {
    read_amd(running);
    GLuint handle = running.handle;
    gl_.glDeletePerfMonitorsAMD(1, &handle);
  } else {
    read_intel(running);
    gl_.glDeletePerfQueryINTEL(running.handle);
  }
}

// The result is a sequence of {group, counter, value}; the type gives the size of the value.
void DriverSegments::read_amd(const Running& running) {
  GLuint bytes = 0;
  gl_.glGetPerfMonitorCounterDataAMD(running.handle, GL_PERFMON_RESULT_SIZE_AMD, sizeof bytes,
                                     &bytes, nullptr);
  std::vector<GLuint> words((bytes + 3) / 4);
  GLint written = 0;
  gl_.glGetPerfMonitorCounterDataAMD(running.handle, GL_PERFMON_RESULT_AMD,
                                     static_cast<GLsizei>(words.size() * 4), words.data(),
                                     &written);
  words.resize(std::min<size_t>(words.size(), static_cast<size_t>(std::max(written, 0)) / 4));
  const auto& counters = running.group->counters;
  for (size_t i = 0; i + 2 < words.size();) {
    const GLuint id = words[i + 1];
    const auto found = std::find_if(counters.begin(), counters.end(),
                                    [id](const DriverCounter& c) { return c.id == id; });
    if (found == counters.end()) return;
    const size_t value_words = DriverCounter::size_of(found->type) / 4;
    if (i + 2 + value_words > words.size()) return;
    add(*found, reinterpret_cast<const std::byte*>(&words[i + 2]));
    i += 2 + value_words;
  }
}

void DriverSegments::read_intel(const Running& running) {
  std::vector<std::byte> data(running.group->result_bytes);
  GLuint written = 0;
  gl_.glGetPerfQueryDataINTEL(running.handle, GL_PERFQUERY_WAIT_INTEL,
                              static_cast<GLsizei>(data.size()), data.data(), &written);
  for (size_t i = 0; i < running.group->counters.size(); i++) {
    const DriverCounter& counter = running.group->counters[i];
    if (running.chosen[i] && counter.offset + DriverCounter::size_of(counter.type) <= written) {
      add(counter, data.data() + counter.offset);
    }
  }
}

void DriverSegments::add(const DriverCounter& counter, const std::byte* value) {
  std::atomic<uint64_t>& total = totals_[counter.total];
  const uint64_t amount = decode(counter.type, value);
  total.store(counter.is_level ? amount : total.load(std::memory_order_relaxed) + amount,
              std::memory_order_relaxed);
}

}  // namespace tally::egl
