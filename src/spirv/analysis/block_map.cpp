#include "spirv/analysis/block_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/hash.h"
#include "spirv/analysis/cfg.h"
#include "spirv/analysis/redundancy.h"
#include "spirv/analysis/source_info.h"
#include "spirv/ir/opcode.h"

namespace tally::spirv {
namespace {

struct LineKey {
  uint32_t file, line, end_line, source_function, instance;
  bool operator==(const LineKey&) const = default;
};

struct LineKeyHash {
  size_t operator()(const LineKey& key) const {
    const uint64_t lines = hash_combine(key.line, key.end_line);
    const uint64_t function = hash_combine(key.source_function, key.instance);
    return static_cast<size_t>(hash_combine(hash_combine(lines, key.file), function));
  }
};

}  // namespace

class BlockMapBuilder {
 public:
  BlockMapBuilder(const Module& module, size_t functions)
      : module_(module),
        costs_(module),
        sources_(module),
        cursor_(sources_),
        functions_(static_cast<uint32_t>(functions)) {
    map_.costs_depend_on_specialization_ = costs_.types_depend_on_specialization();
  }

  void leave_out_redundant(std::span<const uint32_t> functions, const GpuCompiler* gpu);
  void add_function(const Function& function, bool is_countable);
  void find_main_file(uint32_t entry_function);
  BlockMap finish() &&;

 private:
  void add_block(const BlockRange& range);
  void add_cost(uint32_t index, Block& block);
  uint32_t line_of(const SourcePlace& place, Block& block);
  uint32_t instance_of(const SourcePlace& place, uint32_t function);
  uint32_t instance_at(uint32_t inlined_at, uint32_t function);
  void name_inlined(uint32_t instance, uint32_t source_function);
  void add_calls(const Instruction& instruction, uint32_t function);
  void resolve_callees();

  const Module& module_;
  CostModel costs_;
  SourceInfo sources_;
  LineCursor cursor_;
  BlockMap map_;

  // For the current block: indices into the map's lines, and the line of the last instruction.
  std::unordered_map<LineKey, uint32_t, LineKeyHash> block_lines_;
  LineKey last_key_{};
  uint32_t last_line_ = 0;
  bool keeps_ = false;  // CostDetail::Kept

