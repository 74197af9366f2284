#include "egl/gl/driver_counters.h"

#include <algorithm>
#include <array>
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

}  // namespace tally::egl
