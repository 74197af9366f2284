// The six functions of EGL_BRCM_performance_counters, as applications call them.
#define EGL_EGLEXT_PROTOTYPES 1
#include "egl/session/entry_points.h"

#include <tally/egl_brcm.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <string_view>

#include "egl/session/session.h"

namespace tally::egl {
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
