// Fuzzes the block-count pass with every combination of options: it never crashes, its output for a
// module that spirv-val accepts is accepted as well, and reading and writing it changes no bit.
#include <spirv-tools/libspirv.hpp>

#include <algorithm>
#include <cstdio>

#include "expect.h"
#include "probe/record.h"
#include "spirv/analysis/analyzed_module.h"
#include "spirv/analysis/block_map.h"
#include "spirv/analysis/interface.h"
#include "spirv/ir/editor.h"
#include "spirv/testing/block_count.h"
#include "spirv_input.h"

using namespace tally::spirv;

namespace {

constexpr spv_target_env kEnvironment = SPV_ENV_VULKAN_1_3;

// Returns the validator's message, empty if it accepts the module.
std::string validate(std::span<const uint32_t> words) {
  std::string message;
  spvtools::SpirvTools tools(kEnvironment);
  tools.SetMessageConsumer(
      [&](spv_message_level_t, const char*, const spv_position_t&, const char* text) {
        if (message.empty()) message = text;
      });
  spvtools::ValidatorOptions options;
  options.SetScalarBlockLayout(true);
  if (tools.Validate(words.data(), words.size(), options)) return {};
  return message.empty() ? "invalid" : message;
}

// The module with every decoration of a group at each of the group's targets, repeated ones too:
// not by the reader, which this fuzzer tests.
std::vector<uint32_t> without_groups(const Module& module) {
  const auto header = module.words().first(kHeaderWords);
  std::vector<uint32_t> words(header.begin(), header.end());
  for (size_t index = 0; index < module.instruction_count(); ++index) {
    const Instruction instruction = module.instruction(index);
    const bool of_members = instruction.opcode() == spv::Op::OpGroupMemberDecorate;
    if (!of_members && instruction.opcode() != spv::Op::OpGroupDecorate) {
      words.insert(words.end(), instruction.words().begin(), instruction.words().end());
      continue;
    }
    const size_t step = of_members ? 2 : 1;
    for (size_t at = 1; at + step <= instruction.operand_count(); at += step) {
      for (const uint32_t decoration : module.decorations_of(instruction.operand(0))) {
        const auto target = instruction.operands().subspan(at, step);
        const Instruction decorates = module.instruction(decoration);
        const auto what = decorates.operands().subspan(1);
        const spv::Op opcode = of_members ? spv::Op::OpMemberDecorate : decorates.opcode();
        words.push_back(static_cast<uint32_t>(1 + step + what.size()) << spv::WordCountShift |
                        static_cast<uint32_t>(opcode));
        words.insert(words.end(), target.begin(), target.end());
        words.insert(words.end(), what.begin(), what.end());
        if (words.size() > module.words().size() + (size_t{1} << 20)) return {};
      }
    }
  }
  return words;
}

// spirv-val does not see all that is wrong with what a group decorates. The specification says that
// a group is the same as its decorations at each target, so both must be valid.
bool is_valid(const Module& module) {
  return validate(module.words()).empty() &&
         (!module.decorates_in_groups() || validate(without_groups(module)).empty());
}

// Beyond any block of push constants that a module of this size can reasonably declare. Pipelines
// use an offset after the application's ranges.
constexpr uint32_t kFirstPushConstantOffset = 1u << 20;

// For the two stages with packed draw indices; uses a location that no other variable uses.
std::optional<PackedDrawIndices> packed_draw_indices_of(const Module& module,
                                                        const EntryPoint& entry) {
  const bool reads = entry.model == spv::ExecutionModel::Fragment;
  if (!reads && entry.model != spv::ExecutionModel::Vertex) return std::nullopt;
  const auto storage = reads ? spv::StorageClass::Input : spv::StorageClass::Output;
  return PackedDrawIndices{first_free_location(module, entry, storage)};
}

BlockCountOptions options_of(const tally::fuzz::SpirvInput& input, const Module& module) {
  const auto& choices = input.choices;
  BlockCountOptions options;
  const EntryPoint& entry = module.entry_points()[choices[0] % module.entry_points().size()];
  options.stage = entry.model;
  options.entry_point = entry.name;
  if (choices[1] & 1) {
    options.address.kind = AddressSource::Kind::UniformBuffer;
    options.address.set = 7;
    options.address.binding = choices[1] >> 4;
  } else {
    options.address.push_constant_offset = kFirstPushConstantOffset + 8u * (choices[1] >> 4);
  }
  options.placement = choices[2] & 1 ? Placement::Every : Placement::Minimal;
  options.counting = static_cast<Counting>((choices[2] >> 1) % 3);
  options.int64 = choices[3] & 1;
  options.int64_atomics = (choices[3] & 3) == 3;
  options.subgroup_operations = choices[3] & 4;
  options.count_subgroups = choices[3] & 8;
  options.count_branches = choices[3] & 16;
  options.alpha_to_coverage = choices[3] & 32;
  options.max_shards_log2 = choices[4] % (tally::probe::kMaxShardsLog2 + 1);
  if (choices[6] & 1) options.packed_draw_indices = packed_draw_indices_of(module, entry);
  options.driver.hangs_on_discards = choices[6] & 2;
  options.driver.keeps_draws_apart = choices[6] & 4;
  if ((choices[6] & 8) && entry.model == spv::ExecutionModel::Fragment) options.regions.emplace();
  options.count_outputs = choices[6] & 16;
  if (choices[6] & 32) options.driver.max_nested_conditionals = 80;
  options.sites = {.loops = (choices[6] & 64) != 0,
                   .values = (choices[6] & 128) != 0,
                   .clocks = (choices[5] & 128) != 0,
                   .memory = (choices[5] & 64) != 0};
  return options;
}

// Counts the module, or what a pipeline with some constants fixes it to.
tally::Result<BlockCountResult> count(const tally::fuzz::SpirvInput& input,
                                      const BlockCountOptions& options) {
  if ((input.choices[7] & 1) == 0) return add_block_counts(input.words, options);
  const auto analyzed = TALLY_TRY(AnalyzedModule::parse(input.words));
  tally::Specialization constants;
  for (const Module::DeclaredConstant& constant : analyzed.module().declared_constants()) {
    constants.push_back({constant.spec_id, 4, static_cast<uint64_t>(input.choices[7]) >> 1});
  }
  tally::make_valid(constants);
  return add_block_counts(AnalyzedModule(analyzed.module().fixed(constants)), options);
}

void check_plan(const CounterPlan& plan, const Module& module, const BlockCountOptions& options) {
  const auto map = BlockMap::build(module, options.stage, options.entry_point);
  TALLY_FUZZ_EXPECT(map.ok());
  TALLY_FUZZ_EXPECT(plan.block_count == map->blocks().size());
  const std::vector<uint64_t> counters(plan.record_counters(), 0);
  const BlockCounts counts = derive(plan, counters);
  TALLY_FUZZ_EXPECT(counts.executions.size() == plan.block_count);
  TALLY_FUZZ_EXPECT(std::ranges::all_of(counts.executions, [](uint64_t n) { return n == 0; }));
  TALLY_FUZZ_EXPECT(plan.verify(counters).empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const tally::fuzz::SpirvInput input = tally::fuzz::split_input(data, size);
  const auto module = Module::parse(input.words);
  if (!module || module->entry_points().empty()) return 0;
  const auto written = tally::spirv::Editor(*module).write();
  TALLY_FUZZ_EXPECT(!written || *written == input.words);
  const BlockCountOptions options = options_of(input, *module);
  const auto result = count(input, options);
  if (!result) {
    TALLY_FUZZ_EXPECT(!result.error().message.empty());
    return 0;
  }
  const auto again = Module::parse(result->words);
  if (!again) std::fprintf(stderr, "reader: %s\n", again.error().message.c_str());
  TALLY_FUZZ_EXPECT(again.ok());
  if (!is_valid(*module)) return 0;
  check_plan(result->plan, *module, options);
  const std::string message = validate(result->words);
  if (!message.empty()) std::fprintf(stderr, "spirv-val: %s\n", message.c_str());
  TALLY_FUZZ_EXPECT(message.empty() && "a valid module stays valid");
  return 0;
}
