#include "analysis/notes.h"

#include <fmt/format.h>

#include "analysis/summary.h"

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
  if (summary.commands_dropped != 0) {
    table.notes.push_back(fmt::format("{} commands are missing: the capture could not keep up.",
                                      summary.commands_dropped));
  }
  const bool needs_blocks = table.id == "block" || table.id == "line" || table.id == "source" ||
                            table.id == "disassembly";
  if (needs_blocks && summary.blocks_dropped != 0) {
    table.notes.push_back(
        fmt::format("{} commands are missing here: the capture kept their sums, not their blocks.",
                    summary.blocks_dropped));
  }
}

std::string debug_information_hint() {
  return "For source lines compile with debug information: glslangValidator -gVS, glslc -g, "
         "dxc -fspv-debug=vulkan-with-source, slangc -g3.";
}

}  // namespace tally::analysis
