#include "egl/group/process_group.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <system_error>

namespace tally::egl {

int ProcessFile::descriptor() {
  const int open_file = file_.get();
  if (open_file >= 0 && process_ == ::getpid()) return open_file;
  file_ = KeptFd(::open(path_, O_RDONLY | O_CLOEXEC));
  process_ = ::getpid();
  return file_.get();
}

std::string_view ProcessFile::read(std::span<char> memory) {
  const ssize_t size = ::pread(descriptor(), memory.data(), memory.size(), 0);
  return {memory.data(), static_cast<size_t>(std::max<ssize_t>(size, 0))};
}

nlink_t ProcessFile::links() {
  struct stat status {};
  return ::fstat(descriptor(), &status) == 0 ? status.st_nlink : 0;
}

namespace {

namespace fs = std::filesystem;

struct Value {
  uint64_t number;
  std::string_view unit;
};

std::optional<Value> parse_value(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
  unit.remove_prefix(std::min(unit.find_first_not_of(" \t"), unit.size()));
  return Value{number, unit.substr(0, unit.find_last_not_of(" \t\r") + 1)};
}

uint64_t bytes_of(const Value& value) {
  if (value.unit == "KiB") return value.number * 1024;
  if (value.unit == "MiB") return value.number * 1024 * 1024;
  return value.number;
}

std::optional<std::string> after(std::string_view key, std::string_view prefix) {
  if (!key.starts_with(prefix)) return std::nullopt;
  return std::string(key.substr(prefix.size()));
}

// One descriptor's client, and that client's statistics.
struct Client {
  std::string device, id;
  DrmUsage usage;
};

void read_line(std::string_view line, Client& client) {
  const size_t colon = line.find(':');
  if (colon == line.npos || !line.starts_with("drm-")) return;
  const std::string_view key = line.substr(0, colon), text = line.substr(colon + 1);
  if (key == "drm-pdev") client.device = text;
  if (key == "drm-client-id") client.id = text;
  const auto value = parse_value(text);
  if (!value) return;
  if (key.starts_with("drm-engine-capacity-")) return;  // the number of engines, not a time
  if (const auto engine = after(key, "drm-engine-"))
    client.usage.engine_ns[*engine] = value->number;
  // Older drivers write drm-memory-, newer ones drm-resident-; some write both for the same memory.
  if (const auto region = after(key, "drm-memory-")) {
    client.usage.memory_bytes.emplace(*region, bytes_of(*value));
  }
  if (const auto region = after(key, "drm-resident-")) {
    client.usage.memory_bytes[*region] = bytes_of(*value);
  }
}

std::optional<Client> read_client(const fs::path& fdinfo) {
  std::ifstream file(fdinfo);
  Client client;
  for (std::string line; std::getline(file, line);) read_line(line, client);
  if (client.id.empty()) return std::nullopt;
  return client;
}

// Other descriptors are skipped, because their fdinfo can be long (epoll, inotify).
bool is_drm_device(const fs::path& descriptor) {
  std::error_code error;
  return fs::read_symlink(descriptor, error).string().starts_with("/dev/dri/");
}

}  // namespace

DrmUsage read_drm_usage(const std::string& process_folder) {
  DrmUsage sum;
  std::set<std::pair<std::string, std::string>> seen;
  std::error_code error;
  for (fs::directory_iterator entry(fs::path(process_folder) / "fd", error), end;
       !error && entry != end; entry.increment(error)) {
    if (!is_drm_device(entry->path())) continue;
    const auto client = read_client(fs::path(process_folder) / "fdinfo" / entry->path().filename());
    if (!client || !seen.emplace(client->device, client->id).second) continue;
    for (const auto& [engine, time] : client->usage.engine_ns) sum.engine_ns[engine] += time;
    for (const auto& [region, bytes] : client->usage.memory_bytes)
      sum.memory_bytes[region] += bytes;
  }
  return sum;
}

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
