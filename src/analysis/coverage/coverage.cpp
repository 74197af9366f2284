#include "analysis/coverage/coverage.h"

#include <algorithm>
#include <span>

#include "analysis/cost/block_totals.h"
#include "analysis/model/counts.h"
#include "analysis/model/names.h"
#include "analysis/source/shader_source.h"
#include "base/hash.h"
#include "spirv/analysis/source_info.h"

namespace tally::analysis {

namespace {

void add_to(uint64_t& sum, uint64_t value) { sum = saturating_sum(sum, value); }

// Indexed by shader: whether a pipeline with it was bound, whether commands of the capture used it,
// and whether counted ones did.
struct Use {
  bool bound = false, used = false, counted = false;
  std::string reason;  // why it was not counted
};

std::vector<Use> uses_of_shaders(const Model& model) {
  std::vector<Use> uses(model.shaders.size());
  for (const store::PipelineRow& pipeline : model.pipelines) {
    for (const store::RowId id : pipeline.shaders) {
      const uint32_t shader = model.shader_index.find(id);
      if (shader != kNone) uses[shader].bound |= pipeline.bound;
    }
  }
  for (const Batch& batch : model.batches) {
    if (batch.pipeline == kNone || batch.commands.empty()) continue;
    const store::PipelineRow& pipeline = model.pipelines[batch.pipeline];
    for (const store::RowId id : pipeline.shaders) {
      const uint32_t shader = model.shader_index.find(id);
      if (shader == kNone) continue;
      Use& use = uses[shader];
      use.used = true;
      const std::string& own = model.shaders[shader].not_instrumented;
      const std::string& reason = own.empty() ? pipeline.not_instrumented : own;
      use.counted |= batch.counted && reason.empty();
      if (use.reason.empty()) use.reason = reason;
    }
  }
  return uses;
}

// The state of a shader that was not executed.
ShaderState state_of(const Use& use) {
  if (use.used) return ShaderState::NoInvocations;
  return use.bound ? ShaderState::NeverDrawn : ShaderState::NeverBound;
}

std::string text_hash(const std::string& text) {
  return to_string(hash_bytes(std::as_bytes(std::span(text))));
}

// Other tools refuse lines that a file does not have. Returns the number of lines.
uint64_t remove_lines_beyond_end(FileCoverage& file) {
  const uint32_t end = file.text.empty() ? spirv::kMaxNumberedLine
                                         : static_cast<uint32_t>(lines_of_text(file.text).size());
  const uint64_t lines = file.lines.size();
  file.lines.erase(file.lines.upper_bound(end), file.lines.end());
  std::erase_if(file.functions, [&](const auto& function) { return function.second.line > end; });
  std::erase_if(file.branches, [&](const auto& branch) { return std::get<0>(branch.first) > end; });
  return lines - file.lines.size();
}

}  // namespace

CoverageSum& CoverageSum::operator+=(const CoverageSum& other) {
  lines += other.lines, lines_hit += other.lines_hit;
  functions += other.functions, functions_hit += other.functions_hit;
  branches += other.branches, branches_hit += other.branches_hit;
  return *this;
}

CoverageSum sum_of(const FileCoverage& file) {
  CoverageSum sum;
  for (const auto& [line, count] : file.lines) ++sum.lines, sum.lines_hit += count != 0;
  for (const auto& [name, function] : file.functions)
    ++sum.functions, sum.functions_hit += function.count != 0;
  for (const auto& [key, branch] : file.branches) {
    for (const uint64_t taken : branch.taken) ++sum.branches, sum.branches_hit += taken != 0;
  }
  return sum;
}

// Adds the shaders of one capture.
class CoverageBuilder::Capture {
 public:
  Capture(CoverageBuilder& builder, const Model& model)
      : builder_(builder), model_(model), codes_(model), variants_(model, codes_) {}

  Status run(const Progress& progress) {
    stored_texts_ = TALLY_TRY(stored_texts(model_));
    const auto blocks = TALLY_TRY(BlockTotals::count(model_, codes_, variants_, progress));
    const auto branches =
        TALLY_TRY(BranchTotals::count(model_, codes_, variants_, blocks, progress));
    const std::vector<Use> uses = uses_of_shaders(model_);
    for (uint32_t shader = 0; shader < model_.shaders.size(); ++shader)
      add_shader(shader, uses[shader], {blocks, branches});
    return {};
  }

 private:
  struct Totals {
    const BlockTotals& blocks;
    const BranchTotals& branches;
  };

  // The specializations that have counts.
  std::vector<uint32_t> counted_variants(uint32_t shader, const BlockTotals& totals) const {
    std::vector<uint32_t> counted;
    for (uint32_t v = 0; v < variants_.size(); ++v) {
      if (variants_[v].shader == shader && totals.block_count(v) != 0) counted.push_back(v);
    }
    return counted;
  }

