#include "egl/gl/driver_counters.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <optional>

namespace tally::egl {
namespace {

constexpr size_t kMaxNameBytes = 256;
constexpr GLsizei kMaxGroups = 256, kMaxCounters = 1024;

using Type = DriverCounter::Type;

uint64_t largest(Type type) {
  switch (type) {
    case Type::Uint32:
      return UINT32_MAX;
    case Type::Uint64:
      return UINT64_MAX;
    default:
      return UINT64_MAX / DriverCounter::kFraction;
  }
}

std::string amd_group_name(const RawGl& gl, GLuint group) {
  std::array<char, kMaxNameBytes> name{};
  GLsizei length = 0;
  gl.glGetPerfMonitorGroupStringAMD(group, name.size() - 1, &length, name.data());
  return name.data();
}

DriverCounter amd_counter(const RawGl& gl, GLuint group, GLuint id) {
  std::array<char, kMaxNameBytes> name{};
  GLsizei length = 0;
  gl.glGetPerfMonitorCounterStringAMD(group, id, name.size() - 1, &length, name.data());
  GLenum type = GL_UNSIGNED_INT;
  gl.glGetPerfMonitorCounterInfoAMD(group, id, GL_COUNTER_TYPE_AMD, &type);

  DriverCounter counter{};
  counter.name = name.data();
  counter.id = id;
  counter.is_level = type == GL_PERCENTAGE_AMD;
  counter.unit = counter.is_level ? "%" : "";
  counter.type = type == GL_UNSIGNED_INT64_AMD                   ? Type::Uint64
                 : type == GL_FLOAT || type == GL_PERCENTAGE_AMD ? Type::Float
                                                                 : Type::Uint32;
  counter.denominator = counter.type == Type::Float ? DriverCounter::kFraction : 1;
  // A sum over many frames may exceed the maximum of one result, so the driver's range bounds only
  // levels.
  counter.maximum = counter.is_level ? 100 : UINT64_MAX / counter.denominator;
  return counter;
}

void list_amd(const RawGl& gl, DriverCounters& all) {
  if (!has_gl_extension(gl, "GL_AMD_performance_monitor")) return;
  GLint group_count = 0;
  std::vector<GLuint> groups(kMaxGroups);
  gl.glGetPerfMonitorGroupsAMD(&group_count, kMaxGroups, groups.data());
  if (gl.glGetError() != GL_NO_ERROR) return;
  groups.resize(std::clamp<GLint>(group_count, 0, kMaxGroups));
  for (const GLuint id : groups) {
    GLint count = 0, max_active = 0;
    std::vector<GLuint> ids(kMaxCounters);
    gl.glGetPerfMonitorCountersAMD(id, &count, &max_active, kMaxCounters, ids.data());
    ids.resize(std::clamp<GLint>(count, 0, kMaxCounters));
    DriverCounterGroup group{DriverCounterGroup::Api::AmdMonitor,
                             id,
                             amd_group_name(gl, id),
                             static_cast<uint32_t>(std::max(max_active, 0)),
                             0,
                             {}};
    for (const GLuint counter : ids) group.counters.push_back(amd_counter(gl, id, counter));
    if (!group.counters.empty() && group.max_active > 0) all.groups.push_back(std::move(group));
  }
}

std::optional<Type> intel_type(GLuint type) {
  switch (type) {
    case GL_PERFQUERY_COUNTER_DATA_UINT32_INTEL:
    case GL_PERFQUERY_COUNTER_DATA_BOOL32_INTEL:
      return Type::Uint32;
    case GL_PERFQUERY_COUNTER_DATA_UINT64_INTEL:
      return Type::Uint64;
    case GL_PERFQUERY_COUNTER_DATA_FLOAT_INTEL:
      return Type::Float;
    case GL_PERFQUERY_COUNTER_DATA_DOUBLE_INTEL:
      return Type::Double;
    default:
      return std::nullopt;
  }
}

std::optional<DriverCounter> intel_counter(const RawGl& gl, GLuint query, GLuint position,
                                           GLuint result_bytes) {
  std::array<char, kMaxNameBytes> name{}, description{};
  GLuint offset = 0, bytes = 0, kind = 0, data_type = 0;
  GLuint64 raw_max = 0;
  gl.glGetPerfCounterInfoINTEL(query, position, name.size() - 1, name.data(),
                               description.size() - 1, description.data(), &offset, &bytes, &kind,
                               &data_type, &raw_max);
  const auto type = intel_type(data_type);
  if (!type || offset > result_bytes || result_bytes - offset < DriverCounter::size_of(*type))
    return std::nullopt;

  DriverCounter counter{};
  counter.name = name.data();
  counter.id = position;
  counter.offset = offset;
  counter.type = *type;
  counter.is_level = kind != GL_PERFQUERY_COUNTER_EVENT_INTEL &&
                     kind != GL_PERFQUERY_COUNTER_DURATION_RAW_INTEL &&
                     kind != GL_PERFQUERY_COUNTER_RAW_INTEL;
  counter.denominator =
      *type == Type::Float || *type == Type::Double ? DriverCounter::kFraction : 1;
  counter.maximum = !counter.is_level ? UINT64_MAX / counter.denominator
                    : raw_max != 0    ? raw_max
                                      : largest(*type);
  return counter;
}

void list_intel(const RawGl& gl, DriverCounters& all) {
  if (!has_gl_extension(gl, "GL_INTEL_performance_query")) return;
  GLuint id = 0;
  gl.glGetFirstPerfQueryIdINTEL(&id);
  if (gl.glGetError() != GL_NO_ERROR) return;
  for (GLsizei i = 0; i < kMaxGroups && id != 0; i++) {
    std::array<char, kMaxNameBytes> name{};
    GLuint bytes = 0, count = 0, instances = 0, capabilities = 0;
    gl.glGetPerfQueryInfoINTEL(id, name.size() - 1, name.data(), &bytes, &count, &instances,
                               &capabilities);
    DriverCounterGroup group{DriverCounterGroup::Api::IntelQuery, id, name.data(), 0, bytes, {}};
    for (GLuint position = 1; position <= std::min<GLuint>(count, kMaxCounters); position++) {
      if (auto counter = intel_counter(gl, id, position, bytes)) {
        group.counters.push_back(std::move(*counter));
      }
    }
    group.max_active = static_cast<uint32_t>(group.counters.size());
    if (!group.counters.empty()) all.groups.push_back(std::move(group));
    const GLuint previous = id;
    id = 0;
    gl.glGetNextPerfQueryIdINTEL(previous, &id);
  }
}

}  // namespace

DriverCounters DriverCounters::list(const RawGl& gl) {
  DriverCounters all;
  list_amd(gl, all);
  list_intel(gl, all);
  for (DriverCounterGroup& group : all.groups) {
    for (DriverCounter& counter : group.counters) counter.total = all.total_count++;
  }
  return all;
}

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
