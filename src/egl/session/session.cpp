#define EGL_EGLEXT_PROTOTYPES 1

#include "egl/session/session.h"

#include <tally/egl_brcm.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <utility>

#include "egl/driver/lifetime.h"
#include "egl/gl/context.h"
#include "egl/gl/hot.h"
#include "egl/group/frames.h"

namespace tally::egl {

using Kind = CounterInfo::Kind;

bool Session::Choice::any() const { return count() > 0; }

size_t Session::Choice::count() const {
  return static_cast<size_t>(std::count(chosen.begin(), chosen.end(), true));
}

size_t Session::group_count() {
  const std::lock_guard lock(mutex_);
  groups_.discover();
  return groups_.size();
}

std::optional<GroupDescription> Session::describe_group(EGLint group) {
  const std::lock_guard lock(mutex_);
  groups_.discover();
  if (group < 0 || static_cast<size_t>(group) >= groups_.size()) return std::nullopt;
  const Group& found = groups_[static_cast<size_t>(group)];
  return GroupDescription{found.name(), static_cast<uint32_t>(found.counters().size()),
                          found.max_active()};
}

std::optional<CounterInfo> Session::describe_counter(EGLint group, EGLint counter) {
  const std::lock_guard lock(mutex_);
  if (group < 0 || static_cast<size_t>(group) >= groups_.size()) return std::nullopt;
  const auto& counters = groups_[static_cast<size_t>(group)].counters();
  if (counter < 0 || static_cast<size_t>(counter) >= counters.size()) return std::nullopt;
  return counters[static_cast<size_t>(counter)];
}

// The lock can be lost without a release: in a forked child, or if the program closes all its
// descriptors.
bool Session::acquired() {
  if (acquired_ && !lock_.held()) reset_state();
  return acquired_;
}

void Session::reset_state() {
  collect(false);
  choices_.clear();
  acquired_ = counting_ = profiling_ = false;
}

EGLint Session::acquire() {
  const std::lock_guard lock(mutex_);
  if (acquired()) return EGL_SUCCESS;
  if (lock_.acquire(0) != SystemLock::Outcome::Acquired) return EGL_BAD_ACCESS;
  if (profiling_) reset_state();
  acquired_ = true;
  return EGL_SUCCESS;
}

EGLint Session::release() {
  const std::lock_guard lock(mutex_);
  if (!acquired()) return EGL_BAD_ACCESS;
  resolve_pending();
  reset_state();
  lock_.release();
  return EGL_SUCCESS;
}

Session::Choice& Session::choice_of(size_t group) {
  if (choices_.size() <= group) choices_.resize(group + 1);
  Choice& choice = choices_[group];
  const size_t counters = groups_[group].counters().size();
  choice.chosen.resize(counters);
  choice.windows.resize(counters);
  choice.now.resize(counters);
  return choice;
}

void Session::resolve_pending() {
  // A group may finish the context. Then the results of its queries need no wait of their own.
  if (t_hot.context != nullptr) t_hot.context->end_frame();
  for (size_t g = 0; g < choices_.size(); g++) {
    if (choices_[g].any()) groups_[g].resolve_pending();
  }
  resolve_current_context();
}

void Session::collect(bool on) {
  CollectionRequest request;
  for (size_t g = 0; on && g < choices_.size(); g++) {
    groups_[g].add_to_request(choice_of(g).chosen, request);
  }
  frames().set_active(request.frames);
  groups_.vulkan().collect(request.vulkan);
  set_collect_plan(std::make_shared<const CollectPlan>(std::move(request.plan)));
  set_collecting(request.collecting);
}

void Session::take_readings() {
  for (size_t g = 0; g < choices_.size(); g++) {
    Choice& choice = choice_of(g);
    if (choice.any()) choice.now = groups_[g].read();
  }
}

void Session::begin_windows() {
  for (Choice& choice : choices_) {
    for (size_t c = 0; c < choice.windows.size(); c++) choice.windows[c].base = choice.now[c];
  }
}

void Session::save_windows() {
  for (Choice& choice : choices_) {
    for (size_t c = 0; c < choice.windows.size(); c++) {
      Window& window = choice.windows[c];
      window.saved += choice.now[c] - window.base;
      window.base = choice.now[c];
    }
  }
}

EGLint Session::start() {
  const std::lock_guard lock(mutex_);
  if (!acquired()) return EGL_BAD_ACCESS;
  if (counting_) return EGL_SUCCESS;
  resolve_pending();
  take_readings();
  begin_windows();
  counting_ = true;
  collect(true);
  return EGL_SUCCESS;
}

EGLint Session::stop() {
  const std::lock_guard lock(mutex_);
  if (!acquired()) return EGL_BAD_ACCESS;
  if (!counting_) return EGL_SUCCESS;
  resolve_pending();
  collect(false);
  counting_ = false;
  take_readings();
  save_windows();
  return EGL_SUCCESS;
}

EGLint Session::choose(bool enable, EGLint group, std::span<const EGLint> counters) {
  const std::lock_guard lock(mutex_);
  if (!acquired()) return EGL_BAD_ACCESS;
  if (group < 0 || static_cast<size_t>(group) >= groups_.size()) return EGL_BAD_PARAMETER;
  const auto index = static_cast<size_t>(group);
  const auto size = static_cast<EGLint>(groups_[index].counters().size());
  if (std::any_of(counters.begin(), counters.end(), [&](EGLint c) { return c < 0 || c >= size; })) {
    return EGL_BAD_PARAMETER;
  }
  if (counting_) resolve_pending();
  Choice& choice = choice_of(index);
  size_t active = choice.count();
  const auto set = [&](size_t counter) {
    if (choice.chosen[counter] == enable) return;
    if (enable && active >= groups_[index].max_active()) return;
    choice.chosen[counter] = enable;
    active = enable ? active + 1 : active - 1;
    reset(index, counter);
  };
  if (counters.empty()) {
    for (EGLint c = 0; c < size; c++) set(static_cast<size_t>(c));
  } else {
    for (const EGLint c : counters) set(static_cast<size_t>(c));
  }
  if (!counting_) return EGL_SUCCESS;
  resolve_pending();
  collect(true);
  take_readings();
  for (size_t g = 0; g < choices_.size(); g++) {
    for (size_t c = 0; c < choices_[g].windows.size(); c++) reset(g, c);
  }
  return EGL_SUCCESS;
}

uint64_t Session::value_of(size_t group, size_t counter) const {
  const Choice& choice = choices_[group];
  const uint64_t now = choice.now[counter];
  if (groups_[group].counters()[counter].kind != Kind::Total) return now;
  const Window& window = choice.windows[counter];
  return window.saved + (counting_ ? now - window.base : 0);
}

void Session::reset(size_t group, size_t counter) {
  Choice& choice = choices_[group];
  choice.windows[counter] = {0, choice.now[counter]};
  if (groups_[group].counters()[counter].kind == Kind::Extreme) groups_[group].reset_extremes();
}

EGLint Session::active_count(size_t& count) {
  const std::lock_guard lock(mutex_);
  if (!acquired()) return EGL_BAD_ACCESS;
  count = 0;
  for (const Choice& choice : choices_) count += choice.count();
  return EGL_SUCCESS;
}

EGLint Session::read(size_t max_records, bool reset_counters, std::vector<Record>& records) {
  const std::lock_guard lock(mutex_);
  if (!acquired()) return EGL_BAD_ACCESS;
  if (counting_) resolve_pending();
  append_records(max_records, reset_counters, records);
  return EGL_SUCCESS;
}

void Session::append_records(size_t max_records, bool reset_counters,
                             std::vector<Record>& records) {
  take_readings();
  for (size_t g = 0; g < choices_.size(); g++) {
    for (size_t c = 0; c < choices_[g].chosen.size(); c++) {
      if (!choices_[g].chosen[c]) continue;
      if (records.size() == max_records) return;
      records.push_back({static_cast<uint32_t>(g), static_cast<uint32_t>(c), value_of(g, c)});
      if (reset_counters) reset(g, c);
    }
  }
}

void Session::profile_everything(bool gpu_usage) {
  const std::lock_guard lock(mutex_);
  if (acquired()) return;
  if (t_hot.context != nullptr) groups_.discover(gpu_usage || !profiling_);
  bool more = !profiling_;
  for (size_t g = 0; g < groups_.size(); g++) {
    if (groups_.is_left_to_capture(g)) continue;
    Choice& choice = choice_of(g);
    size_t active = choice.count();
    bool fresh = false;
    for (size_t c = 0; c < choice.chosen.size() && active < groups_[g].max_active(); c++) {
      const bool extreme = groups_[g].counters()[c].kind == Kind::Extreme;
      if (extreme || choice.chosen[c]) continue;
      choice.chosen[c] = more = true;
      active++;
      if (!std::exchange(fresh, true)) {
        groups_[g].resolve_pending();
        choice.now = groups_[g].read();
      }
      reset(g, c);
    }
  }
  if (!more) return;
  counting_ = profiling_ = true;
  collect(true);
}

// The process may create its swapchain only after the profile has begun.
void Session::leave_vulkan_to_capture() {
  if (!groups_.vulkan().is_captured_by_frame()) return;
  for (size_t g = 0; g < choices_.size(); g++) {
    if (&groups_[g] != &groups_.vulkan() || !choices_[g].any()) continue;
    choices_[g].chosen.assign(choices_[g].chosen.size(), false);
    collect(true);
  }
}

bool Session::read_profile(bool wait, std::vector<Record>& records) {
  const std::lock_guard lock(mutex_);
  if (!profiling_) return false;
  leave_vulkan_to_capture();
  if (wait) resolve_pending();
  append_records(SIZE_MAX, true, records);
  return true;
}

void Session::end_profile() {
  const std::lock_guard lock(mutex_);
  if (profiling_) reset_state();
}

Session& session() {
  static Session& one = kept(std::make_unique<Session>());
  return one;
}

// The six functions of EGL_BRCM_performance_counters, as applications call them.

namespace {

constexpr EGLint kMaxStringLength = 128;  // including the terminating zero

constinit std::atomic<void (*)()> g_begin_call{nullptr};
constinit std::atomic<void (*)(EGLint)> g_report{nullptr};

// Runs the body of every entry point: catches all exceptions, and sets the thread's EGL error to
// the body's result.
template <typename Body>
EGLint run(Body body) noexcept {
  if (const auto begin_call = g_begin_call.load(std::memory_order_acquire)) begin_call();
  EGLint error = EGL_BAD_ALLOC;
  try {
    error = body();
  } catch (const std::exception&) {
  }
  if (const auto report = g_report.load(std::memory_order_acquire)) report(error);
  return error;
}

void copy_text(std::string_view text, EGLint size, char* to) {
  if (to == nullptr || size <= 0) return;
  const auto max_length = static_cast<size_t>(std::min(size, kMaxStringLength) - 1);
  const size_t length = std::min(text.size(), max_length);
  std::memcpy(to, text.data(), length);
  to[length] = '\0';
}

template <typename T>
void copy_value(T value, T* to) {
  if (to != nullptr) *to = value;
}

}  // namespace

void set_call_hooks(void (*begin_call)(), void (*report)(EGLint)) {
  g_begin_call.store(begin_call, std::memory_order_release);
  g_report.store(report, std::memory_order_release);
}

AnyFunction entry_point(std::string_view name) {
  const struct {
    std::string_view name;
    AnyFunction function;
  } rows[] = {
#define ROW(function) {#function, reinterpret_cast<AnyFunction>(&::function)}
      ROW(eglGetPerfCounterConstantBRCM), ROW(eglGetPerfCounterGroupInfoBRCM),
      ROW(eglGetPerfCounterInfoBRCM),     ROW(eglSetPerfCountingBRCM),
      ROW(eglChoosePerfCountersBRCM),     ROW(eglGetPerfCounterDataBRCM),
#undef ROW
  };
  for (const auto& row : rows) {
    if (row.name == name) return row.function;
  }
  return nullptr;
}

}  // namespace tally::egl

