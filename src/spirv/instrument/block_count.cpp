#include "spirv/instrument/block_count.h"

#include <fmt/format.h>
#include <algorithm>
#include <memory>

#include "spirv/analysis/early_tests.h"
#include "spirv/analysis/loops.h"
#include "spirv/instrument/counting.h"
#include "spirv/instrument/flush_code.h"
#include "spirv/instrument/output_counting.h"
#include "spirv/instrument/record_writer.h"
#include "spirv/instrument/region_counting.h"
#include "spirv/instrument/site_counting.h"

namespace tally::spirv {
namespace {

using spv::Capability;
using spv::ExecutionModel;
using spv::Op;

constexpr uint32_t kVersion13 = make_version(1, 3);
constexpr uint32_t kVersion15 = make_version(1, 5);

bool uses_vulkan_memory_model(const Module& module) {
  return module.has_capability(Capability::VulkanMemoryModel);
}

// Returns the memory model if the pass supports the addressing model.
Result<spv::MemoryModel> check_memory_model(const Module& module) {
  for (uint32_t i = 0; i < module.instruction_count(); ++i) {
    const Instruction instruction = module.instruction(i);
    if (instruction.opcode() != Op::OpMemoryModel) continue;
    const auto addressing = static_cast<spv::AddressingModel>(instruction.operand(0));
    if (addressing != spv::AddressingModel::Logical &&
        addressing != spv::AddressingModel::PhysicalStorageBuffer64) {
      return Error{"Vulkan does not support its addressing model"};
    }
    return static_cast<spv::MemoryModel>(instruction.operand(1));
  }
  return Error{"it has no memory model"};
}

bool adds_early_tests(const AnalyzedModule& analyzed, const EntryPoint& entry,
                      const BlockCountOptions& options) {
  return !options.alpha_to_coverage && may_test_early(analyzed, entry);
}

void prepare_module(PassContext& context, spv::MemoryModel memory_model) {
  Editor& editor = context.editor;
  editor.keep_only(context.entry);
  if (context.options.driver.prefers_small_code) editor.remove_names();
  if (context.use_subgroups) {
    editor.raise_version(kVersion13);
    editor.add_capability(Capability::GroupNonUniform);
  }
  editor.set_memory_model(memory_model);
  editor.add_capability(Capability::PhysicalStorageBufferAddresses);
  editor.add_extension("SPV_KHR_physical_storage_buffer", kVersion15);
  if (context.use_int64) {
    editor.add_capability(Capability::Int64);
    editor.add_capability(Capability::Int64Atomics);
  }
  if (adds_early_tests(context.analyzed, context.entry, context.options)) {
    editor.add_execution_mode(context.entry.function_id, spv::ExecutionMode::EarlyFragmentTests);
  }
}

std::unique_ptr<CounterCode> make_counter_code(const CountingTools& tools,
                                               std::span<const Counter> counters) {
  Counting counting = tools.context.options.counting;
  if (counting == Counting::Subgroup && !tools.context.use_subgroups) counting = Counting::Lane;
  switch (counting) {
    case Counting::Lane:
      return make_lane_counting(tools, counters);
    case Counting::Subgroup:
      return make_subgroup_counting(tools, counters);
    case Counting::Private:
      break;
  }
  return make_private_counting(tools, counters);
}

// True if the record pointer has an impossible value.
uint32_t never(PassContext& context, const TaggedRecordPointers& pointers,
               InstructionBuilder& code) {
  Editor& editor = context.editor;
  const uint32_t address = pointers.load(code, TaggedRecordPointers::Kind::Record);
  return code.emit(Op::OpIEqual, editor.type_bool(),
                   {pointers.low_word(code, address), editor.constant_u32(~0u)});
}

void discard_if(InstructionBuilder& code, uint32_t condition) {
  const uint32_t inside = code.new_id();
  const uint32_t after = code.new_id();
  code.selection_merge(after);
  code.branch_if(condition, inside, after);
  code.label(inside);
  code.emit(Op::OpKill);
  code.label(after);
}

// void never() { if (never) discard; }
uint32_t make_never_function(PassContext& context, const TaggedRecordPointers& pointers) {
  Editor& editor = context.editor;
  const uint32_t none = editor.type_void();
  const uint32_t function = editor.new_id();
  editor.name(function, "tally.never");
  InstructionBuilder code = editor.new_code();
  code.emit_as(function, Op::OpFunction, none,
               std::vector<uint32_t>{0, editor.type_function(none)});
  code.label(code.new_id());
  discard_if(code, never(context, pointers, code));
  code.emit(Op::OpReturn);
  code.emit(Op::OpFunctionEnd);
  context.add_function(code);
  return function;
}

// A driver that drops overdraw has to see a discard in the module.
bool must_discard(const PassContext& context) {
  return context.options.driver.drops_overdraw && context.stage.has_helpers;
}

// Discards the invocations that were demoted. As a driver may find that there are none, and drop
// the discard, it sees one that it cannot drop.
void discard_demoted(PassContext& context, const TaggedRecordPointers& pointers,
                     const LateDemotions& demotions, InstructionBuilder& code) {
  uint32_t condition = demotions.is_demoted(code);
  if (must_discard(context)) {
    condition = code.emit(Op::OpLogicalOr, context.editor.type_bool(),
                          {condition, never(context, pointers, code)});
  }
  discard_if(code, condition);
}

// Inserts the code at the start of the entry point.
void insert_begin(PassContext& context, const TaggedRecordPointers& pointers,
                  PackedDrawIndex* draw_index, CounterCode* blocks, SiteCounting* sites,
                  RegionCounting* regions) {
  const bool discards_at_end = context.flushes_in_place() || !context.places.late.empty();
  InstructionBuilder begin = context.editor.new_code();
  if (draw_index != nullptr) draw_index->begin(begin);
  if (blocks) blocks->begin(begin);
  if (must_discard(context) && !discards_at_end) {
    begin.call(context.editor.type_void(), make_never_function(context, pointers));
  }
  if (regions) regions->begin(begin);
  if (sites) sites->begin(begin);
  context.editor.insert_before(context.graph.segments[context.graph.entry_segment].insert_at,
                               begin);
}

template <typename Counting>
void insert_counters(PassContext& context, std::span<const Counter> counters, Counting& counting) {
  for (uint32_t counter = 0; counter < counters.size(); ++counter) {
    InstructionBuilder code = context.editor.new_code();
    counting.count(code, counter);
    context.editor.insert_before(counters[counter].insert_at, code);
  }
}

// A tessellation control shader may use barriers only in its entry point, so it cannot be wrapped.
bool wants_single_exit(const BlockCountOptions& options) {
  return options.single_exit && options.counting == Counting::Private &&
         options.stage != spv::ExecutionModel::TessellationControl;
}

// Makes `void main() { application_main(); leave }` the entry point, so that several returns share
// one copy of the exit code.
template <typename Leave>
void wrap_entry_point(PassContext& context, const Exit& some_return, Leave&& leave) {
  Editor& editor = context.editor;
  const uint32_t none = editor.type_void();
  const uint32_t function = editor.new_id();
  editor.name(function, "tally.main");
  InstructionBuilder code = editor.new_code();
  code.emit_as(function, Op::OpFunction, none,
               std::vector<uint32_t>{0, editor.type_function(none)});
  code.label(code.new_id());
  code.call(none, context.entry.function_id);
  leave(code, some_return);
  code.emit(Op::OpReturn);
  code.emit(Op::OpFunctionEnd);
  context.add_function(code);
  editor.move_entry_point(context.entry, function);
}

// True if the only exit is in a loop of its function.
bool only_exit_is_in_loop(const AnalyzedModule& analyzed, std::span<const Exit> exits) {
  if (exits.size() != 1) return false;
  const uint32_t exit = exits[0].instruction;
  const auto& functions = analyzed.module().functions();
  const auto function = std::ranges::upper_bound(functions, exit, {}, &Function::begin) - 1;
  const Result<Cfg>& cfg = analyzed.cfg(static_cast<uint32_t>(function - functions.begin()));
  if (!cfg) return true;
  const auto block = std::ranges::upper_bound(cfg->blocks(), exit, {}, &CfgBlock::begin) - 1;
  return blocks_in_loops(*cfg)[static_cast<size_t>(block - cfg->blocks().begin())];
}

ExitPlaces find_exit_places(const AnalyzedModule& analyzed, const SegmentGraph& graph,
                            const BlockCountOptions& options, bool demotes_late) {
  const Module& module = analyzed.module();
  ExitPlaces places{graph.exits};
  if (demotes_late) {
    std::ranges::copy_if(places.exits, std::back_inserter(places.late), is_demotion);
    std::erase_if(places.exits, is_demotion);
  }
  const auto returns = [&](const Exit& exit) { return is_return(module, exit); };
  places.in_loop =
      options.driver.prefers_small_code && only_exit_is_in_loop(analyzed, places.exits);
  const auto count = std::ranges::count_if(places.exits, returns);
  places.wraps = wants_single_exit(options) && (count > 1 || (count == 1 && places.in_loop));
  if (places.wraps) {
    places.in_loop = false;
    std::erase_if(places.exits, returns);
  }
  return places;
}

// Inserts the counters before the exit code, because edits at the same place keep their order.
void insert_code(PassContext& context, std::span<const Counter> counters,
                 const TaggedRecordPointers& pointers, const LateDemotions* late_demotions,
                 CounterCode* blocks, SiteCounting* sites, RegionCounting* regions) {
  if (blocks) insert_counters(context, counters, *blocks);
  if (sites) sites->insert();
  if (regions) insert_counters(context, regions->counters(), *regions);
  const auto leave = [&](InstructionBuilder& code, const Exit& exit) {
    if (sites) sites->leave(code, exit);
    if (blocks) blocks->leave(code, exit);
    if (regions) regions->leave(code, exit);
    // After the counts: before them, LLVM evaluates the discard again for each lane that adds.
    if (must_discard(context) && context.flushes_in_place() && late_demotions == nullptr) {
      discard_if(code, never(context, pointers, code));
    }
    if (late_demotions != nullptr && is_return(context.module(), exit)) {
      discard_demoted(context, pointers, *late_demotions, code);
    }
  };
  if (context.places.wraps) {
    const auto returns = [&](const Exit& exit) { return is_return(context.module(), exit); };
    wrap_entry_point(context, *std::ranges::find_if(context.graph.exits, returns), leave);
  }
  for (const Exit& exit : context.places.exits) {
    InstructionBuilder code = context.editor.new_code();
    leave(code, exit);
    context.editor.insert_before(exit.instruction, code);
  }
  for (const Exit& demotion : context.places.late) {
    InstructionBuilder code = context.editor.new_code();
    blocks->leave(code, demotion);
    late_demotions->note(code);
    context.editor.replace(demotion.instruction, code);
  }
  if (blocks) blocks->finish();
  if (sites) sites->finish();
  if (regions) regions->finish();
}

Status check_packed_draw_indices(const BlockCountOptions& options) {
  if (!options.packed_draw_indices || options.stage == ExecutionModel::Vertex) return {};
  if (options.stage != ExecutionModel::Fragment) {
    return Error{"only vertex and fragment shaders can use packed draw indices"};
  }
  if (!options.packed_draw_indices->location)
    return Error{"it has no input for the packed draw index"};
  return {};
}

Status check_options(const BlockCountOptions& options) {
  if (options.address.kind == AddressSource::Kind::PushConstant &&
      options.address.push_constant_offset % 8 != 0) {
    return Error{"the push constant offset is not a multiple of 8"};
  }
  if (options.regions && options.stage != spv::ExecutionModel::Fragment) {
    return Error{"only fragment shaders can be counted by region"};
  }
  return check_packed_draw_indices(options);
}

// True if a module without counters needs no other change.
bool only_counts(const BlockCountOptions& options) {
  return !options.regions &&
         !(options.packed_draw_indices && options.stage == ExecutionModel::Vertex);
}

// Tells the user which functions are not counted, and what is not counted of sites.
std::string left_out(const Module& module, const SegmentGraph& graph, bool cuts_sites,
                     bool lacks_lanes) {
  std::string sites =
      cuts_sites
          ? "it has more loops, calls, lines with values or accesses to memory than are counted"
          : "";
  if (lacks_lanes) {
    sites += fmt::format(
        "{}only the bytes of its accesses are counted: its workgroup memory "
        "leaves no room for virtual subgroups, or the device has no memory",
        sites.empty() ? "" : "; ");
  }
  if (graph.left_out.empty()) return sites;
  const uint32_t id = module.functions()[graph.left_out.front()].id;
  const std::string name = module.name_of(id);
  return fmt::format(
      "{} of its functions ({}{}) are not counted: cooperative matrix instructions call them, and "
      "the driver chooses how often{}{}",
      graph.left_out.size(), name.empty() ? fmt::format("%{}", id) : name.substr(0, 64),
      graph.left_out.size() > 1 ? ", ..." : "", sites.empty() ? "" : "; ", sites);
}

BlockCountResult unchanged(const Module& module, CounterPlan plan, const SegmentGraph& graph) {
  return {{module.words().begin(), module.words().end()},
          std::move(plan),
          std::nullopt,
          left_out(module, graph, false, false)};
}

// The nesting of the code that the pass adds.
constexpr uint32_t kOwnConditionals = 8;

Status check_nesting(const AnalyzedModule& analyzed, const EntryPoint& entry,
                     const DriverWorkarounds& driver) {
  if (driver.max_nested_conditionals == 0) return {};
  const uint32_t nested = nested_conditionals(analyzed, entry);
  if (nested + kOwnConditionals <= driver.max_nested_conditionals) return {};
  return Error{fmt::format(
      "its conditionals and early returns may stand {} deep in each other; with code that counts, "
      "this driver can run {}",
      nested, driver.max_nested_conditionals - kOwnConditionals)};
}

// The options, changed to avoid what hangs the driver, or makes it lose counts.
Result<BlockCountOptions> safe_options(const AnalyzedModule& analyzed, const EntryPoint& entry,
                                       const BlockCountOptions& options) {
  BlockCountOptions safe = options;
  TALLY_TRY(check_nesting(analyzed, entry, options.driver));
  if (options.sites.any() && options.driver.masks_branches) {
    safe.counting = Counting::Lane;
    safe.subgroup_operations = false;
  }
  // llvmpipe from 25.0 runs subgroups by coroutines, and mixes them up where they execute barriers
  // of parts of a workgroup differently often: code at the end may not run for all lanes.
  if (options.driver.prefers_small_code && !options.driver.masks_branches &&
      options.stage == ExecutionModel::GLCompute &&
      barriers_of(analyzed.module()) == Barriers::OfParts) {
    safe.counting = Counting::Lane;
    safe.subgroup_operations = false;
  }
  if (!VirtualSubgroups::are_possible(analyzed, entry, options.sites)) safe.sites.memory_lanes = 0;
  if (!options.driver.hangs_on_discards || options.stage != ExecutionModel::Fragment) return safe;
  if (!discards_in_loop(analyzed, entry)) return safe;
  if (options.regions) {
    return Error{"it discards invocations in a loop, which this driver cannot count by region"};
  }
  safe.counting = Counting::Lane;
  safe.subgroup_operations = false;
  return safe;
}

MemoryLanes memory_lanes(const BlockCountOptions& options, bool use_subgroups, bool lacks_lanes) {
  if (options.sites.memory_lanes != 0) return MemoryLanes::Virtual;
  return use_subgroups && !lacks_lanes ? MemoryLanes::Device : MemoryLanes::None;
}

Result<BlockCountResult> instrument(const AnalyzedModule& analyzed, const EntryPoint& entry,
                                    const StageTraits& stage, const BlockCountOptions& wanted) {
  const Module& module = analyzed.module();
  const auto memory_model = TALLY_TRY(check_memory_model(module));
  const auto graph = TALLY_TRY(SegmentGraph::build(analyzed, entry));
  const BlockCountOptions options = TALLY_TRY(safe_options(analyzed, entry, wanted));
  TALLY_TRY(check_options(options));
  const bool use_subgroups = options.subgroup_operations && stage.lanes_are_invocations;
  const bool lacks_lanes = options.stage == ExecutionModel::GLCompute && wanted.sites.memory &&
                           wanted.sites.memory_lanes != options.sites.memory_lanes;
  const bool count_subgroups = options.count_subgroups && use_subgroups;

  CounterPlacement placed;
  if (options.count_blocks) {
    placed =
        place_counters(analyzed, graph, options, count_subgroups, output_streams(module, options));
  }
  SitePlan sites;
  if (options.count_blocks && options.sites.any()) {
    const MemoryLanes lanes = memory_lanes(options, use_subgroups, lacks_lanes);
    sites = plan_sites(analyzed, entry, graph, options.sites, lanes, placed.plan);
  }
  const bool moves = moves_push_constants(module, entry, options.address);
  if (placed.plan.record_counters() == 0 && only_counts(options) && !moves) {
    return unchanged(module, std::move(placed.plan), graph);
  }

  const bool demotes_late = LateDemotions::are_possible(analyzed, entry, graph, options);
  Editor editor(module);
  PassContext context{analyzed,
                      editor,
                      entry,
                      options,
                      stage,
                      graph,
                      use_subgroups,
                      options.count_blocks && options.int64 && options.int64_atomics,
                      uses_vulkan_memory_model(module),
                      !demotes_late && std::ranges::any_of(graph.exits, is_demotion),
                      find_exit_places(analyzed, graph, options, demotes_late)};
  prepare_module(context, memory_model);
  Builtins builtins(context);
  HelperMask helper_mask(context, builtins);
  const auto pointers = TALLY_TRY(TaggedRecordPointers::make(context));
  std::optional<PackedDrawIndex> draw_index;
  if (options.packed_draw_indices) draw_index.emplace(context, builtins, pointers);
  if (options.packed_draw_indices && options.stage == ExecutionModel::Vertex) {
    TALLY_TRY(hide_packed_draw_index(context, pointers));
  }
  std::optional<LateDemotions> late_demotions;
  if (demotes_late) late_demotions.emplace(context);
  const LateDemotions* late = late_demotions ? &*late_demotions : nullptr;
  std::optional<RecordWriter> record;
  std::unique_ptr<CounterCode> blocks;
  const bool cuts_sites = sites.is_cut;
  const bool has_no_access = sites.memory.empty();
  std::optional<SiteCounting> site_code;
  if (placed.plan.record_counters() != 0) {
    record.emplace(context, builtins, pointers, draw_index ? &*draw_index : nullptr, placed.plan);
  }
  if (!sites.empty()) {
    site_code.emplace(CountingTools{context, builtins, helper_mask, *record, late},
                      std::move(sites));
  }
  if (!placed.counters.empty()) {
    blocks = make_counter_code({context, builtins, helper_mask, *record, late}, placed.counters);
  }
  std::optional<RegionCounting> regions;
  if (options.regions) {
    regions.emplace(context, builtins, helper_mask, pointers);
    TALLY_TRY(regions->plan());
  }
  insert_begin(context, pointers, draw_index ? &*draw_index : nullptr, blocks.get(),
               site_code ? &*site_code : nullptr, regions ? &*regions : nullptr);
  insert_code(context, placed.counters, pointers, late, blocks.get(),
              site_code ? &*site_code : nullptr, regions ? &*regions : nullptr);
  const uint32_t patches = placed.plan.output_counters[0];
  if (record && options.tessellation && patches != CounterPlan::kZero) {
    TessellationCounting({context, builtins, helper_mask, *record, late}, patches).insert();
  }
  TALLY_TRY(builtins.status());
  auto words = TALLY_TRY(editor.write());
  std::optional<RecordSpecIds> spec_ids;
  if (record) spec_ids = record->spec_ids();
  const bool tests_early =
      declares_early_tests(module, entry) || adds_early_tests(analyzed, entry, options);
  return BlockCountResult{std::move(words), std::move(placed.plan), spec_ids,
                          left_out(module, graph, cuts_sites, lacks_lanes && !has_no_access),
                          tests_early};
}

}  // namespace

Result<BlockCountResult> add_block_counts(const AnalyzedModule& analyzed,
                                          const BlockCountOptions& options) {
  const StageTraits* stage = find_stage(options.stage);
  if (stage == nullptr) {
    return Error{fmt::format("its stage (execution model {}) is not known", word(options.stage))};
  }
  const EntryPoint* entry = analyzed.module().find_entry_point(options.stage, options.entry_point);
  if (entry == nullptr) {
    return Error{fmt::format("it has no {} entry point \"{}\"", stage_name(options.stage),
                             options.entry_point)};
  }
  return instrument(analyzed, *entry, *stage, options);
}

}  // namespace tally::spirv
