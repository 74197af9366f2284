#include "spirv/plan/site_plan.h"

#include <spirv/unified1/GLSL.std.450.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "spirv/analysis/loop_bounds.h"
#include "spirv/analysis/source_info.h"
#include "spirv/ir/opcode.h"

namespace tally::spirv {
namespace {

using spv::Op;

// The limit of an entry point. Each counter takes 8 bytes of every shard of a record.
constexpr uint32_t kMaxValueCounters = 8192;
constexpr uint32_t kCountersOfValues = 6;  // at most, of a site
constexpr size_t kMaxMemorySites = 2048;

bool returns(Op opcode) { return opcode == Op::OpReturn || opcode == Op::OpReturnValue; }

// The blocks that the header reaches without the merge block.
std::vector<uint32_t> blocks_of_loop(const Cfg& cfg, uint32_t header, std::vector<bool>& seen) {
  const uint32_t merge = cfg.blocks()[header].merge_block;
  std::vector<uint32_t> blocks = {header};
  seen[header] = true;
  for (size_t i = 0; i < blocks.size(); ++i) {
    for (const uint32_t next : cfg.successors(blocks[i])) {
      if (next == merge || seen[next]) continue;
      seen[next] = true;
      blocks.push_back(next);
    }
  }
  for (const uint32_t block : blocks) seen[block] = false;
  return blocks;
}

// The block with the loop's first test, or kNone.
uint32_t first_test(const Cfg& cfg, uint32_t header) {
  const CfgBlock& loop = cfg.blocks()[header];
  uint32_t at = header;
  for (size_t steps = 0; steps < cfg.blocks().size(); ++steps) {
    const auto next = cfg.successors(at);
    const CfgBlock& block = cfg.blocks()[at];
    if (block.terminator == Op::OpBranchConditional && next.size() == 2) {
      const bool leaves = next[0] == loop.merge_block || next[1] == loop.merge_block;
      const uint32_t other = next[0] == loop.merge_block ? next[1] : next[0];
      return leaves && other != header ? at : kNone;
    }
    if (next.size() != 1 || next[0] == header || next[0] == loop.merge_block) return kNone;
    if (next[0] == loop.continue_target || cfg.blocks()[next[0]].merge == MergeKind::Loop) {
      return kNone;
    }
    at = next[0];
  }
  return kNone;
}

// Instructions that compute a float: those that only pass one on or read one are left alone.
bool computes(Op opcode) {
  switch (opcode) {
    case Op::OpConvertSToF:
    case Op::OpConvertUToF:
    case Op::OpFConvert:
    case Op::OpQuantizeToF16:
    case Op::OpFAdd:
    case Op::OpFSub:
    case Op::OpFMul:
    case Op::OpFDiv:
    case Op::OpFRem:
    case Op::OpFMod:
    case Op::OpVectorTimesScalar:
    case Op::OpMatrixTimesScalar:
    case Op::OpVectorTimesMatrix:
    case Op::OpMatrixTimesVector:
    case Op::OpMatrixTimesMatrix:
    case Op::OpOuterProduct:
    case Op::OpDot:
    case Op::OpExtInst:
      return true;
    default:
      return opcode >= Op::OpDPdx && opcode <= Op::OpFwidthCoarse;
  }
}

bool divides(Op opcode) {
  switch (opcode) {
    case Op::OpUDiv:
    case Op::OpSDiv:
    case Op::OpUMod:
    case Op::OpSRem:
    case Op::OpSMod:
    case Op::OpFDiv:
    case Op::OpFRem:
    case Op::OpFMod:
      return true;
    default:
      return false;
  }
}

bool wants_positive(const Module& module, const Instruction& instruction) {
  if (instruction.opcode() != Op::OpExtInst ||
      module.ext_inst_set(instruction.operand(0)) != ExtInstSet::Glsl450) {
    return false;
  }
  switch (static_cast<GLSLstd450>(instruction.operand(1))) {
    case GLSLstd450Sqrt:
    case GLSLstd450InverseSqrt:
    case GLSLstd450Log:
    case GLSLstd450Log2:
    case GLSLstd450Pow:
      return true;
    default:
      return false;
  }
}

// Vulkan has no larger vectors of OpTypeVector. A module that is not valid may name any number.
constexpr uint32_t kMaxComponents = 4;

// The type of a number, or of the components of a vector of numbers.
std::optional<Instruction> number_type(const Module& module, uint32_t type_id) {
  auto type = module.definition(type_id);
  if (type && type->opcode() == Op::OpTypeVector) {
    if (type->operand(1) > kMaxComponents) return std::nullopt;
    type = module.definition(type->operand(0));
  }
  const bool is_number =
      type && (type->opcode() == Op::OpTypeInt || type->opcode() == Op::OpTypeFloat);
  return is_number ? type : std::nullopt;
}

// True for IEEE floats, vectors and matrices of them. Modules without Float16 may only store those
// of 16 bits.
bool has_float_components(const Module& module, uint32_t type_id) {
  const auto matrix = module.definition(type_id);
  const bool is_matrix = matrix && matrix->opcode() == Op::OpTypeMatrix;
  if (is_matrix && matrix->operand(1) > kMaxComponents) return false;
  const auto type = number_type(module, is_matrix ? matrix->operand(0) : type_id);
  if (!type || type->opcode() != Op::OpTypeFloat || type->operand_count() != 1) return false;
  return type->operand(0) != 16 || module.has_capability(spv::Capability::Float16);
}

bool is_known_integer(const Module& module, uint32_t id) {
  const auto type = module.definition(module.type_of(id));
  return type && type->opcode() == Op::OpTypeInt && type->operand(0) == 32;
}

// The type that an index selects from a composite, or 0. Adds the index if it may be out of range.
uint32_t select(const Module& module, uint32_t type_id, uint32_t index,
                std::vector<CheckedIndex>& checked) {
  const auto type = module.definition(type_id);
  if (!type) return 0;
  const bool is_dynamic = !module.constant_value(index) && is_known_integer(module, index);
  switch (type->opcode()) {
    case Op::OpTypeStruct:
      return type->operand(static_cast<size_t>(module.constant_value(index).value_or(0)));
    case Op::OpTypeArray:
      if (is_dynamic && is_known_integer(module, type->operand(1))) {
        checked.push_back({index, type->operand(1)});
      }
      return type->operand(0);
    case Op::OpTypeVector:
    case Op::OpTypeMatrix:
      if (is_dynamic) checked.push_back({index, 0, type->operand(1)});
      return type->operand(0);
    case Op::OpTypeRuntimeArray:
      return type->operand(0);
    default:
      return 0;
  }
}

// Not by a constant that is no 0.
bool is_divided(const Module& module, uint32_t divisor) {
  if (!number_type(module, module.type_of(divisor))) return false;
  if (module.opcode_of(divisor) != Op::OpConstant) return true;
  const Instruction value = *module.definition(divisor);
  return std::ranges::all_of(value.operands(), [](uint32_t word) { return word == 0; });
}

class SitePlanner {
 public:
  SitePlanner(const AnalyzedModule& analyzed, const EntryPoint& entry, const SegmentGraph& graph,
              const SiteOptions& options, MemoryLanes lanes, CounterPlan& plan)
      : analyzed_(analyzed),
        entry_(entry),
        module_(analyzed.module()),
        graph_(graph),
        options_(options),
        lanes_(lanes),
        plan_(plan),
        sources_(analyzed.module()) {}