  uint32_t functions_;                                 // how many the map will have
  std::unordered_map<uint32_t, uint32_t> inlined_at_;  // of the current function: their instances
};

void BlockMapBuilder::leave_out_redundant(std::span<const uint32_t> functions,
                                          const GpuCompiler* gpu) {
  keeps_ = true;
  map_.residues_ = residues_of_instructions(module_, functions, gpu);
}

void BlockMapBuilder::add_function(const Function& function, bool is_countable) {
  map_.functions_.push_back({function.id, sources_.function_name(function.id),
                             static_cast<uint32_t>(map_.blocks_.size()), function.block_count,
                             is_countable});
  inlined_at_.clear();
  // An OpLine before a block applies to it, so the cursor visits every instruction.
  cursor_ = LineCursor(sources_);
  uint32_t at = function.begin;
  while (at > 0 && is_line(module_.instruction(at - 1).opcode())) --at;
  for (const BlockRange& range : module_.blocks_of(function)) {
    for (; at < range.begin; ++at) cursor_.advance(module_.instruction(at));
    add_block(range);
    at = range.end;
  }
}

void BlockMapBuilder::add_block(const BlockRange& range) {
  Block block{};
  block.function_id = map_.functions_.back().id;
  block.function = static_cast<uint32_t>(map_.functions_.size() - 1);
  block.label_id = range.label_id;
  block.word_begin = module_.word_offset(range.begin);
  block.word_end = module_.word_offset(range.end);
  block.first_line = static_cast<uint32_t>(map_.lines_.size());
  // Clearing a hash table takes time in proportion to its buckets.
  if (block_lines_.bucket_count() > 64) block_lines_ = {};
  block_lines_.clear();
  if (keeps_) map_.kept_without_line_.emplace_back();
  for (uint32_t index = range.begin; index < range.end; ++index) {
    cursor_.advance(module_.instruction(index));
    add_cost(index, block);
    add_calls(module_.instruction(index), block.function);
  }
  map_.blocks_.push_back(block);
}

void BlockMapBuilder::add_cost(uint32_t index, Block& block) {
  const Instruction instruction = module_.instruction(index);
  if (!is_executed(module_, instruction)) return;
  costs_.add(instruction, block.mix);
  map_.costs_depend_on_specialization_ |= costs_.depends_on_specialization(instruction);
  const SourcePlace& place = cursor_.place();
  if (!place.location) {
    if (keeps_)
      costs_.add_compiled(instruction, map_.residues_[index], map_.kept_without_line_.back());
    return;
  }
  if (!block.location) block.location = place.location;
  block.end_location = place.location;
  block.end_instance = instance_of(place, block.function);
  const uint32_t line = line_of(place, block);
  costs_.add(instruction, map_.lines_[line].mix);
  if (keeps_) costs_.add_compiled(instruction, map_.residues_[index], map_.kept_of_lines_[line]);
}

// Index into the map's lines.
uint32_t BlockMapBuilder::line_of(const SourcePlace& place, Block& block) {
  const LineKey key{place.location->file, place.location->line, place.location->end_line,
                    place.source_function, block.end_instance};
  if (block.line_count > 0 && key == last_key_) return last_line_;
  const auto [found, is_new] =
      block_lines_.try_emplace(key, static_cast<uint32_t>(map_.lines_.size()));
  if (is_new) {
    map_.lines_.push_back({*place.location, {}, key.source_function, key.instance});
    if (keeps_) map_.kept_of_lines_.emplace_back();
    ++block.line_count;
  }
  last_key_ = key;
  last_line_ = found->second;
  return last_line_;
}

uint32_t BlockMapBuilder::instance_of(const SourcePlace& place, uint32_t function) {
  if (place.inlined_at == 0) return function;
  const uint32_t instance = instance_at(place.inlined_at, function);
  name_inlined(instance, place.source_function);
  return instance;
}

void BlockMapBuilder::name_inlined(uint32_t instance, uint32_t source_function) {
  if (instance < functions_) return;
  uint32_t& own = map_.inlined_calls_[instance - functions_].source_function;
  if (own == kNone) own = source_function;
}

// Callers come before what is inlined into them. A hostile module may have a cycle of calls: it is
// cut where a call is met again.
uint32_t BlockMapBuilder::instance_at(uint32_t inlined_at, uint32_t function) {
  if (const auto known = inlined_at_.find(inlined_at); known != inlined_at_.end())
    return known->second;
  std::vector<std::pair<uint32_t, InlinedAt>> chain;  // the innermost first
  std::unordered_set<uint32_t> met;
  uint32_t instance = function;
  for (uint32_t id = inlined_at; id != 0 && met.insert(id).second;) {
    if (const auto known = inlined_at_.find(id); known != inlined_at_.end()) {
      instance = known->second;
      break;
    }
    chain.emplace_back(id, sources_.inlined_at(id));
    id = chain.back().second.inlined_at;
  }
  if (!chain.empty()) name_inlined(instance, chain.back().second.caller);
  for (size_t i = chain.size(); i-- > 0;) {
    const uint32_t callee = i == 0 ? kNone : chain[i - 1].second.caller;
    map_.inlined_calls_.push_back({instance, callee, chain[i].second.location});
    instance = functions_ + static_cast<uint32_t>(map_.inlined_calls_.size() - 1);
    inlined_at_.emplace(chain[i].first, instance);
  }
  return instance;
}

void BlockMapBuilder::add_calls(const Instruction& instruction, uint32_t function) {
  const auto called = called_functions(instruction);
  for (const uint32_t id : {called.first, called.second}) {
    if (id == 0) continue;
    const SourcePlace& place = cursor_.place();
    map_.calls_.push_back({static_cast<uint32_t>(map_.blocks_.size()), id, place.location,
                           place.source_function, instance_of(place, function)});
  }
}

// Until here a call has the id of its callee.
void BlockMapBuilder::resolve_callees() {
  std::unordered_map<uint32_t, uint32_t> index_of;
  for (uint32_t f = 0; f < map_.functions_.size(); ++f) index_of[map_.functions_[f].id] = f;
  std::erase_if(map_.calls_,
                [&](const MappedCall& call) { return !index_of.contains(call.callee); });
  for (MappedCall& call : map_.calls_) call.callee = index_of[call.callee];
}

// Neither the compilation unit's file nor the first source: some compilers name an include there.
void BlockMapBuilder::find_main_file(uint32_t entry_function) {
  const uint32_t file = sources_.file_of_function(entry_function);
  if (file != kNone) map_.main_file_ = file;
  if (file != kNone || sources_.source_functions().empty()) return;
  for (const Block& block : map_.blocks_) {
    if (block.function_id != entry_function) continue;
    for (const LineCost& line : map_.lines_of(block)) {
      if (line.instance != block.function) continue;
      map_.main_file_ = line.location.file;
      return;
    }
  }
}

BlockMap BlockMapBuilder::finish() && {
  resolve_callees();
  map_.files_ = std::move(sources_.files());
  std::vector<SourceLocation> code;
  for (const LineCost& line : map_.lines_) code.push_back(line.location);
  number_lines(map_.files_, code);
  map_.source_functions_ = std::move(sources_.source_functions());
  return std::move(map_);
}

std::string BlockMap::source_name() const {
  if (files_.empty()) return {};
  const std::string& path = files_[main_file_].name;
  return path.substr(path.find_last_of("/\\") + 1);
}

Result<BlockMap> BlockMap::build(const Module& module, spv::ExecutionModel stage,
                                 std::string_view entry_point, CostDetail detail,
                                 const GpuCompiler* gpu) {
  const EntryPoint* entry = module.find_entry_point(stage, entry_point);
  if (entry == nullptr) {
    return Error{fmt::format("the module has no entry point \"{}\" of execution model {}",
                             entry_point, static_cast<uint32_t>(stage))};
  }
  const auto functions = module.reachable_functions(entry->function_id);
  BlockMapBuilder builder(module, functions.size());
  if (detail == CostDetail::Kept) builder.leave_out_redundant(functions, gpu);
  for (const uint32_t index : functions) {
    builder.add_function(module.functions()[index], !module.calls().is_called_by_matrices(index));
  }
  builder.find_main_file(entry->function_id);
  return std::move(builder).finish();
}

namespace {

// The literal of a case, as the selector's type has it.
std::string literal_text(const Module& module, const Instruction& branch, size_t at) {
  const std::optional<Instruction> type = module.definition(module.type_of(branch.operand(0)));
  const bool is_signed =
      type && type->opcode() == spv::Op::OpTypeInt && type->operand_count() > 1 && type->operand(1);
  uint64_t value = branch.operand(at);
  if (selector_words(module, branch.operand(0)) == 2) {
    value |= uint64_t{branch.operand(at + 1)} << 32;
  } else if (is_signed) {
    value = static_cast<uint64_t>(int64_t{static_cast<int32_t>(value)});
  }
  return is_signed ? fmt::format("{}", static_cast<int64_t>(value)) : fmt::format("{}", value);
}

// The edges that lead to the block that `label` begins.
std::string switch_label(const Module& module, const Instruction& branch, uint32_t label) {
  std::string text = branch.operand(1) == label ? "default" : "";
  const uint32_t words = selector_words(module, branch.operand(0));
  bool has_case = false;
  for (size_t at = 2; at + words < branch.operand_count(); at += words + 1) {
    if (branch.operand(at + words) != label) continue;
    if (!has_case) text += text.empty() ? "case " : ", case ";
    if (has_case) text += ", ";
    text += literal_text(module, branch, at);
    has_case = true;
  }
  return text;
}

Branch branch_of(const Module& module, const BlockMap& map, const Cfg& cfg, uint32_t first_block,
                 uint32_t block) {
  const CfgBlock& from = cfg.blocks()[block];
  const Instruction instruction = module.instruction(from.end - 1);
  Branch branch{first_block + block,
                from.terminator == spv::Op::OpSwitch,
                map.blocks()[first_block + block].end_location,
                {}};
  for (const uint32_t target : cfg.successors(block)) {
    const std::string label = branch.is_switch
                                  ? switch_label(module, instruction, cfg.blocks()[target].label_id)
                                  : (branch.targets.empty() ? "true" : "false");
    branch.targets.push_back({first_block + target, label, cfg.predecessors(target).size() == 1});
  }
  return branch;
}

}  // namespace

std::vector<Branch> branches_of(const Module& module, const BlockMap& map) {
  std::vector<Branch> branches;
  for (const MappedFunction& function : map.functions()) {
    const uint32_t index = module.function_index(function.id);
    if (!function.is_countable || index == kNone) continue;
    const Result<Cfg> cfg = Cfg::build(module, module.functions()[index]);
    if (!cfg) continue;
    for (uint32_t block = 0; block < cfg->blocks().size(); ++block) {
      if (!cfg->blocks()[block].reachable || cfg->successors(block).size() < 2) continue;
      branches.push_back(branch_of(module, map, *cfg, function.first_block, block));
    }
  }
  return branches;
}

namespace {

// Reads the lines in the order in which a BlockMap is built, so that files have the same numbers.
class PlaceFinder {
 public:
  PlaceFinder(const Module& module, std::span<const uint32_t> wanted)
      : module_(module), wanted_(wanted), sources_(module), cursor_(sources_) {}

