#include "fake_gl.h"

#include <GL/gl.h>
#include <GL/glext.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "fake_egl.h"

namespace tally::egl_test {
namespace {

std::atomic<uint64_t> g_draws{0};
thread_local GLenum t_error = GL_NO_ERROR;

long nothing() { return 0; }

GLenum get_error() {
  const GLenum error = t_error;
  t_error = GL_NO_ERROR;
  return error;
}
void fail(GLenum error) {
  if (t_error == GL_NO_ERROR) t_error = error;
}

// Only one thread draws at a time; a locked instruction would hide the cost that benchmarks
// measure.
void draw_arrays(GLenum, GLint, GLsizei) {
  g_draws.store(g_draws.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

const char* const kExtensions[] = {"GL_AMD_performance_monitor", "GL_INTEL_performance_query"};
const GLubyte* bytes(const char* text) { return reinterpret_cast<const GLubyte*>(text); }
const GLubyte* get_string(GLenum name) { return bytes(name == GL_VERSION ? "4.6 fake" : "fake"); }
const GLubyte* get_string_i(GLenum, GLuint index) { return bytes(kExtensions[index]); }
void get_integer(GLenum name, GLint* value) { *value = name == GL_NUM_EXTENSIONS ? 2 : 0; }
// No query objects: the fake offers only driver counters.
void begin_query(GLenum, GLuint) { fail(GL_INVALID_ENUM); }

// --- GL_AMD_performance_monitor: a group of four counters, two at a time, and a group of one

struct Monitor {
  GLuint group = 0;
  std::vector<GLuint> counters;
  bool running = false;
  uint64_t begin = 0, draws = 0;
};
std::mutex g_mutex;
std::map<GLuint, Monitor> g_monitors;
GLuint g_next = 1;

GLuint counters_in(GLuint group) { return group == 7 ? 4 : 1; }

void amd_groups(GLint* count, GLsizei most, GLuint* groups) {
  if (count != nullptr) *count = 2;
  if (groups != nullptr && most >= 2) {
    groups[0] = 7;
    groups[1] = 9;
  }
}
void amd_counters(GLuint group, GLint* count, GLint* active, GLsizei most, GLuint* counters) {
  const GLuint number = counters_in(group);
  if (count != nullptr) *count = static_cast<GLint>(number);
  if (active != nullptr) *active = group == 7 ? GLint{kFakeAmdActive} : 1;
  for (GLuint i = 0; i < number && i < static_cast<GLuint>(most); i++) counters[i] = i + 1;
}
void copy(const std::string& text, GLsizei size, GLsizei* length, char* to) {
  if (length != nullptr) *length = static_cast<GLsizei>(text.size());
  std::strncpy(to, text.c_str(), static_cast<size_t>(size));
}
void amd_group_name(GLuint group, GLsizei size, GLsizei* length, char* name) {
  // The second name exceeds EGL_MAX_COUNTER_STRING_LEN_BRCM.
  copy(group == 7 ? "Shaders" : std::string(200, 'M'), size, length, name);
}
void amd_counter_name(GLuint, GLuint counter, GLsizei size, GLsizei* length, char* name) {
  copy("Counter " + std::to_string(counter), size, length, name);
}
GLenum amd_type(GLuint counter) {
  const GLenum types[] = {GL_UNSIGNED_INT, GL_UNSIGNED_INT64_AMD, GL_PERCENTAGE_AMD, GL_FLOAT};
  return types[counter - 1];
}
void amd_counter_info(GLuint, GLuint counter, GLenum name, void* data) {
  if (name == GL_COUNTER_TYPE_AMD) *static_cast<GLenum*>(data) = amd_type(counter);
}
void amd_gen(GLsizei count, GLuint* names) {
  const std::lock_guard lock(g_mutex);
  for (GLsizei i = 0; i < count; i++) {
    names[i] = g_next++;
    g_monitors[names[i]] = {};
  }
}
void amd_delete(GLsizei count, GLuint* names) {
  const std::lock_guard lock(g_mutex);
  for (GLsizei i = 0; i < count; i++) g_monitors.erase(names[i]);
}
void amd_select(GLuint name, GLboolean, GLuint group, GLint count, GLuint* counters) {
  const std::lock_guard lock(g_mutex);
  Monitor& monitor = g_monitors[name];
  if (group == 7 && count > GLint{kFakeAmdActive}) return fail(GL_INVALID_OPERATION);
  monitor.group = group;
  monitor.counters.assign(counters, counters + count);
}
// The hardware runs one monitor per group at a time.
void amd_begin(GLuint name) {
  const std::lock_guard lock(g_mutex);
  Monitor& monitor = g_monitors[name];
  const bool busy = std::any_of(g_monitors.begin(), g_monitors.end(), [&](const auto& entry) {
    return entry.second.running && entry.second.group == monitor.group;
  });
  if (busy) return fail(GL_INVALID_OPERATION);
  monitor.running = true;
  monitor.begin = g_draws;
}
void amd_end(GLuint name) {
  const std::lock_guard lock(g_mutex);
  Monitor& monitor = g_monitors[name];
  if (!monitor.running) return fail(GL_INVALID_OPERATION);
  monitor.running = false;
  monitor.draws = g_draws - monitor.begin;
}
std::vector<GLuint> amd_result(const Monitor& monitor) {
  std::vector<GLuint> words;
  for (const GLuint counter : monitor.counters) {
    words.push_back(monitor.group);
    words.push_back(counter);
    const uint64_t value = monitor.draws * fake_weight(counter - 1);
    const GLenum type = amd_type(counter);
    const float number =
        type == GL_PERCENTAGE_AMD ? kFakePercentage : 0.5f * static_cast<float>(monitor.draws);
    GLuint word = static_cast<GLuint>(value);
    if (type == GL_PERCENTAGE_AMD || type == GL_FLOAT) std::memcpy(&word, &number, 4);
    words.push_back(word);
    if (type == GL_UNSIGNED_INT64_AMD) words.push_back(static_cast<GLuint>(value >> 32));
  }
  return words;
}
void amd_data(GLuint name, GLenum what, GLsizei size, GLuint* data, GLint* written) {
  const std::lock_guard lock(g_mutex);
  const auto words = amd_result(g_monitors[name]);
  if (what == GL_PERFMON_RESULT_AVAILABLE_AMD) *data = 1;
  if (what == GL_PERFMON_RESULT_SIZE_AMD) *data = static_cast<GLuint>(words.size() * 4);
  if (what == GL_PERFMON_RESULT_AMD) {
    const size_t copied = std::min(words.size(), static_cast<size_t>(size) / 4);
    std::copy_n(words.begin(), copied, data);
    *written = static_cast<GLint>(copied * 4);
  }
}

// --- GL_INTEL_performance_query: one query of four counters, one of which has a type that is not
// supported

constexpr GLuint kIntelQuery = 3, kIntelBytes = 32;
struct IntelCounter {
  const char* name;
  GLuint offset, bytes, kind, type;
};
const IntelCounter kIntel[] = {
    {"Draws", 0, 8, GL_PERFQUERY_COUNTER_EVENT_INTEL, GL_PERFQUERY_COUNTER_DATA_UINT64_INTEL},
    {"Busy", 8, 4, GL_PERFQUERY_COUNTER_THROUGHPUT_INTEL, GL_PERFQUERY_COUNTER_DATA_FLOAT_INTEL},
    {"Outside", 30, 8, GL_PERFQUERY_COUNTER_EVENT_INTEL, GL_PERFQUERY_COUNTER_DATA_UINT64_INTEL},
    {"Ratio", 16, 8, GL_PERFQUERY_COUNTER_RAW_INTEL, GL_PERFQUERY_COUNTER_DATA_DOUBLE_INTEL},
};

void intel_first(GLuint* id) { *id = kIntelQuery; }
void intel_next(GLuint, GLuint* id) { *id = 0; }
void intel_info(GLuint, GLuint size, char* name, GLuint* data_size, GLuint* count,
                GLuint* instances, GLuint* caps) {
  copy("Pipeline", static_cast<GLsizei>(size), nullptr, name);
  *data_size = kIntelBytes;
  *count = 4;
  *instances = *caps = 0;
}
void intel_counter(GLuint, GLuint place, GLuint size, char* name, GLuint, char* description,
                   GLuint* offset, GLuint* counter_bytes, GLuint* kind, GLuint* type,
                   GLuint64* most) {
  const IntelCounter& counter = kIntel[place - 1];
  copy(counter.name, static_cast<GLsizei>(size), nullptr, name);
  *description = '\0';
  *offset = counter.offset;
  *counter_bytes = counter.bytes;
  *kind = counter.kind;
  *type = counter.type;
  *most = 0;
}
void intel_create(GLuint, GLuint* handle) { amd_gen(1, handle); }
void intel_delete(GLuint handle) { amd_delete(1, &handle); }
void intel_data(GLuint handle, GLuint, GLsizei size, void* data, GLuint* written) {
  const std::lock_guard lock(g_mutex);
  const uint64_t draws = g_monitors[handle].draws;
  const float busy = kFakePercentage;
  const double ratio = 0.25 * static_cast<double>(draws);
  std::vector<std::byte> result(kIntelBytes);
  std::memcpy(result.data(), &draws, 8);
  std::memcpy(result.data() + 8, &busy, 4);
  std::memcpy(result.data() + 16, &ratio, 8);
  *written = std::min<GLuint>(kIntelBytes, static_cast<GLuint>(size));
  std::memcpy(data, result.data(), *written);
}

struct Row {
  const char* name;
  void* function;
};
#define ROW(name, function) \
  { name, reinterpret_cast<void*>(function) }
const Row kRows[] = {
    ROW("glGetError", get_error),
    ROW("glDrawArrays", draw_arrays),
    ROW("glGetString", get_string),
    ROW("glGetStringi", get_string_i),
    ROW("glGetIntegerv", get_integer),
    ROW("glBeginQuery", begin_query),
    ROW("glGetPerfMonitorGroupsAMD", amd_groups),
    ROW("glGetPerfMonitorCountersAMD", amd_counters),
    ROW("glGetPerfMonitorGroupStringAMD", amd_group_name),
    ROW("glGetPerfMonitorCounterStringAMD", amd_counter_name),
    ROW("glGetPerfMonitorCounterInfoAMD", amd_counter_info),
    ROW("glGenPerfMonitorsAMD", amd_gen),
    ROW("glDeletePerfMonitorsAMD", amd_delete),
    ROW("glSelectPerfMonitorCountersAMD", amd_select),
    ROW("glBeginPerfMonitorAMD", amd_begin),
    ROW("glEndPerfMonitorAMD", amd_end),
    ROW("glGetPerfMonitorCounterDataAMD", amd_data),
    ROW("glGetFirstPerfQueryIdINTEL", intel_first),
    ROW("glGetNextPerfQueryIdINTEL", intel_next),
    ROW("glGetPerfQueryInfoINTEL", intel_info),
    ROW("glGetPerfCounterInfoINTEL", intel_counter),
    ROW("glCreatePerfQueryINTEL", intel_create),
    ROW("glDeletePerfQueryINTEL", intel_delete),
    ROW("glBeginPerfQueryINTEL", amd_begin),
    ROW("glEndPerfQueryINTEL", amd_end),
    ROW("glGetPerfQueryDataINTEL", intel_data),
};

}  // namespace

void* fake_gl(const char* name) {
  for (const Row& row : kRows) {
    if (std::strcmp(row.name, name) == 0) return row.function;
  }
  return reinterpret_cast<void*>(nothing);
}

}  // namespace tally::egl_test
