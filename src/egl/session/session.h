// The state machine of EGL_BRCM_performance_counters: who has acquired the counters, which are
// chosen, whether they count, and their values. There is one per process, which is the extension's
// "client". Any thread may call.
//
// Functions return EGL_SUCCESS or the error that the extension specifies. Counters must be acquired
// before they can be chosen, started or read. Choosing while counting resets all counters; a choice
// with an invalid index changes nothing. A read and its reset use the same values, so no count is
// lost between them.
//
// API counts are added as calls are made; GPU counts when their results arrive. For the calling
// thread's current context that is at the latest when the counters are read, stopped or chosen,
// which waits for them; for contexts of other threads it is the end of their frame.
#pragma once

#include <EGL/egl.h>

#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "egl/gl/hot.h"
#include "egl/group/group_list.h"
#include "platform/system_lock.h"

namespace tally::egl {

struct Record {
  uint32_t group;
  uint32_t counter;
  uint64_t value;
};
static_assert(sizeof(Record) == 16);

struct GroupDescription {
  std::string name;
  uint32_t counters;
  uint32_t max_active;
};

class Session {
 public:
  size_t group_count();
  std::optional<GroupDescription> describe_group(EGLint group);
  std::optional<CounterInfo> describe_counter(EGLint group, EGLint counter);

  EGLint acquire();
  EGLint release();
  EGLint start();
  EGLint stop();
  // Without counters, chooses the whole group.
  EGLint choose(bool enable, EGLint group, std::span<const EGLint> counters);

  // Reads at most `max_records` records; with `reset`, resets the counters read.
  EGLint read(size_t max_records, bool reset, std::vector<Record>& records);
  EGLint active_count(size_t& count);

  // A profile (egl/profile) counts all totals and levels, except those that are left to the Vulkan
  // layer, without acquiring the counters: it excludes nobody, and ends when the application
  // acquires them. This begins the profile or adds counters that have become known since, those of
  // the kernel driver only with `gpu_usage`; it does nothing while the application has acquired the
  // counters.
  void profile_everything(bool gpu_usage);
  // Reads what was counted since the last call or the begin; returns false if no profile is active.
  // With `wait`, waits for the calling thread's current context.
  bool read_profile(bool wait, std::vector<Record>& records);
  void end_profile();

 private:
  // The count before the last start, and the base of the count since then.
  struct Window {
    uint64_t saved = 0;
    uint64_t base = 0;
  };
  struct Choice {
    std::vector<bool> chosen;
    std::vector<Window> windows;
    std::vector<uint64_t> now;  // the latest reading
    bool any() const;
    size_t count() const;
  };

  bool acquired();
  void reset_state();
  Choice& choice_of(size_t group);
  void resolve_pending();
  void leave_vulkan_to_capture();
  void collect(bool on);
  void take_readings();
  void begin_windows();
  void save_windows();
  void append_records(size_t max_records, bool reset_counters, std::vector<Record>& records);
  uint64_t value_of(size_t group, size_t counter) const;
  void reset(size_t group, size_t counter);

  std::mutex mutex_;
  SystemLock lock_;
  GroupList groups_;
  bool acquired_ = false;
  bool counting_ = false;
  bool profiling_ = false;  // implies counting_ and not acquired_
  std::vector<Choice> choices_;
};

Session& session();

// The extension's functions by name, for implementations of eglGetProcAddress, and the hooks that
// they call.

// Returns null for any other name.
AnyFunction entry_point(std::string_view name);

// Sets the hooks that are called when one of the functions begins, and with its error (EGL_SUCCESS
// included) when it ends. Without hooks the functions work, but eglGetError does not report their
// errors.
void set_call_hooks(void (*begin_call)(), void (*report)(EGLint));

}  // namespace tally::egl