  SitePlan find() {
    if (options_.loops) {
      for_each_function([&](const Cfg& cfg, auto segments) { add_loops(cfg, segments); });
    }
    if (options_.values) {
      for_each_function([&](const Cfg& cfg, auto) { add_values(cfg); });
    }
    if (options_.clocks) {
      add_whole();
      for_each_function([&](const Cfg& cfg, auto segments) { add_clocks(cfg, segments); });
    }
    if (options_.memory) {
      const MemoryAccesses accesses(module_);
      if (lanes_ == MemoryLanes::Virtual) find_functions_with_accesses(accesses);
      for_each_function(
          [&](const Cfg& cfg, auto segments) { add_memory(cfg, segments, accesses); });
    }
    std::ranges::sort(plan_.site_counters, {}, [](const CounterPlan::SiteCounter& counter) {
      return std::tuple(counter.site, counter.slot, counter.counter);
    });
    return std::move(sites_);
  }

 private:
  template <typename Visit>
  void for_each_function(Visit&& visit) const {
    const auto& segments = graph_.segments;
    for (size_t begin = 0; begin < segments.size();) {
      size_t end = begin;
      while (end < segments.size() && segments[end].function == segments[begin].function) ++end;
      const Result<Cfg>& cfg = analyzed_.cfg(segments[begin].function);
      if (cfg) visit(*cfg, std::span(segments).subspan(begin, end - begin));
      begin = end;
    }
  }

