#include "analysis/tables/notes.h"

#include <fmt/format.h>

#include "analysis/tables/summary.h"

namespace tally::analysis {

void add_notes(const Model& model, Table& table) {
  const Summary summary = summarize(model);
  uint64_t uncounted = 0;
  for (const Uncounted& entry : summary.uncounted) uncounted += entry.commands;
  if (!summary.uncounted.empty()) {
    table.notes.push_back(
        fmt::format("Not counted: {} shader(s) in {} command(s); the overview says why.",
                    summary.uncounted.size(), uncounted));
  }
  if (summary.commands_missing != 0) {
    table.notes.push_back(
        fmt::format("{} commands are missing; the overview says why.", summary.commands_missing));
  }
}

std::string debug_information_hint() {
  return "For source lines compile with debug information: glslangValidator -gVS, glslc -g, "
         "dxc -fspv-debug=vulkan-with-source, slangc -g3.";
}

}  // namespace tally::analysis
