#include "egl/group/drm_usage.h"

#include <charconv>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>

namespace tally::egl {
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

}  // namespace tally::egl
