#include "catalogue/document.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "catalogue/catalogue.h"

namespace tally::catalogue {
namespace {

constexpr std::string_view kIntroduction =
    "# Counters\n\n"
    "These are all counters of Tally. A counter's number and id never change and are never "
    "reused.\n"
    "`cmake --build <build> --target counters_page` generates this page from `src/catalogue`.\n";

constexpr Scope kScopes[] = {Scope::Block,      Scope::Region,        Scope::Command,
                             Scope::RenderPass, Scope::CommandBuffer, Scope::Frame,
                             Scope::Process,    Scope::Device,        Scope::Branch};

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

}  // namespace tally::catalogue