#define TALLY_EXPORT __attribute__((visibility("default")))

using namespace tally::egl;

TALLY_EXPORT EGLint EGLAPIENTRY eglGetPerfCounterConstantBRCM(EGLenum pname) {
  EGLint value = 0;
  run([&]() -> EGLint {
    switch (pname) {
      case EGL_NUM_COUNTER_GROUPS_BRCM:
        value = static_cast<EGLint>(session().group_count());
        return EGL_SUCCESS;
      case EGL_MAX_COUNTER_STRING_LEN_BRCM:
        value = kMaxStringLength;
        return EGL_SUCCESS;
      default:
        return EGL_BAD_PARAMETER;
    }
  });
  return value;
}

TALLY_EXPORT EGLBoolean EGLAPIENTRY eglGetPerfCounterGroupInfoBRCM(EGLint group, EGLint nameStrSize,
                                                                   char* groupNameStr,
                                                                   EGLint* numCounters,
                                                                   EGLint* maxActiveCounters) {
  return run([&]() -> EGLint {
           const auto found = session().describe_group(group);
           if (!found) return EGL_BAD_PARAMETER;
           copy_text(found->name, nameStrSize, groupNameStr);
           copy_value(static_cast<EGLint>(found->counters), numCounters);
           copy_value(static_cast<EGLint>(found->max_active), maxActiveCounters);
           return EGL_SUCCESS;
         }) == EGL_SUCCESS;
}

