// The rules over the code of shaders and their accesses to memory.
#include <algorithm>
#include <functional>

#include "analysis/findings/finder.h"
#include "analysis/model/counts.h"
#include "analysis/model/names.h"
#include "base/hash.h"
#include "spirv/analysis/block_map.h"
#include "spirv/analysis/interface.h"
#include "spirv/analysis/sites.h"

namespace tally::analysis {
namespace {

constexpr size_t kMaxMemoryRows = 100;
constexpr uint64_t kManySectors = 100;
constexpr uint64_t kSubgroup = 32;  // of most hardware
constexpr uint32_t kComputeStage = 0x20;

}  // namespace

void Finder::find_discards(const Ran& ran) {
  if (ran.stage != kFragmentStage) return;
  const spirv::Module& module = ran.code->module;
  uint64_t discarded = 0;
  std::vector<FindingPlace> places;
  const auto blocks = ran.code->map.blocks();
  for (uint32_t b = 0; b < blocks.size(); ++b) {
    const uint64_t executions = totals_.executions(ran.variant, b);
    if (executions == 0 || !discards(module, blocks[b])) continue;
    discarded = saturating_sum(discarded, executions);
    places.push_back(place_of_block(ran, b, with_separators(executions) + " discards"));
  }
  const double share = ratio(discarded, ran.invocations);
  if (share < 0.1) return;
  add(Rule::Discard, share_of(ran.work) * std::min(share, 1.0),
      fmt::format("{} discards {} of its {} fragments ({})", subject(ran),
                  with_separators(discarded), with_separators(ran.invocations), percent(share)),
      std::move(places));
}

void Finder::find_loop_limits(const Ran& ran) {
  const spirv::EntryPoint* entry = ran.code->entry(model_.shaders[ran.shader].entry_point);
  if (entry == nullptr) return;
  const spirv::AnalyzedModule analyzed{spirv::Module(ran.code->module)};
  for (const spirv::MappedFunction& function : ran.code->map.functions()) {
    const uint32_t index = ran.code->module.function_index(function.id);
    if (index == kNone || !function.is_countable || !analyzed.cfg(index)) continue;
    const spirv::Cfg& cfg = *analyzed.cfg(index);
    for (const spirv::LoopBound& bound : spirv::find_loop_bounds(analyzed, *entry, index)) {
      if (bound.executions == spirv::kUnbounded || bound.constant) continue;
      find_loop_limit(ran, function, cfg, bound);
    }
  }
}

void Finder::find_loop_limit(const Ran& ran, const spirv::MappedFunction& function,
                             const spirv::Cfg& cfg, const spirv::LoopBound& bound) {
  const auto executions = [&](uint32_t block) {
    return totals_.executions(ran.variant, function.first_block + block);
  };
  const std::vector<uint32_t>& in_loop = bound.loop.vertices;
  uint64_t entries = 0;
  for (const uint32_t before : cfg.predecessors(bound.loop.header)) {
    if (std::ranges::binary_search(in_loop, before)) continue;
    if (cfg.successors(before).size() != 1) return;  // how often it leads here is not known
    entries = saturating_sum(entries, executions(before));
  }
  const double trips = ratio(executions(bound.loop.header), entries);
  if (entries == 0 || bound.executions < 3 || trips < 0.95 * bound.executions) return;
  uint64_t work = 0;
  for (const uint32_t block : in_loop)
    work = saturating_sum(work, work_of(ran.variant, function.first_block + block));
  const uint32_t header = function.first_block + bound.loop.header;
  FindingPlace at = place_of_block(ran, header, with_separators(entries) + " entries");
  add(Rule::LoopLimit, share_of(work),
      fmt::format("the loop at {} runs {:.1f} times an entry, of at most {}: its other exits are "
                  "hardly taken",
                  at.where, trips - 1, bound.executions - 1),
      {at});
}

void Finder::find_one_way_branches(const Ran& ran) {
  const std::vector<BranchCount>& stored = branches_.of(ran.variant);
  const std::vector<BranchCount> branches =
      stored.empty() ? branch_counts(*ran.code, ran.variant, totals_) : stored;
  std::vector<std::pair<uint64_t, FindingPlace>> found;
  uint64_t executed = 0;
  for (const BranchCount& branch : branches) {
    const uint64_t times = totals_.executions(ran.variant, branch.branch.block);
    if (times < 1000) continue;  // a few invocations say little
    ++executed;
    if (std::count(branch.taken.begin(), branch.taken.end(), std::nullopt) != 0) continue;
    if (std::count(branch.taken.begin(), branch.taken.end(), uint64_t{0}) + 1 !=
        static_cast<ptrdiff_t>(branch.taken.size()))
      continue;
    const auto taken = std::ranges::find_if(branch.taken, [](const auto& n) { return *n != 0; });
    const std::string& label =
        branch.branch.targets[static_cast<size_t>(taken - branch.taken.begin())].label;
    std::string numbers = fmt::format("{} times, always {}", with_separators(times), label);
    found.emplace_back(times, branch.branch.location
                                  ? place(ran, branch.branch.location, std::move(numbers))
                                  : place_of_block(ran, branch.branch.block, std::move(numbers)));
  }
  if (found.empty()) return;
  std::ranges::stable_sort(found, std::greater(), &std::pair<uint64_t, FindingPlace>::first);
  std::vector<FindingPlace> places;
  for (auto& [times, at] : found) places.push_back(std::move(at));
  add(Rule::OneWayBranch, 0,
      fmt::format("{} of {} of {} always {} the same way", with_separators(found.size()),
                  counted(executed, "branch"), subject(ran), found.size() == 1 ? "goes" : "go"),
      std::move(places));
}

void Finder::find_unused_functions(const Ran& ran) {
  const FunctionTable functions(*ran.code);
  const std::vector<uint64_t> executions = functions.executions(ran.variant, totals_);
  std::vector<FindingPlace> places;
  for (uint32_t f = 0; f < executions.size(); ++f) {
    if (executions[f] != 0 || functions.names()[f].starts_with('%')) continue;
    FindingPlace at = place(ran, functions.place(f), functions.names()[f]);
    places.push_back(std::move(at));
  }
  if (places.empty()) return;
  std::string text = fmt::format("{} of {} of {} never ran", with_separators(places.size()),
                                 counted(executions.size(), "function"), subject(ran));
  add(Rule::NeverRan, 0, std::move(text), std::move(places));
}

void Finder::find_uniform_work(const Ran& ran) {
  const spirv::Module& module = ran.code->module;
  const auto blocks = ran.code->map.blocks();
  const std::vector<uint32_t> uniform = uniform_instructions(module, ran.code->map);
  const spirv::CostModel costs(module);
  spirv::SourceInfo sources(module);
  spirv::LineCursor cursor(sources);
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> lines;  // work by file and line
  uint64_t work = 0;
  auto next = uniform.begin();
  for (uint32_t b = 0; b < blocks.size() && next != uniform.end(); ++b) {
    for (uint32_t i = module.definition_index(blocks[b].label_id);
         i < module.instruction_count() && module.word_offset(i) < blocks[b].word_end; ++i) {
      cursor.advance(module.instruction(i));
      if (next == uniform.end() || *next != i) continue;
      ++next;
      const uint64_t value =
          instruction_values(costs, *ran.code, i, ran.variant, b, totals_, metrics_)[metric_];
      work = saturating_sum(work, value);
      const auto& location = cursor.place().location;
      if (!location) continue;
      uint64_t& sum = lines[{location->file, location->line}];
      sum = saturating_sum(sum, value);
    }
  }
  if (ratio(work, ran.work) < 0.05 || ran.invocations < 1000) return;
  std::vector<std::pair<uint64_t, FindingPlace>> found;
  for (const auto& [line, sum] : lines) {
    found.emplace_back(sum, place(ran, spirv::SourceLocation{line.first, line.second, 0},
                                  fmt::format("{} {}", with_separators(sum), metric_name())));
  }
  std::ranges::stable_sort(found, std::greater(), &std::pair<uint64_t, FindingPlace>::first);
  std::vector<FindingPlace> places;
  for (auto& [value, at] : found) places.push_back(std::move(at));
  add(Rule::UniformWork, share_of(work),
      fmt::format("{} of the {} of {} went into values that are the same in all its {} invocations",
                  percent(ratio(work, ran.work)), metric_name(), subject(ran),
                  with_separators(ran.invocations)),
      std::move(places));
}

void Finder::find_low_efficiency(const Ran& ran) {
  if (model_.subgroup_lanes == kNone) return;
  uint64_t lanes = 0, executions = 0;
  for (uint32_t b = 0; b < totals_.block_count(ran.variant); ++b) {
    lanes = saturating_sum(lanes, totals_.value(ran.variant, b, model_.subgroup_lanes));
    executions =
        saturating_sum(executions, totals_.value(ran.variant, b, model_.subgroup_executions));
  }
  const double efficiency = ratio(executions, lanes);
  if (lanes == 0 || efficiency >= 0.7) return;
  add(Rule::LowSimdEfficiency, share_of(ran.work) * (1 - efficiency),
      fmt::format("{} of the lanes of {} work: {} executions of blocks in subgroups with {} lanes",
                  percent(efficiency), subject(ran), with_separators(executions),
                  with_separators(lanes)));
}

void Finder::find_small_workgroups(const Ran& ran) {
  if (ran.stage != kComputeStage) return;
  const spirv::EntryPoint* entry = ran.code->entry(model_.shaders[ran.shader].entry_point);
  const auto size =
      entry != nullptr ? spirv::specialized_workgroup_size(ran.code->module, *entry) : std::nullopt;
  if (!size) return;
  const uint64_t invocations =
      saturating_product(saturating_product((*size)[0], (*size)[1]), (*size)[2]);
  if (invocations >= kSubgroup || invocations == 0) return;
  add(Rule::SmallWorkgroup, share_of(ran.work),
      fmt::format("workgroups of {} have {} x {} x {} invocations; a subgroup of {} is {} full",
                  name_of(ran), (*size)[0], (*size)[1], (*size)[2], kSubgroup,
                  percent(ratio(invocations, kSubgroup))));
}

void Finder::list_accesses() {
  std::map<uint32_t, const Ran*> ran_of;  // by variant
  for (const Ran& ran : ran_) ran_of[ran.variant] = &ran;
  std::vector<const MemoryLine*> lines;
  for (const MemoryLine& line : memory_) {
    if (ran_of.contains(line.variant)) lines.push_back(&line);
  }
  std::ranges::stable_sort(lines, std::greater(), &MemoryLine::bytes);
  found_.memory_left_out = lines.size() - std::min(lines.size(), kMaxMemoryRows);
  lines.resize(lines.size() - found_.memory_left_out);
  for (const MemoryLine* line : lines) {
    const Ran& ran = *ran_of[line->variant];
    FindingPlace at =
        line->location ? place(ran, line->location, {}) : place_of_block(ran, line->block, {});
    found_.memory.push_back({std::move(at.where), std::move(at.text), line->resource, line->access,
                             line->bytes, line->sectors, line->extra_passes, line->texels});
  }
}

void Finder::add_memory(Rule rule, const Ran& ran, std::string text,
                        std::vector<MemoryPlace> found) {
  std::ranges::stable_sort(found, std::greater(), &MemoryPlace::too_many);
  std::vector<FindingPlace> places;
  for (const MemoryPlace& at : found) {
    std::string numbers =
        fmt::format("{} of {}: {}", at.line->access, at.line->resource, at.numbers);
    places.push_back(at.line->location ? place(ran, at.line->location, std::move(numbers))
                                       : place_of_block(ran, at.line->block, std::move(numbers)));
  }
  add(rule, 0, std::move(text), std::move(places));
}

void Finder::find_uncoalesced(const Ran& ran) {
  uint64_t all = 0, touched = 0, filled = 0;
  for (const MemoryLine& line : memory_) all = saturating_sum(all, line.sectors);
  std::vector<MemoryPlace> found;
  for (const MemoryLine& line : memory_) {
    if (line.variant != ran.variant || line.sectors == 0) continue;
    const uint64_t least = std::max(line.subgroups, line.bytes / spirv::kSectorBytes);
    if (line.sectors < saturating_product(2, least) || ratio(line.sectors, all) < 0.01) continue;
    touched = saturating_sum(touched, line.sectors);
    filled = saturating_sum(filled, least);
    found.push_back({line.sectors - least, &line,
                     fmt::format("{} sectors for {} bytes", with_separators(line.sectors),
                                 with_separators(line.bytes))});
  }
  if (found.empty() || touched < kManySectors) return;
  std::string text = fmt::format(
      "{} of {} touch {:.1f} times the sectors of 32 bytes that they could fill: {} instead of "
      "{}",
      counted(found.size(), "access"), subject(ran), ratio(touched, filled),
      with_separators(touched), with_separators(filled));
  add_memory(Rule::Uncoalesced, ran, std::move(text), std::move(found));
}

void Finder::find_bank_conflicts(const Ran& ran) {
  uint64_t extra = 0, subgroups = 0;
  std::vector<MemoryPlace> found;
  for (const MemoryLine& line : memory_) {
    if (line.variant != ran.variant || line.subgroups < kSubgroup) continue;
    const double passes = ratio(line.extra_passes, line.subgroups);
    if (passes < 0.5) continue;
    extra = saturating_sum(extra, line.extra_passes);
    subgroups = saturating_sum(subgroups, line.subgroups);
    found.push_back(
        {line.extra_passes, &line, fmt::format("{:.1f} extra passes a subgroup", passes)});
  }
  if (found.empty()) return;
  std::string text = fmt::format(
      "{} of {} to workgroup memory take {} extra passes over its banks, {:.1f} each "
      "time that a subgroup makes one",
      counted(found.size(), "access"), subject(ran), with_separators(extra),
      ratio(extra, subgroups));
  add_memory(Rule::BankConflicts, ran, std::move(text), std::move(found));
}

void Finder::find_reads_after_writes(const Ran& ran) {
  const spirv::Module& module = ran.code->module;
  const spirv::MemoryAccesses accesses(module);
  const auto blocks = ran.code->map.blocks();
  uint64_t loads = 0;
  std::vector<std::pair<uint64_t, FindingPlace>> found;
  for (uint32_t b = 0; b < blocks.size(); ++b) {
    const uint64_t executions = totals_.executions(ran.variant, b);
    if (executions < 1000) continue;
    std::vector<uint32_t> offsets;
    for (const uint32_t load : loads_of_stored(module, blocks[b], accesses))
      offsets.push_back(module.word_offset(load));
    for (const auto& at : spirv::site_places(module, ran.code->map, offsets)) {
      const std::string resource =
          resource_text(module, *accesses.find(module.instruction(at.instruction)));
      std::string numbers = fmt::format("{} loads of {}", with_separators(executions), resource);
      loads = saturating_sum(loads, executions);
      found.emplace_back(executions, at.location ? place(ran, at.location, std::move(numbers))
                                                 : place_of_block(ran, b, std::move(numbers)));
    }
  }
  if (found.empty()) return;
  std::ranges::stable_sort(found, std::greater(), &std::pair<uint64_t, FindingPlace>::first);
  std::vector<FindingPlace> places;
  for (auto& [value, at] : found) places.push_back(std::move(at));
  add(Rule::ReadAfterWrite, 0,
      fmt::format("{} loads of {} read what the same invocation stored just before",
                  with_separators(loads), subject(ran)),
      std::move(places));
}

void Finder::find_same_code() {
  std::map<std::string, std::vector<const Ran*>> by_code;
  for (const Ran& ran : ran_) by_code[to_string(code_hash(ran.code->module))].push_back(&ran);
  for (const auto& [hash, same] : by_code) {
    std::vector<FindingPlace> places;
    std::vector<std::string> modules;
    for (const Ran* ran : same) {
      const std::string module = shader_hash(model_, ran->shader);
      if (std::ranges::find(modules, module) != modules.end()) continue;
      modules.push_back(module);
      places.push_back({fmt::format("{} {}", name_of(*ran), short_hash(module)),
                        with_separators(ran->invocations) + " invocations",
                        {}});
    }
    if (modules.size() < 2) continue;
    add(Rule::SameCode, 0,
        fmt::format("{} modules have the same {} code", with_separators(modules.size()),
                    stage_name(same.front()->stage)),
        std::move(places));
  }
}
}  // namespace tally::analysis
