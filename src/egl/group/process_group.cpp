#include "egl/group/process_group.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace tally::egl {
namespace {

using Kind = CounterInfo::Kind;

CounterInfo memory_counter(std::string name) {
  return {std::move(name), "KB", Kind::Level, 1024, 0, UINT64_MAX / 1024};
}

uint64_t nanoseconds(const timeval& time) {
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 +
         static_cast<uint64_t>(time.tv_usec) * 1000;
}

uint64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  uint64_t total_pages = 0, resident_pages = 0;
  file >> total_pages >> resident_pages;
  return resident_pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

uint64_t thread_count() {
  std::error_code error;
  uint64_t threads = 0;
  for (std::filesystem::directory_iterator entry("/proc/self/task", error), end;
       !error && entry != end; entry.increment(error)) {
    threads++;
  }
  return threads;
}

}  // namespace

// In the order of read().
ProcessGroup::ProcessGroup() : Group("Process and device") {
  counters_ = {
      time_counter("CPU time"),
      time_counter("CPU time in the kernel"),
      count_counter("Page faults", "faults"),
      count_counter("Context switches", "switches"),
      memory_counter("Resident memory"),
      {"Threads", "threads", Kind::Level, 1, 1, UINT64_MAX},
  };
}

void ProcessGroup::discover() {
  const auto listed = [this](Added kind, const std::string& name) {
    return std::find(added_.begin(), added_.end(), std::pair(kind, name)) != added_.end();
  };
  const DrmUsage usage = read_drm_usage("/proc/self");
  for (const auto& [engine, time] : usage.engine_ns) {
    if (listed(Added::Engine, engine)) continue;
    added_.emplace_back(Added::Engine, engine);
    counters_.push_back(time_counter("GPU engine time: " + engine));
  }
  for (const auto& [region, bytes] : usage.memory_bytes) {
    if (listed(Added::Region, region)) continue;
    added_.emplace_back(Added::Region, region);
    counters_.push_back(memory_counter("GPU memory: " + region));
  }
}

std::vector<uint64_t> ProcessGroup::read() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const uint64_t user = nanoseconds(usage.ru_utime), system = nanoseconds(usage.ru_stime);
  std::vector<uint64_t> values = {
      user + system,
      system,
      static_cast<uint64_t>(usage.ru_minflt + usage.ru_majflt),
      static_cast<uint64_t>(usage.ru_nvcsw + usage.ru_nivcsw),
      resident_bytes(),
      thread_count(),
  };
  if (added_.empty()) return values;
  DrmUsage drm = read_drm_usage("/proc/self");
  for (const auto& [kind, name] : added_) {
    values.push_back(kind == Added::Engine ? drm.engine_ns[name] : drm.memory_bytes[name]);
  }
  return values;
}

}  // namespace tally::egl