TALLY_EXPORT EGLBoolean EGLAPIENTRY eglGetPerfCounterInfoBRCM(EGLint group, EGLint counter,
                                                              EGLuint64BRCM* minValue,
                                                              EGLuint64BRCM* maxValue,
                                                              EGLuint64BRCM* denominator,
                                                              EGLint nameStrSize, char* nameStr,
                                                              EGLint unitStrSize, char* unitStr) {
  return run([&]() -> EGLint {
           const auto found = session().describe_counter(group, counter);
           if (!found) return EGL_BAD_PARAMETER;
           copy_value<EGLuint64BRCM>(found->minimum, minValue);
           copy_value<EGLuint64BRCM>(found->maximum, maxValue);
           copy_value<EGLuint64BRCM>(found->denominator, denominator);
           copy_text(found->name, nameStrSize, nameStr);
           copy_text(found->unit, unitStrSize, unitStr);
           return EGL_SUCCESS;
         }) == EGL_SUCCESS;
}

TALLY_EXPORT EGLBoolean EGLAPIENTRY eglSetPerfCountingBRCM(EGLenum pname) {
  return run([&]() -> EGLint {
           switch (pname) {
             case EGL_ACQUIRE_COUNTERS_BRCM:
               return session().acquire();
             case EGL_RELEASE_COUNTERS_BRCM:
               return session().release();
             case EGL_START_COUNTERS_BRCM:
               return session().start();
             case EGL_STOP_COUNTERS_BRCM:
               return session().stop();
             default:
               return EGL_BAD_PARAMETER;
           }
         }) == EGL_SUCCESS;
}