  uint32_t add_counter(uint32_t instruction, SiteSlot slot) {
    const uint32_t counter = plan_.record_counters();
    plan_.site_counters.push_back({site_number(module_.word_offset(instruction)), slot, counter});
    plan_.has_maxima = plan_.has_maxima || is_maximum(slot);
    return counter;
  }

  // The first instruction before which code may stand, indexed by block.
  static std::vector<uint32_t> begins_of_blocks(std::span<const CfgSegment> segments) {
    std::vector<uint32_t> begins;
    for (const CfgSegment& segment : segments) {
      if (segment.begins_block) begins.push_back(segment.insert_at);
    }
    return begins;
  }

  // The last instruction before which code may stand in a block.
  static uint32_t end_of(const CfgBlock& block) {
    return block.merge_instruction == kNone ? block.end - 1 : block.merge_instruction;
  }

  // The returns among the blocks.
  static std::vector<uint32_t> returns_of(const Cfg& cfg, std::span<const uint32_t> blocks) {
    std::vector<uint32_t> instructions;
    for (const uint32_t number : blocks) {
      const CfgBlock& block = cfg.blocks()[number];
      if (returns(block.terminator)) instructions.push_back(block.end - 1);
    }
    return instructions;
  }

  void add_loops(const Cfg& cfg, std::span<const CfgSegment> segments) {
    const std::vector<uint32_t> first = begins_of_blocks(segments);
    std::vector<bool> seen(cfg.blocks().size());
    for (uint32_t header = 0; header < cfg.blocks().size(); ++header) {
      const CfgBlock& block = cfg.blocks()[header];
      if (block.merge != MergeKind::Loop || !block.reachable) continue;
      if (sites_.loops.size() == kMaxCountedLoops) {
        sites_.is_cut = true;
        return;
      }
      LoopSite loop{.first_counter = add_counter(block.merge_instruction, SiteSlot::Iterations)};
      add_counter(block.merge_instruction, SiteSlot::LongestRun);
      for (uint32_t i = 0; i < kRunBuckets; ++i) {
        add_counter(block.merge_instruction,
                    static_cast<SiteSlot>(static_cast<uint32_t>(SiteSlot::Runs) + i));
      }
      loop.begin = first[header];
      if (const uint32_t test = first_test(cfg, header); test != kNone) {
        add_test(cfg.blocks()[test], cfg.blocks()[block.merge_block].label_id, loop);
      }
      loop.end = first[block.merge_block];
      loop.returns = returns_of(cfg, blocks_of_loop(cfg, header, seen));
      sites_.loops.push_back(std::move(loop));
    }
  }

  void add_test(const CfgBlock& test, uint32_t merge_label, LoopSite& loop) const {
    const Instruction branch = module_.instruction(test.end - 1);
    loop.begin = end_of(test);
    loop.unless = branch.operand(0);
    loop.leaves_if = branch.operand(1) == merge_label;
  }

  ClockSite* add_clock(uint32_t instruction) {
    if (sites_.clocks.size() == kMaxTimedSites) {
      sites_.is_cut = true;
      return nullptr;
    }
    const uint32_t first = add_counter(instruction, SiteSlot::Cycles);
    add_counter(instruction, SiteSlot::TimedRuns);
    return &sites_.clocks.emplace_back(ClockSite{.first_counter = first});
  }

  void add_whole() {
    const uint32_t function = graph_.segments[graph_.entry_segment].function;
    const uint32_t begin = module_.functions()[function].begin;
    find_long_functions(function);
    add_clock(begin);
    add_counter(begin, SiteSlot::TimedInvocations);
  }

  void add_clocks(const Cfg& cfg, std::span<const CfgSegment> segments) {
    const std::vector<uint32_t> first = begins_of_blocks(segments);
    std::vector<bool> seen(cfg.blocks().size());
    const std::vector<bool>& are_long = long_loops_[segments.front().function];
    for (uint32_t number = 0; number < cfg.blocks().size(); ++number) {
      const CfgBlock& block = cfg.blocks()[number];
      if (!block.reachable) continue;
      if (are_long[number]) {
        add_clock_of_loop(cfg, number, first[block.merge_block], seen);
      }
      for (uint32_t i = block.begin; i < block.end; ++i) {
        if (!calls_long(module_.instruction(i))) continue;
        ClockSite* site = add_clock(i);
        if (site == nullptr) return;
        site->begins = {i};
        site->ends = {i + 1};
      }
    }
  }

