#include "catalogue/catalogue.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "catalogue/egl_counters.h"
#include "catalogue/vulkan_counters.h"

namespace tally::catalogue {
namespace {

constexpr auto kCounters = [] {
  std::array<Counter, std::size(kVulkanCounters) + std::size(kEglCounters)> all{};
  std::ranges::copy(kEglCounters, std::ranges::copy(kVulkanCounters, all.begin()).out);
  return all;
}();

template <typename Predicate>
const Counter* find_if(Predicate predicate) {
  const Counter* found = std::ranges::find_if(kCounters, predicate);
  return found == std::end(kCounters) ? nullptr : found;
}

}  // namespace

std::span<const Counter> counters() { return kCounters; }

std::vector<const Counter*> counters_of(Scope scope) {
  std::vector<const Counter*> found;
  for (const Counter& one : kCounters) {
    if (one.scopes.has(scope)) found.push_back(&one);
  }
  return found;
}

const Counter& counter(Number number) {
  return *find_if([=](const Counter& one) { return one.number == number; });
}

const Counter* find(std::string_view id) {
  return find_if([=](const Counter& one) { return one.id == id; });
}

const Counter* find(uint32_t number) {
  return find_if([=](const Counter& one) { return static_cast<uint32_t>(one.number) == number; });
}

std::string_view name_of(Unit unit) {
  switch (unit) {
    case Unit::Generic:
      return "count";
    case Unit::Percentage:
      return "%";
    case Unit::Nanoseconds:
      return "ns";
    case Unit::Bytes:
      return "bytes";
    case Unit::BytesPerSecond:
      return "bytes/s";
    case Unit::Kelvin:
      return "K";
    case Unit::Watts:
      return "W";
    case Unit::Volts:
      return "V";
    case Unit::Amps:
      return "A";
    case Unit::Hertz:
      return "Hz";
    case Unit::Cycles:
      return "cycles";
  }
  return "?";
}

std::string_view unit_of(const Counter& counter) {
  return counter.counted.empty() ? name_of(counter.unit) : counter.counted;
}

std::string_view name_of(Storage storage) {
  switch (storage) {
    case Storage::Int32:
      return "int32";
    case Storage::Int64:
      return "int64";
    case Storage::Uint32:
      return "uint32";
    case Storage::Uint64:
      return "uint64";
    case Storage::Float32:
      return "float32";
    case Storage::Float64:
      return "float64";
  }
  return "?";
}

std::string_view name_of(Scope scope) {
  switch (scope) {
    case Scope::Block:
      return "block";
    case Scope::Region:
      return "region";
    case Scope::Command:
      return "command";
    case Scope::RenderPass:
      return "render pass";
    case Scope::CommandBuffer:
      return "command buffer";
    case Scope::Frame:
      return "frame";
    case Scope::Process:
      return "process";
    case Scope::Device:
      return "device";
    case Scope::Branch:
      return "branch";
  }
  return "?";
}

}  // namespace tally::catalogue