  void add_shader(uint32_t shader, const Use& use, const Totals& totals) {
    std::vector<uint32_t> counted = counted_variants(shader, totals.blocks);
    const auto& code = codes_.of(shader);
    if (counted.empty() && use.used && !use.counted) {
      return add_uncovered(shader, ShaderState::NotCounted,
                           use.reason.empty() ? "the capture has no counts of it" : use.reason);
    }
    if (!code.ok()) return add_uncovered(shader, ShaderState::NoLines, code.error().message);
    const bool has_lines = std::ranges::any_of(
        code->map.blocks(), [](const spirv::Block& block) { return block.line_count != 0; });
    if (!has_lines) return add_uncovered(shader, ShaderState::NoLines, {});
    if (counted.empty()) {
      add_uncovered(shader, state_of(use), {});
      counted.push_back(shader);  // the variant without executions: its lines count 0
    }
    const std::vector<FileCoverage*> files = files_of(shader, *code);
    for (const uint32_t variant : counted) {
      add_lines(*code, variant, totals.blocks, files);
      add_functions(*code, variant, totals.blocks, files);
      add_branches(*code, variant, totals, files);
    }
  }

  void add_uncovered(uint32_t shader, ShaderState state, std::string reason) {
    builder_.coverage_.uncovered.push_back({model_.reader.path(), model_.shader_names[shader],
                                            stage_name(model_.shaders[shader].stage), state,
                                            std::move(reason)});
  }

  std::vector<FileCoverage*> files_of(uint32_t shader, const ShaderCode& code) {
    std::vector<FileCoverage*> files;
    for (uint32_t f = 0; f < code.map.files().size(); ++f) {
      const spirv::SourceFile& file = code.map.files()[f];
      const std::string name = file.name.empty() ? model_.shader_names[shader] : file.name;
      const auto stored = stored_texts_.find(name);
      const bool is_stored = file.text.empty() && stored != stored_texts_.end();
      const std::string text = is_stored ? numbered_text(code.map, f, stored->second) : file.text;
      FileCoverage& added = builder_.files_[{name, text}];
      added.name = added.recorded_name = name;
      added.text = text;
      files.push_back(&added);
    }
    return files;
  }

  static void add_lines(const ShaderCode& code, uint32_t variant, const BlockTotals& totals,
                        const std::vector<FileCoverage*>& files) {
    for (const auto& [place, block] : most_executed_blocks(code, code.map, variant, totals)) {
      const auto& [file, line, instance] = place;
      add_to(files[file]->lines[line], totals.executions(variant, block));
    }
  }

  static void add_functions(const ShaderCode& code, uint32_t variant, const BlockTotals& totals,
                            const std::vector<FileCoverage*>& files) {
    const FunctionTable functions(code);
    const std::vector<uint64_t> executions = functions.executions(variant, totals);
    for (uint32_t f = 0; f < functions.names().size(); ++f) {
      const auto& first = functions.place(f);
      if (!first) continue;
      const auto [place, is_new] = files[first->file]->functions.try_emplace(
          functions.names()[f], FunctionCoverage{first->line, 0});
      place->second.line = std::min(place->second.line, first->line);
      add_to(place->second.count, executions[f]);
    }
  }

  // Exact counts if the capture has them, else what the counts of blocks tell.
  static void add_branches(const ShaderCode& code, uint32_t variant, const Totals& totals,
                           const std::vector<FileCoverage*>& files) {
    const std::vector<BranchCount>& counted = totals.branches.of(variant);
    const auto branches = branches_by_line(
        counted.empty() ? branch_counts(code, variant, totals.blocks) : counted, code.map);
    for (const auto& [location, number, counts] : branches) {
      if (std::count(counts.taken.begin(), counts.taken.end(), std::nullopt) != 0) continue;
      const auto targets = static_cast<uint32_t>(counts.taken.size());
      BranchCoverage& sum = files[location.file]->branches[{location.line, number, targets}];
      sum.executed |= counts.total() != 0;
      sum.taken.resize(targets);
      for (uint32_t t = 0; t < targets; ++t) add_to(sum.taken[t], *counts.taken[t]);
    }
  }

  CoverageBuilder& builder_;
  const Model& model_;
  ShaderCodes codes_;
  Variants variants_;
  std::map<std::string, std::string> stored_texts_;
};

Status CoverageBuilder::add(const Model& model, const Progress& progress) {
  coverage_.captures.push_back(model.reader.path());
  coverage_.last_start_unix_ns =
      std::max(coverage_.last_start_unix_ns, model.capture.start_unix_ns);
  return Capture(*this, model).run(progress);
}

Coverage CoverageBuilder::finish() && {
  for (auto& [key, file] : files_) coverage_.lines_left_out += remove_lines_beyond_end(file);
  std::map<std::string, size_t> texts;  // by name
  std::erase_if(files_, [](const auto& file) { return file.second.lines.empty(); });
  for (const auto& [key, file] : files_) ++texts[key.first];
  for (auto& [key, file] : files_) {
    if (texts[key.first] > 1) file.name += "@" + short_hash(text_hash(key.second));
    coverage_.files.push_back(std::move(file));
  }
  std::ranges::sort(coverage_.files, {}, &FileCoverage::name);
  return std::move(coverage_);
}

}  // namespace tally::analysis
