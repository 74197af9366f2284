#include "catalogue/catalogue.h"

#include <fmt/format.h>
#include <vulkan/vulkan_core.h>

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
    case Scope::Site:
      return "site";
  }
  return "?";
}

namespace {

constexpr std::string_view kIntroduction =
    "# Counters\n\n"
    "These are all counters of Tally. A counter's number and id never change and are never "
    "reused.\n"
    "`cmake --build <build> --target counters_page` generates this page from `src/catalogue`.\n";

constexpr Scope kScopes[] = {Scope::Block,         Scope::Region, Scope::Command, Scope::RenderPass,
                             Scope::CommandBuffer, Scope::Frame,  Scope::Process, Scope::Device,
                             Scope::Branch,        Scope::Site};

std::string scope_list(Scopes scopes) {
  std::string list;
  for (const Scope scope : kScopes) {
    if (!scopes.has(scope)) continue;
    if (!list.empty()) list += ", ";
    list += name_of(scope);
  }
  return list;
}

std::vector<std::string_view> groups() {
  std::vector<std::string_view> names;
  for (const Counter& counter : counters()) {
    if (std::ranges::find(names, counter.group) == names.end()) names.push_back(counter.group);
  }
  return names;
}

}  // namespace

std::string markdown() {
  std::string page(kIntroduction);
  for (const std::string_view group : groups()) {
    page += fmt::format(
        "\n## {}\n\n| id | name | unit | type | scopes | number | what it counts |\n"
        "| --- | --- | --- | --- | --- | --- | --- |\n",
        group);
    for (const Counter& counter : counters()) {
      if (counter.group != group) continue;
      page += fmt::format("| `{}` | {} | {} | {} | {} | {} | {} |\n", counter.id, counter.name,
                          unit_of(counter), name_of(counter.storage), scope_list(counter.scopes),
                          static_cast<uint32_t>(counter.number), counter.description);
    }
  }
  return page;
}

namespace {

constexpr Stage kStages[] = {
    {0x0001, 0, "vertex", "vertex", "vert"},
    {0x0002, 1, "tessellation control", "tess control", "tesc"},
    {0x0004, 2, "tessellation evaluation", "tess evaluation", "tese"},
    {0x0008, 3, "geometry", "geometry", "geom"},
    {0x0010, 4, "fragment", "fragment", "frag"},
    {0x0020, 5, "compute", "compute", "comp"},
    {0x0040, 5364, "task", "task", "task"},
    {0x0080, 5365, "mesh", "mesh", "mesh"},
    {0x0100, 5313, "ray generation", "ray generation", "rgen"},
    {0x0200, 5315, "any-hit", "any hit", "rahit"},
    {0x0400, 5316, "closest-hit", "closest hit", "rchit"},
    {0x0800, 5317, "miss", "miss", "rmiss"},
    {0x1000, 5314, "intersection", "intersection", "rint"},
    {0x2000, 5318, "callable", "callable", "rcall"},
};

}  // namespace

std::span<const Stage> stages() { return kStages; }

const Stage* find_stage(uint32_t bit) {
  const auto found = std::ranges::find(kStages, bit, &Stage::bit);
  return found == std::end(kStages) ? nullptr : found;
}

const Stage* find_stage_of_model(uint32_t execution_model) {
  const auto found = std::ranges::find(kStages, execution_model, &Stage::execution_model);
  return found == std::end(kStages) ? nullptr : found;
}

const char* device_type_name(uint32_t type) {
  switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_CPU:
      return "cpu";
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
      return "discrete";
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
      return "integrated";
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
      return "virtual";
    default:
      return "other";
  }
}

}  // namespace tally::catalogue