  // Before the ends of the blocks from which a loop is entered.
  static std::vector<uint32_t> entries_of(const Cfg& cfg, uint32_t header,
                                          const std::vector<uint32_t>& inside) {
    std::vector<uint32_t> entries;
    for (const uint32_t before : cfg.predecessors(header)) {
      if (std::ranges::find(inside, before) == inside.end()) {
        entries.push_back(end_of(cfg.blocks()[before]));
      }
    }
    return entries;
  }

  void add_clock_of_loop(const Cfg& cfg, uint32_t header, uint32_t end, std::vector<bool>& seen) {
    ClockSite* site = add_clock(cfg.blocks()[header].merge_instruction);
    if (site == nullptr) return;
    const std::vector<uint32_t> inside = blocks_of_loop(cfg, header, seen);
    site->begins = entries_of(cfg, header, inside);
    site->ends = {end};
    for (const uint32_t leaves : returns_of(cfg, inside)) site->ends.push_back(leaves);
  }

  // Functions with a long loop, with many instructions, or that call such a function. Reading the
  // clock takes longer than what the others do.
  void find_long_functions(uint32_t entry) {
    constexpr uint32_t kManyInstructions = 64;
    is_long_.resize(module_.functions().size());
    long_loops_.resize(module_.functions().size());
    for (const uint32_t index : module_.calls().callees_first(entry)) {
      const Function& function = module_.functions()[index];
      is_long_[index] = function.end - function.begin >= kManyInstructions;
      for (uint32_t i = function.begin; i < function.end; ++i)
        if (calls_long(module_.instruction(i))) is_long_[index] = true;
      const Result<Cfg>& cfg = analyzed_.cfg(index);
      if (!cfg) continue;
      long_loops_[index] = find_long_loops(*cfg, index);
      if (std::ranges::find(long_loops_[index], true) != long_loops_[index].end())
        is_long_[index] = true;
    }
  }

  // The headers of loops that may execute many instructions each time that they are entered.
  // Compilers unroll most of the others, and a clock that is read there prevents that.
  std::vector<bool> find_long_loops(const Cfg& cfg, uint32_t function) const {
    constexpr double kManyInstructions = 2048;
    const auto& blocks = cfg.blocks();
    std::vector<bool> are_long(blocks.size());
    for (size_t b = 0; b < blocks.size(); ++b) are_long[b] = blocks[b].merge == MergeKind::Loop;
    const std::vector<LoopBound> bounds = find_loop_bounds(analyzed_, entry_, function);
    std::vector<double> executions(blocks.size(), 1);  // in the loops so far: inner ones come first
    for (size_t i = bounds.size(); i-- > 0;) {
      double instructions = 0;
      for (const uint32_t b : bounds[i].loop.vertices) {
        executions[b] *= bounds[i].executions;
        instructions += executions[b] * (blocks[b].end - blocks[b].begin);
        for (uint32_t at = blocks[b].begin; at < blocks[b].end; ++at)
          if (calls_long(module_.instruction(at))) instructions += kUnbounded;
      }
      if (instructions < kManyInstructions) are_long[bounds[i].loop.header] = false;
    }
    return are_long;
  }

  bool calls_long(const Instruction& instruction) const {
    if (instruction.opcode() != Op::OpFunctionCall) return false;
    const uint32_t callee = module_.function_index(instruction.operand(0));
    return callee != kNone && is_long_[callee];
  }

