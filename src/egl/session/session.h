// The state machine of EGL_BRCM_performance_counters: who has the counters, which are chosen,
// whether they count, and what they have counted. One for the process, which is the extension's
// "client"; any thread may call.
//
// Functions return EGL_SUCCESS or the error that the page of the extension names. Without the
// counters acquired nothing can be chosen, started or read. Choosing while counting begins all
// counters anew; a choice that has an invalid index changes nothing. Reading and resetting use the
// same values, so nothing that is counted meanwhile is lost.
//
// Counts of the API come in as calls are made, those of the GPU when its results arrive: at the
// latest, for the context that is current in the calling thread, when the counters are read,
// stopped or chosen, which wait for it; for contexts of other threads at the end of their frame.
#pragma once

#include <EGL/egl.h>

#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/system_lock.h"
#include "egl/group/group_list.h"

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
  // No counters: all of the group.
  EGLint choose(bool enable, EGLint group, std::span<const EGLint> counters);

  // The records that reading would give now, at most `most`, without or with beginning those anew.
  EGLint read(size_t most, bool reset, std::vector<Record>& records);
  EGLint active_count(size_t& count);

  // A profile (egl/profile) counts all totals and levels without having acquired anything: it
  // excludes nobody, and ends when the application acquires the counters.
  // Begins it, or adds what has become known since; nothing where the application has them.
  void profile_everything();
  // What was counted since the last call or the begin; false where no profile is under way. With
  // `wait` it waits for the context that is current in the calling thread.
  bool read_profile(bool wait, std::vector<Record>& records);
  void end_profile();

 private:
  // What a counter has counted: before the last start, and, while counting, since then.
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
  void forget_everything();
  Choice& choice_of(size_t group);
  void settle();
  void collect(bool on);
  void take_readings();
  void begin_windows();
  void save_windows();
  void append_records(size_t most, bool reset_counters, std::vector<Record>& records);
  uint64_t value_of(size_t group, size_t counter) const;
  void reset(size_t group, size_t counter);

  std::mutex mutex_;
  SystemLock lock_;
  GroupList groups_;
  bool acquired_ = false;
  bool counting_ = false;
  bool profiling_ = false;  // then counting_ and not acquired_
  std::vector<Choice> choices_;
};

Session& session();

}  // namespace tally::egl