  void visit(const MappedFunction& mapped) {
    const uint32_t index = module_.function_index(mapped.id);
    if (index == kNone) return;
    const Function& function = module_.functions()[index];
    cursor_ = LineCursor(sources_);
    uint32_t at = function.begin;
    while (at > 0 && is_line(module_.instruction(at - 1).opcode())) --at;
    uint32_t block = mapped.first_block;
    for (const BlockRange& range : module_.blocks_of(function)) {
      for (; at < range.begin; ++at) cursor_.advance(module_.instruction(at));
      for (; at < range.end; ++at) visit(at, block);
      ++block;
    }
    without_line_ = kNone;
  }

  std::vector<SitePlace> take() {
    std::ranges::sort(places_, {}, &SitePlace::word_offset);
    return std::move(places_);
  }

 private:
  void visit(uint32_t at, uint32_t block) {
    const Instruction instruction = module_.instruction(at);
    cursor_.advance(instruction);
    const auto& location = cursor_.place().location;
    if (location && without_line_ != kNone) {
      places_[without_line_].location = location;
      without_line_ = kNone;
    }
    if (!std::ranges::binary_search(wanted_, instruction.offset())) return;
    places_.push_back({instruction.offset(), at, block, location});
    const bool is_loop = instruction.opcode() == spv::Op::OpLoopMerge;
    if (is_loop && !location) without_line_ = static_cast<uint32_t>(places_.size() - 1);
  }

  const Module& module_;
  std::span<const uint32_t> wanted_;
  SourceInfo sources_;
  LineCursor cursor_;
  std::vector<SitePlace> places_;
  uint32_t without_line_ = kNone;  // a loop whose line is not known yet
};

}  // namespace

std::vector<SitePlace> site_places(const Module& module, const BlockMap& map,
                                   std::span<const uint32_t> word_offsets) {
  PlaceFinder finder(module, word_offsets);
  for (const MappedFunction& function : map.functions()) finder.visit(function);
  return finder.take();
}

}  // namespace tally::spirv