  void add_values(const Cfg& cfg) {
    LineCursor cursor(sources_);
    uint32_t at = cfg.blocks().front().begin;
    while (at > 0 && module_.instruction(at).opcode() != Op::OpFunction) --at;
    while (at > 0 && is_line(module_.instruction(at - 1).opcode())) --at;
    for (const CfgBlock& block : cfg.blocks()) {
      for (; at < block.begin; ++at) cursor.advance(module_.instruction(at));
      // Keyed by file and line.
      std::map<std::pair<uint32_t, uint32_t>, size_t> site_of;
      for (; at < block.end; ++at) {
        const Instruction instruction = module_.instruction(at);
        cursor.advance(instruction);
        if (parts(instruction.opcode())) site_of.clear();
        const CheckedValues checked = checked_values(module_, instruction);
        if (!block.reachable || !checked.any()) continue;
        size_t number = sites_.values.size();
        if (const auto& line = cursor.place().location) {
          number = site_of.try_emplace({line->file, line->line}, number).first->second;
        }
        if (number == sites_.values.size()) {
          if (value_counters_ + kCountersOfValues > kMaxValueCounters) {
            sites_.is_cut = true;
            return;
          }
          sites_.values.emplace_back();
        }
        add_value(sites_.values[number], at, checked);
      }
    }
  }

  void add_memory(const Cfg& cfg, std::span<const CfgSegment> segments,
                  const MemoryAccesses& accesses) {
    const std::vector<std::vector<uint32_t>> loops_of =
        lanes_ == MemoryLanes::Virtual ? counted_loops(cfg, segments)
                                       : std::vector<std::vector<uint32_t>>(cfg.blocks().size());
    for (uint32_t number = 0; number < cfg.blocks().size(); ++number) {
      const CfgBlock& block = cfg.blocks()[number];
      for (uint32_t at = block.begin; block.reachable && at < block.end; ++at) {
        const Instruction instruction = module_.instruction(at);
        if (calls_accesses(instruction)) sites_.counted_calls.push_back({at, loops_of[number]});
        auto access = accesses.find(instruction);
        if (!access) continue;
        if (sites_.memory.size() == kMaxMemorySites) {
          sites_.is_cut = true;
          return;
        }
        add_access(at, std::move(*access), loops_of[number]);
      }
    }
  }

  // Adds the loops of a function. Returns those around each block.
  std::vector<std::vector<uint32_t>> counted_loops(const Cfg& cfg,
                                                   std::span<const CfgSegment> segments) {
    const std::vector<uint32_t> first = begins_of_blocks(segments);
    std::vector<bool> seen(cfg.blocks().size());
    std::vector<std::vector<uint32_t>> loops_of(cfg.blocks().size());
    for (uint32_t header = 0; header < cfg.blocks().size(); ++header) {
      const CfgBlock& block = cfg.blocks()[header];
      if (block.merge != MergeKind::Loop || !block.reachable) continue;
      const std::vector<uint32_t> inside = blocks_of_loop(cfg, header, seen);
      const auto number = static_cast<uint32_t>(sites_.counted_loops.size());
      sites_.counted_loops.push_back({first[header], entries_of(cfg, header, inside)});
      for (const uint32_t of_loop : inside) loops_of[of_loop].push_back(number);
    }
    return loops_of;
  }

  // Functions with an access, or that call such a function.
  void find_functions_with_accesses(const MemoryAccesses& accesses) {
    has_accesses_.resize(module_.functions().size());
    const uint32_t entry = graph_.segments[graph_.entry_segment].function;
    for (const uint32_t index : module_.calls().callees_first(entry)) {
      const Function& function = module_.functions()[index];
      for (uint32_t i = function.begin; i < function.end && !has_accesses_[index]; ++i) {
        const Instruction instruction = module_.instruction(i);
        has_accesses_[index] = accesses.find(instruction) || calls_accesses(instruction);
      }
    }
  }

  bool calls_accesses(const Instruction& instruction) const {
    if (has_accesses_.empty() || instruction.opcode() != Op::OpFunctionCall) return false;
    const uint32_t callee = module_.function_index(instruction.operand(0));
    return callee != kNone && has_accesses_[callee];
  }

