#include "egl/session/session.h"

#include <algorithm>
#include <utility>

#include "egl/driver/lifetime.h"
#include "egl/gl/contexts.h"
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

}  // namespace tally::egl
