// Fuzzes the control-flow graph, call graph and block map with modules that the reader accepts.
#include <algorithm>

#include "expect.h"
#include "spirv/analysis/block_map.h"
#include "spirv/analysis/cfg.h"
#include "spirv/analysis/launch_inputs.h"
#include "spirv_input.h"

using tally::spirv::BlockMap;
using tally::spirv::Cfg;
using tally::spirv::Module;

namespace {

bool contains(std::span<const uint32_t> values, uint32_t value) {
  return std::ranges::find(values, value) != values.end();
}

void check_edges(const Cfg& cfg) {
  for (uint32_t block = 0; block < cfg.blocks().size(); ++block) {
    TALLY_FUZZ_EXPECT(cfg.block_of(cfg.blocks()[block].label_id) == block);
    for (uint32_t next : cfg.successors(block)) {
      TALLY_FUZZ_EXPECT(next < cfg.blocks().size());
      TALLY_FUZZ_EXPECT(contains(cfg.predecessors(next), block));
      TALLY_FUZZ_EXPECT(!cfg.blocks()[block].reachable || cfg.blocks()[next].reachable);
    }
    for (uint32_t previous : cfg.predecessors(block)) {
      TALLY_FUZZ_EXPECT(contains(cfg.successors(previous), block));
    }
  }
}

void check_block_map(const Module& module, const tally::spirv::EntryPoint& entry) {
  const auto map = BlockMap::build(module, entry.model, entry.name);
  if (!map) {
    TALLY_FUZZ_EXPECT(!map.error().message.empty());
    return;
  }
  // The public numbering: the labels of all functions that the entry point reaches, in module
  // order.
  size_t expected = 0;
  const tally::spirv::EntryPoint* found = module.find_entry_point(entry.model, entry.name);
  for (uint32_t index : module.reachable_functions(found->function_id)) {
    for (const auto& block : module.blocks_of(module.functions()[index])) {
      TALLY_FUZZ_EXPECT(expected < map->blocks().size());
      TALLY_FUZZ_EXPECT(map->blocks()[expected++].label_id == block.label_id);
    }
  }
  TALLY_FUZZ_EXPECT(expected == map->blocks().size());
  for (const auto& block : map->blocks()) {
    TALLY_FUZZ_EXPECT(block.word_begin < block.word_end);
    TALLY_FUZZ_EXPECT(block.word_end <= module.words().size());
    TALLY_FUZZ_EXPECT(block.function < map->functions().size());
    for (const auto& line : map->lines_of(block)) {
      TALLY_FUZZ_EXPECT(line.location.file < map->files().size());
    }
  }
}

void check_launch_inputs(const Module& module, const tally::spirv::EntryPoint& entry) {
  const auto inputs = tally::spirv::launch_inputs(module, entry);
  if (!inputs) return;
  const auto& ranges = inputs->push_constants;
  for (size_t i = 0; i < ranges.size(); ++i) {
    TALLY_FUZZ_EXPECT(ranges[i].begin < ranges[i].end);
    TALLY_FUZZ_EXPECT(i == 0 || ranges[i - 1].end < ranges[i].begin);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const tally::fuzz::SpirvInput input = tally::fuzz::split_input(data, size);
  const auto module = Module::parse(input.words);
  if (!module) return 0;
  for (const auto& function : module->functions()) {
    const auto cfg = Cfg::build(*module, function);
    if (cfg) check_edges(*cfg);
  }
  for (const auto& entry : module->entry_points()) {
    check_block_map(*module, entry);
    check_launch_inputs(*module, entry);
  }
  return 0;
}
