#include "egl/group/process_group.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

namespace tally::egl {
namespace {

using Kind = CounterInfo::Kind;
using catalogue::Number;

// A current amount of memory in bytes, listed in KB.
CounterInfo memory_info(Number number) {
  CounterInfo info = counter_info(number, Kind::Level);
  info.unit = "KB";
  info.denominator = 1024;
  info.maximum = UINT64_MAX / info.denominator;
  return info;
}

CounterInfo thread_info() {
  CounterInfo info = counter_info(Number::Threads, Kind::Level);
  info.minimum = 1;
  return info;
}

// One of several counters that share one entry of the catalogue.
CounterInfo named(CounterInfo info, const std::string& which) {
  info.name += ": " + which;
  return info;
}

uint64_t nanoseconds(const timeval& time) {
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 +
         static_cast<uint64_t>(time.tv_usec) * 1000;
}

// The number in one of the fields that spaces separate. 0: there is none.
uint64_t number_in(std::string_view fields, size_t index) {
  for (; index > 0; --index) {
    const size_t space = fields.find(' ');
    if (space == std::string_view::npos) return 0;
    fields.remove_prefix(space + 1);
  }
  uint64_t number = 0;
  std::from_chars(fields.data(), fields.data() + fields.size(), number);
  return number;
}

}  // namespace

// In the order of read().
ProcessGroup::ProcessGroup()
    : Group("Process and device"), page_bytes_(static_cast<uint64_t>(::sysconf(_SC_PAGESIZE))) {
  counters_ = {
      counter_info(Number::CpuTime),       counter_info(Number::CpuKernelTime),
      counter_info(Number::PageFaults),    counter_info(Number::ContextSwitches),
      memory_info(Number::ResidentMemory), thread_info(),
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
    counters_.push_back(named(counter_info(Number::GpuEngineTime), engine));
  }
  for (const auto& [region, bytes] : usage.memory_bytes) {
    if (listed(Added::Region, region)) continue;
    added_.emplace_back(Added::Region, region);
    counters_.push_back(named(memory_info(Number::GpuMemory), region));
  }
}

uint64_t ProcessGroup::resident_bytes() {
  std::array<char, 256> text{};
  constexpr size_t kResidentPages = 1;  // proc_pid_statm(5)
  return number_in(memory_.read(text), kResidentPages) * page_bytes_;
}

// Each thread is a directory.
uint64_t ProcessGroup::thread_count() {
  constexpr nlink_t kOther = 2;
  const nlink_t links = threads_.links();
  return links > kOther ? links - kOther : 0;
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