  void add_access(uint32_t at, MemoryAccess access, const std::vector<uint32_t>& loops) {
    const bool is_shared = access.storage == spv::StorageClass::Workgroup;
    MemorySite site{at, add_counter(at, SiteSlot::RequestedBytes), MemorySite::Units::None,
                    std::move(access), loops};
    const bool is_image = site.access.dimensions != 0;
    if (lanes_ != MemoryLanes::None && (!is_shared || site.access.extent <= kMaxSharedExtent)) {
      using Units = MemorySite::Units;
      site.units = is_shared ? Units::Banks : is_image ? Units::Texels : Units::Sectors;
      add_counter(at, SiteSlot::Subgroups);
      add_counter(at, is_shared  ? SiteSlot::ExtraPasses
                      : is_image ? SiteSlot::Texels
                                 : SiteSlot::Sectors);
      if (!is_shared && !is_image) add_counter(at, SiteSlot::Lines);
      if (lanes_ == MemoryLanes::Virtual && is_shared) {
        add_counter(at, SiteSlot::ExtraPasses);
        plan_.site_counters.back().subtracts = true;
      }
      if (lanes_ == MemoryLanes::Virtual) add_counter(at, SiteSlot::MissedAccesses);
    }
    if (site.access.is_of_buffer() && !plan_.has_sketch) {
      const uint32_t entry = graph_.segments[graph_.entry_segment].function;
      sites_.sketch = add_counter(module_.functions()[entry].begin, SiteSlot::TouchedLines);
      plan_.has_sketch = true;
    }
    sites_.memory.push_back(std::move(site));
  }

  // True if the invocations behind the instruction may be fewer.
  static bool parts(Op opcode) {
    return opcode == Op::OpFunctionCall || ends_invocation_inside_block(opcode);
  }

  void add_value(ValueSite& site, uint32_t index, const CheckedValues& checked) {
    site.instructions.push_back(index);
    const uint32_t first = site.instructions.front();
    const auto add = [&](bool wanted, uint32_t& counter, SiteSlot slot) {
      if (!wanted || counter != kNone) return;
      counter = add_counter(first, slot);
      ++value_counters_;
      if (slot != SiteSlot::Nan) return;
      add_counter(first, SiteSlot::Infinite);
      add_counter(first, SiteSlot::Denormal);
      value_counters_ += 2;
    };
    add(checked.result, site.result, SiteSlot::Nan);
    add(checked.divisor, site.zero_division, SiteSlot::ZeroDivision);
    add(checked.is_positive, site.negative, SiteSlot::Negative);
    add(checked.indices, site.out_of_range, SiteSlot::OutOfRange);
  }

  const AnalyzedModule& analyzed_;
  const EntryPoint& entry_;
  const Module& module_;
  const SegmentGraph& graph_;
  const SiteOptions& options_;
  MemoryLanes lanes_;
  CounterPlan& plan_;
  SourceInfo sources_;
  SitePlan sites_;
  uint32_t value_counters_ = 0;
  std::vector<bool> is_long_;                  // by function
  std::vector<std::vector<bool>> long_loops_;  // by function: by block, true for headers
  std::vector<bool> has_accesses_;             // by function; empty unless subgroups are virtual
};

}  // namespace

std::vector<CheckedIndex> checked_indices(const Module& module, const Instruction& instruction) {
  std::vector<CheckedIndex> checked;
  switch (instruction.opcode()) {
    case Op::OpAccessChain:
    case Op::OpInBoundsAccessChain: {
      const auto pointer = module.definition(module.type_of(instruction.operand(0)));
      uint32_t type = pointer && pointer->opcode() == Op::OpTypePointer ? pointer->operand(1) : 0;
      for (size_t i = 1; i < instruction.operand_count() && type != 0; ++i) {
        type = select(module, type, instruction.operand(i), checked);
      }
      break;
    }
    case Op::OpVectorExtractDynamic:
      select(module, module.type_of(instruction.operand(0)), instruction.operand(1), checked);
      break;
    case Op::OpVectorInsertDynamic:
      select(module, module.type_of(instruction.operand(0)), instruction.operand(2), checked);
      break;
    default:
      break;
  }
  return checked;
}

CheckedValues checked_values(const Module& module, const Instruction& instruction) {
  const Op opcode = instruction.opcode();
  return {.result = computes(opcode) && has_float_components(module, instruction.type_id()),
          .divisor = divides(opcode) && is_divided(module, instruction.operand(1)),
          .is_positive = wants_positive(module, instruction) &&
                         number_type(module, module.type_of(instruction.operand(2))),
          .indices = !checked_indices(module, instruction).empty()};
}

SitePlan plan_sites(const AnalyzedModule& analyzed, const EntryPoint& entry,
                    const SegmentGraph& graph, const SiteOptions& options, MemoryLanes lanes,
                    CounterPlan& plan) {
  return SitePlanner(analyzed, entry, graph, options, lanes, plan).find();
}

}  // namespace tally::spirv