TALLY_EXPORT EGLBoolean EGLAPIENTRY eglChoosePerfCountersBRCM(EGLBoolean enable, EGLint group,
                                                              EGLint numCounters,
                                                              EGLint* counterList) {
  return run([&]() -> EGLint {
           if (numCounters < 0) return EGL_BAD_PARAMETER;
           const bool all = numCounters == 0 || counterList == nullptr;
           return session().choose(enable != EGL_FALSE, group,
                                   {counterList, all ? 0 : static_cast<size_t>(numCounters)});
         }) == EGL_SUCCESS;
}

TALLY_EXPORT EGLBoolean EGLAPIENTRY eglGetPerfCounterDataBRCM(EGLint dataBufferBytes, void* data,
                                                              EGLint* bytesWritten,
                                                              EGLBoolean resetCounters) {
  return run([&]() -> EGLint {
           if (dataBufferBytes < 0) return EGL_BAD_PARAMETER;
           if (data == nullptr || dataBufferBytes == 0) {
             size_t active = 0;
             const EGLint error = session().active_count(active);
             if (error != EGL_SUCCESS) return error;
             copy_value(static_cast<EGLint>(active * sizeof(Record)), bytesWritten);
             return EGL_SUCCESS;
           }
           std::vector<Record> records;
           const EGLint error =
               session().read(static_cast<size_t>(dataBufferBytes) / sizeof(Record),
                              resetCounters != EGL_FALSE, records);
           if (error != EGL_SUCCESS) return error;
           if (!records.empty()) {
             std::memcpy(data, records.data(), records.size() * sizeof(Record));
           }
           copy_value(static_cast<EGLint>(records.size() * sizeof(Record)), bytesWritten);
           return EGL_SUCCESS;
         }) == EGL_SUCCESS;
}
