#include "spirv/analysis/loop_constructs.h"

namespace tally::spirv {

// A header inside of a loop is skipped, because its loop is part of the outer one, whose header
// comes first.
std::vector<bool> blocks_in_loops(const Cfg& cfg) {
  std::vector<bool> inside(cfg.blocks().size());
  std::vector<uint32_t> work;
  for (uint32_t header = 0; header < cfg.blocks().size(); ++header) {
    if (cfg.blocks()[header].merge != MergeKind::Loop || inside[header]) continue;
    inside[header] = true;
    work.push_back(header);
    while (!work.empty()) {
      const uint32_t block = work.back();
      work.pop_back();
      for (const uint32_t next : cfg.successors(block)) {
        if (next == cfg.blocks()[header].merge_block || inside[next]) continue;
        inside[next] = true;
        work.push_back(next);
      }
    }
  }
  return inside;
}

}  // namespace tally::spirv
