#include "analysis/dataset/capture_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "analysis/cost/block_totals.h"
#include "analysis/cost/shader_loops.h"
#include "analysis/dataset/dataset.h"
#include "analysis/findings/facts.h"
#include "analysis/model/disassembly.h"
#include "analysis/model/names.h"
#include "catalogue/catalogue.h"
#include "spirv/analysis/block_map.h"
#include "spirv/analysis/source_info.h"

namespace tally::analysis {

CostRows::CostRows(const std::vector<Metric>& metrics, const std::vector<bool>& counted)
    : metrics_(metrics),
      counted_(counted),
      row_(metrics.size()),
      costs_(metrics.size(), DataColumn(DataColumn::Kind::Number)),
      used_(metrics.size()) {}

void CostRows::begin_block(uint32_t block, std::vector<uint64_t> costs) {
  block_ = block;
  rest_ = std::move(costs);
}

void CostRows::add_line(const Place& place,
                        const std::function<uint64_t(const Metric&)>& static_cost) {
  for (size_t m = 0; m < metrics_.size(); ++m) {
    const bool by_class = metrics_[m].attribution == Attribution::ByClass;
    row_[m] = by_class ? static_cost(metrics_[m]) : 0;
    if (counted_[m]) continue;
    row_[m] = std::min(row_[m], rest_[m]);
    rest_[m] -= row_[m];
  }
  add_row(place, row_);
}

void CostRows::end_block(const Place& place, const Place& rest) {
  std::vector<uint64_t> own(metrics_.size());
  for (size_t m = 0; m < metrics_.size(); ++m) {
    if (place.line != kNone && metrics_[m].attribution != Attribution::ByClass)
      own[m] = std::exchange(rest_[m], 0);
  }
  const auto has_costs = [](uint64_t cost) { return cost != 0; };
  if (std::ranges::any_of(own, has_costs)) add_row(place, own);
  if (std::ranges::any_of(rest_, has_costs)) add_row(rest, rest_);
}

void CostRows::add_row(const Place& place, std::span<const uint64_t> costs) {
  blocks_.push_index(block_);
  lines_.push_index(place.line);
  functions_.push_index(place.function);
  instances_.push(place.instance);
  frames_.push_index(place.frame);
  for (size_t m = 0; m < costs.size(); ++m) {
    costs_[m].push(costs[m]);
    if (costs[m] != 0) used_[m] = true;
  }
}

DataTable CostRows::finish() && {
  DataTable table("costs");
  table.add("block", DataColumn::Kind::Index) = std::move(blocks_);
  table.add("line", DataColumn::Kind::Index) = std::move(lines_);
  table.add("function", DataColumn::Kind::Index) = std::move(functions_);
  table.add("instance", DataColumn::Kind::Number) = std::move(instances_);
  table.add("frame", DataColumn::Kind::Index) = std::move(frames_);
  for (size_t m = 0; m < metrics_.size(); ++m) {
    if (used_[m]) table.add(metrics_[m].id, DataColumn::Kind::Number) = std::move(costs_[m]);
  }
  return table;
}

namespace {

// A damaged file may name blocks that no shader has.
constexpr uint32_t kMaxOtherBlocks = 65'536;
// The limit for sources and disassemblies. Texts beyond it are left out, and a note says so.
constexpr size_t kMaxTextBytes = size_t{32} << 20;

uint32_t kind_of(SourceOrigin origin) {
  switch (origin) {
    case SourceOrigin::Debug:
      return 0;
    case SourceOrigin::Reconstructed:
      return 1;
    case SourceOrigin::Spirv:
      return 2;
    case SourceOrigin::File:
      return 3;
  }
  return 2;
}

std::string joined_lines(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + '\n';
  return text;
}

// The variants of the shaders of all pipelines that commands used.
std::vector<uint32_t> used_variants(const Model& model, const Variants& variants) {
  std::set<uint32_t> pipelines, used;
  for (const Command& command : model.commands)
    if (command.pipeline != kNone) pipelines.insert(command.pipeline);
  for (const uint32_t pipeline : pipelines) {
    for (const store::RowId id : model.pipelines[pipeline].shaders) {
      const uint32_t shader = model.shader_index.find(id);
      if (shader != kNone && model.shader_selected[shader])
        used.insert(variants.of(pipeline, shader));
    }
  }
  return {used.begin(), used.end()};
}

// Calls `visit(instruction index, block)` for each instruction of the blocks.
template <typename Visit>
void for_each_block_instruction(const ShaderCode& code, Visit visit) {
  const spirv::Module& module = code.module;
  for (uint32_t b = 0; b < code.map.blocks().size(); ++b) {
    const spirv::Block& block = code.map.blocks()[b];
    for (size_t i = module.definition_index(block.label_id);
         i < module.instruction_count() && module.word_offset(i) < block.word_end; ++i)
      visit(i, b);
  }
}

}  // namespace

CaptureCode::CaptureCode(const Input& input)
    : in_(input), costs_(input.metrics, input.counted), text_left_(kMaxTextBytes) {
  for (const uint32_t variant : used_variants(in_.model, in_.variants)) add_variant(variant);
}

uint32_t CaptureCode::shader_row(uint32_t pipeline, uint32_t shader) const {
  const auto found = row_of_variant_.find(in_.variants.of(pipeline, shader));
  return found == row_of_variant_.end() ? kNone : found->second;
}

uint32_t CaptureCode::block_row(uint32_t pipeline, uint32_t shader, uint32_t block) {
  if (shader == kNone && !row_of_variant_.contains(kNone)) add_variant(kNone);
  const uint32_t variant = shader == kNone ? kNone : in_.variants.of(pipeline, shader);
  const auto row = row_of_variant_.find(variant);
  if (row == row_of_variant_.end()) return kNone;
  if (block < block_count_[row->second]) return first_block_[row->second] + block;
  const auto found = other_blocks_.find({row->second, block});
  if (found != other_blocks_.end()) return found->second;
  return other_blocks_.size() < kMaxOtherBlocks ? add_other_block(row->second, block) : kNone;
}

uint32_t CaptureCode::branch_row(uint32_t block_row, uint32_t target) const {
  const auto found = branch_rows_.find({block_row, target});
  return found == branch_rows_.end() ? kNone : found->second;
}

uint32_t CaptureCode::add_other_block(uint32_t shader_row, uint32_t block) {
  const auto row = static_cast<uint32_t>(blocks_.table.rows());
  other_blocks_[{shader_row, block}] = row;
  blocks_.shader.push(shader_row);
  blocks_.number.push(block);
  blocks_.function.push_missing();
  blocks_.line.push_missing();
  blocks_.discards.push(0);
  costs_.begin_block(row, costs_of(shader_of_row_[shader_row], block));
  costs_.end_block({kNone, kNone, 0}, {kNone, kNone, 0});
  return row;
}

std::vector<uint64_t> CaptureCode::costs_of(uint32_t shader, uint32_t block) const {
  std::vector<uint64_t> costs(in_.metrics.size());
  const uint32_t executions = executions_metric(in_.metrics);
  if (shader == kNone) return costs;
  for (const BlockCosts::Cost& cost : in_.costs.of(shader, block)) {
    const uint32_t metric = in_.model.metric_index.find(cost.metric);
    if (metric == kNone || metric == executions || in_.counted[metric]) continue;
    costs[metric] = cost.per_execution;
  }
  return costs;
}

void CaptureCode::add_variant(uint32_t variant) {
  shader_row_ = static_cast<uint32_t>(shader_of_row_.size());
  shader_ = variant == kNone ? kNone : in_.variants[variant].shader;
  row_of_variant_[variant] = shader_row_;
  shader_of_row_.push_back(shader_);
  first_block_.push_back(static_cast<uint32_t>(blocks_.table.rows()));
  block_count_.push_back(0);
  const auto text = [&](DataColumn& column, std::string_view value) {
    column.push(in_.strings.add(value));
  };
  const store::ShaderRow* row = shader_ == kNone ? nullptr : &in_.model.shaders[shader_];
  text(shaders_.name, row ? in_.model.shader_names[shader_] : "(unknown)");
  text(shaders_.stage, row ? stage_name(row->stage) : "");
  text(shaders_.entry_point, row ? row->entry_point : "");
  text(shaders_.hash, row ? shader_hash(in_.model, shader_) : "");
  text(shaders_.constants, row ? in_.model.shader_constants[shader_] : "");
  text(shaders_.pipeline, row ? variant_text(in_.model, in_.variants[variant]) : "");
  const Result<ShaderCode>* code = row ? &in_.codes.of(shader_) : nullptr;
  if (code && code->ok()) {
    add_code(**code);
  } else {
    shaders_.source.push(kind_of(SourceOrigin::Spirv));
    shaders_.invocation_block.push_missing();
  }
}

void CaptureCode::add_code(const ShaderCode& code) {
  const ShaderSource& source = in_.sources.of(shader_);
  const SourceOrigin origin = source.origin();
  shaders_.source.push(origin == SourceOrigin::File ? kind_of(SourceOrigin::Debug)
                                                    : kind_of(origin));
  shaders_.invocation_block.push_index(
      code.entry_block == kNone ? kNone : first_block_.back() + code.entry_block);
  block_count_.back() = static_cast<uint32_t>(code.map.blocks().size());
  first_function_ = static_cast<uint32_t>(functions_.table.rows());
  shader_calls_.emplace(code);
  const uint32_t entry = shader_calls_->frames()[shader_calls_->entry()].name;
  for (uint32_t f = 0; f < shader_calls_->names().size(); ++f) {
    // An entry point may have no name in the source.
    const std::string& name = shader_calls_->names()[f];
    const bool is_unnamed = f == entry && name.starts_with('%');
    functions_.shader.push(shader_row_);
    functions_.name.push(
        in_.strings.add(is_unnamed ? in_.model.shaders[shader_].entry_point : name));
  }
  add_calls();
  own_files_.clear();
  own_lines_.clear();
  add_files(source);
  source.has_lines() ? add_costs_of_lines(code, source) : add_costs_of_instructions(code);
  add_blocks(code, source);
  if (source.has_lines()) add_assembly(code, source);
  if (!in_.model.branch_metrics.empty()) add_branches(code, source);
  if (source.has_lines()) add_line_terms(code, source);
}

void CaptureCode::add_calls() {
  first_frame_ = static_cast<uint32_t>(frames_.table.rows());
  const auto block_row = [this](uint32_t block) {
    return block == kNone ? kNone : first_block_.back() + block;
  };
  for (const Frame& frame : shader_calls_->frames()) {
    frames_.shader.push(shader_row_);
    frames_.function.push(first_function_ + frame.name);
    frames_.parent.push_index(frame.parent == kNone ? kNone : first_frame_ + frame.parent);
    frames_.block.push_index(block_row(frame.first_block));
  }
  for (const ShaderCalls::Call& call : shader_calls_->calls()) {
    calls_.caller.push(first_frame_ + call.caller);
    calls_.callee.push(first_frame_ + call.callee);
    calls_.block.push(block_row(call.block));
  }
}

// The place of a block's instructions without a line.
CostRows::Place CaptureCode::rest_of(const spirv::Block& block) const {
  return {.line = kNone,
          .function = first_function_ + shader_calls_->functions().function_of(block),
          .instance = block.function,
          .frame = first_frame_ + block.function};
}

void CaptureCode::add_files(const ShaderSource& source) {
  if (!source.has_lines()) return;
  for (const SourceFileText& file : source.files()) {
    own_files_.push_back(
        add_file(file.name, add_text(joined_lines(file.lines)), kind_of(file.origin)));
  }
}

uint32_t CaptureCode::add_file(const std::string& name, uint32_t text, uint32_t kind) {
  const auto [found, added] = file_rows_.try_emplace(std::tuple(in_.strings.add(name), text, kind),
                                                     static_cast<uint32_t>(files_.table.rows()));
  if (!added) return found->second;
  files_.name.push(std::get<0>(found->first));
  files_.text.push(text);
  files_.kind.push(kind);
  return found->second;
}

uint32_t CaptureCode::add_text(const std::string& text) {
  if (in_.strings.contains(text)) return in_.strings.add(text);
  if (text.size() > text_left_) {
    ++texts_left_out_;
    return in_.strings.add("");
  }
  text_left_ -= text.size();
  return in_.strings.add(text);
}

uint32_t CaptureCode::assembly_text(const ShaderCode& code) {
  const store::ShaderRow& row = in_.model.shaders[shader_];
  const auto found = assembly_texts_.find({*row.module, row.constants});
  if (found != assembly_texts_.end()) return found->second;
  return assembly_texts_[{*row.module, row.constants}] =
             add_text(joined_lines(disassemble(code.module)));
}

uint32_t CaptureCode::line_row(uint32_t file, uint32_t line) {
  const auto [found, added] =
      own_lines_.try_emplace({file, line}, static_cast<uint32_t>(lines_.table.rows()));
  if (!added) return found->second;
  lines_.shader.push(shader_row_);
  lines_.file.push_index(file < own_files_.size() ? own_files_[file] : kNone);
  lines_.line.push(line);
  places_.push_back({shader_row_, file, line});
  return found->second;
}

uint32_t CaptureCode::find_line(const std::optional<spirv::SourceLocation>& location) const {
  if (!location) return kNone;
  const auto found = own_lines_.find({location->file, location->line});
  return found == own_lines_.end() ? kNone : found->second;
}

// The lines of reconstructed GLSL do not know what the compiler has inlined.
void CaptureCode::add_costs_of_lines(const ShaderCode& code, const ShaderSource& source) {
  const spirv::BlockMap& map = source.map();
  const bool knows_inlining = &map == &code.map;
  for (uint32_t b = 0; b < map.blocks().size(); ++b) {
    if (!code.is_countable(b)) continue;
    const spirv::Block& block = code.map.blocks()[b];
    const CostRows::Place rest = rest_of(block);
    costs_.begin_block(first_block_.back() + b, costs_of(shader_, b));
    const auto lines = map.lines_of(map.blocks()[b]);
    const auto place_of = [&](size_t l) {
      CostRows::Place place{.line = line_row(lines[l].location.file, lines[l].location.line),
                            .function = rest.function,
                            .instance = lines[l].instance,
                            .frame = rest.frame};
      if (!knows_inlining) return place;
      place.function = first_function_ + shader_calls_->functions().function_of(block, lines[l]);
      place.frame = first_frame_ + shader_calls_->frame_of(block, l);
      return place;
    };
    for (size_t l = 0; l < lines.size(); ++l) {
      costs_.add_line(place_of(l), [&](const Metric& metric) {
        return static_cost(metric, lines[l].mix, map.kept(lines[l]));
      });
    }
    CostRows::Place own = rest;
    if (!lines.empty()) {
      own = place_of(0);
      own.function = rest.function;
    }
    costs_.end_block(own, rest);
  }
}

void CaptureCode::add_costs_of_instructions(const ShaderCode& code) {
  own_files_ = {add_file(in_.model.shader_names[shader_] + ":asm", assembly_text(code),
                         kind_of(SourceOrigin::Spirv))};
  const spirv::CostModel model(code.module);
  std::vector<std::vector<uint32_t>> by_block(code.map.blocks().size());
  for_each_block_instruction(code, [&](size_t i, uint32_t block) {
    if (code.is_countable(block)) by_block[block].push_back(static_cast<uint32_t>(i));
  });
  for (uint32_t b = 0; b < by_block.size(); ++b) {
    const CostRows::Place rest = rest_of(code.map.blocks()[b]);
    costs_.begin_block(first_block_.back() + b, costs_of(shader_, b));
    for (const uint32_t i : by_block[b]) {
      const spirv::InstructionMix mix = model.cost_of(code.module.instruction(i));
      if (mix == spirv::InstructionMix()) continue;
      spirv::InstructionMix compiled;
      model.add_compiled(code.module.instruction(i), code.map.residue(i), compiled);
      CostRows::Place place = rest;
      place.line = line_row(0, i + 1);
      costs_.add_line(place,
                      [&](const Metric& metric) { return static_cost(metric, mix, compiled); });
    }
    costs_.end_block(rest, rest);
  }
}

void CaptureCode::add_blocks(const ShaderCode& code, const ShaderSource& source) {
  for (uint32_t b = 0; b < code.map.blocks().size(); ++b) {
    blocks_.shader.push(shader_row_);
    blocks_.number.push(b);
    blocks_.function.push(first_function_ +
                          shader_calls_->functions().function_of(code.map.blocks()[b]));
    blocks_.line.push_index(source.has_lines() ? find_line(source.map().blocks()[b].location)
                                               : kNone);
    blocks_.discards.push(discards(code.module, code.map.blocks()[b]));
  }
}

// Only debug information says which line an instruction belongs to.
void CaptureCode::add_assembly(const ShaderCode& code, const ShaderSource& source) {
  assembly_.shader.push(shader_row_);
  assembly_.text.push(assembly_text(code));
  std::vector<uint32_t> line_of(code.module.instruction_count(), kNone);
  if (&source.map() == &code.map) {
    spirv::SourceInfo info(code.module);
    spirv::LineCursor cursor(info);
    for (uint32_t i = 0; i < line_of.size(); ++i) {
      cursor.advance(code.module.instruction(i));
      if (!cursor.place().location) continue;
      spirv::SourceLocation location = *cursor.place().location;
      const auto file = std::ranges::find(source.files(), info.files()[location.file].name,
                                          &SourceFileText::name);
      location.file = static_cast<uint32_t>(file - source.files().begin());
      line_of[i] = find_line(location);
    }
  }
  for_each_block_instruction(code, [&](size_t i, uint32_t block) {
    assembly_lines_.shader.push(shader_row_);
    assembly_lines_.row.push(i);
    assembly_lines_.block.push(first_block_.back() + block);
    assembly_lines_.line.push_index(line_of[i]);
  });
}

void CaptureCode::add_branches(const ShaderCode& code, const ShaderSource& source) {
  static const size_t counted_targets = catalogue::counters_of(catalogue::Scope::Branch).size();
  const std::vector<spirv::Branch> branches = spirv::branches_of(code.module, code.map);
  const std::vector<uint32_t> numbers =
      branch_numbers(branches, source.has_lines() ? source.map() : code.map);
  for (size_t b = 0; b < branches.size(); ++b) {
    const spirv::Branch& branch = branches[b];
    const uint32_t block = first_block_.back() + branch.block;
    const uint32_t line =
        source.has_lines() ? find_line(source.map().blocks()[branch.block].end_location) : kNone;
    for (uint32_t slot = 0; slot < branch.targets.size(); ++slot) {
      const spirv::BranchTarget& target = branch.targets[slot];
      const auto row = static_cast<uint32_t>(branches_.table.rows());
      if (slot >= counted_targets && target.sole_entry)
        sole_entries_.push_back({row, first_block_.back() + target.block});
      if (slot < counted_targets) branch_rows_[{block, slot}] = row;
      branches_.block.push(block);
      branches_.line.push_index(line);
      branches_.target.push(in_.strings.add(target.label));
      branches_.number.push_index(numbers[b]);
      branches_.slot.push(slot);
    }
  }
}

void CaptureCode::add_term(uint32_t line, uint32_t block, LineTerm term) {
  line_terms_.line.push(line);
  line_terms_.block.push(first_block_.back() + block);
  line_terms_.term.push(static_cast<uint64_t>(term));
}

// Where branches are counted, their table tells about conditions.
void CaptureCode::add_line_terms(const ShaderCode& code, const ShaderSource& source) {
  const ShaderLoops loops(code);
  for (size_t l = 0; l < loops.size(); ++l) {
    const uint32_t line = find_line(source.map().blocks()[loops.header(l)].location);
    const auto blocks = loops.blocks(l);
    if (line == kNone || !blocks) continue;
    add_term(line, blocks->body, LineTerm::Iteration);
    for (const uint32_t block : blocks->entries) add_term(line, block, LineTerm::Entry);
    for (const uint32_t block : blocks->returns) add_term(line, block, LineTerm::NoEntry);
  }
  if (!in_.model.branch_metrics.empty()) return;
  for (const spirv::Branch& branch : spirv::branches_of(code.module, code.map)) {
    const uint32_t line = find_line(source.map().blocks()[branch.block].end_location);
    const auto blocks = condition_blocks(code, branch);
    if (line == kNone || !blocks) continue;
    add_term(line, blocks->is_true.block, LineTerm::True);
    add_term(line, blocks->is_false.block, LineTerm::False);
    if (blocks->is_true.less != kNone) add_term(line, blocks->is_true.less, LineTerm::NotTrue);
    if (blocks->is_false.less != kNone) add_term(line, blocks->is_false.less, LineTerm::NotFalse);
  }
}

void CaptureCode::finish(const std::vector<std::string>& not_counted, DataCapture& capture) && {
  DataColumn& reason = shaders_.table.add("not_counted", DataColumn::Kind::Index);
  for (size_t row = 0; row < shader_count(); ++row)
    reason.push(in_.strings.add(row < not_counted.size() ? not_counted[row] : ""));
  for (DataTable* table : {&shaders_.table, &blocks_.table, &functions_.table, &frames_.table,
                           &calls_.table, &lines_.table, &files_.table, &assembly_.table,
                           &assembly_lines_.table, &branches_.table, &line_terms_.table})
    capture.tables.push_back(std::move(*table));
  capture.tables.push_back(std::move(costs_).finish());
  if (std::string note = in_.sources.note_of_spirv(); !note.empty())
    capture.left_out.push_back(std::move(note));
  if (texts_left_out_ == 0) return;
  capture.left_out.push_back(
      fmt::format("The texts of {} source files or disassemblies are left out: all texts together "
                  "exceed {} MiB.",
                  texts_left_out_, kMaxTextBytes >> 20));
}

}  // namespace tally::analysis
