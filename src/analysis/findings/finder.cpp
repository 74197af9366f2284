#include "analysis/findings/finder.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <nlohmann/json.hpp>
#include <utility>

#include "analysis/cost/block_totals.h"
#include "analysis/model/counts.h"
#include "analysis/model/names.h"

namespace tally::analysis {
namespace {

constexpr std::array<FindingRule, 19> kRules = {{
    {"vertex-bound", "vertices take most of the work of draws",
     "coarser levels of detail, object culling, an index order for the vertex cache, work moved to "
     "the application or to vertex formats"},
    {"fragment-bound", "fragments take most of the work of draws",
     "a lower resolution or variable rate shading, cheaper shaders for distant objects, work moved "
     "to vertices or to a texture"},
    {"overdraw", "a pass shades its pixels several times",
     "draw opaque objects front to back, add a depth prepass, shrink transparent quads"},
    {"bytes-requested", "fragments of a pass request many times the bytes of its attachments",
     "smaller formats, fewer or separable taps, mip levels, a smaller earlier pass for values that "
     "neighbours share"},
    {"discard", "fragments are discarded after they have run a part of their shader",
     "test earlier in the shader, fit the geometry tighter, draw objects that discard last"},
    {"loop-limit", "a loop nearly always runs until its limit, although it can end earlier",
     "a lower limit, larger steps, an earlier exit test, a bound from the scene"},
    {"one-way-branch", "a branch always goes the same way",
     "a specialization constant or a permutation of the shader without the branch"},
    {"never-ran", "functions of shaders that ran were never called",
     "remove them from the shader: they cost registers and compile time"},
    {"uniform-work", "all invocations compute the same values",
     "compute it once: in the application, or in the vertex shader as a flat output"},
    {"low-simd-efficiency", "lanes of subgroups wait for other lanes",
     "sort work so that neighbours take the same path, smaller divergent parts, compaction"},
    {"tiny-commands", "most draws or dispatches are tiny",
     "instancing, larger batches, multi-draw, fewer and larger dispatches"},
    {"small-workgroup", "workgroups are smaller than a subgroup of common hardware",
     "workgroups of 32, 64 or more invocations: the rest of a subgroup is idle otherwise"},
    {"empty-pass", "render passes clear or load attachments and draw nothing",
     "leave the pass out, or clear with the pass that draws"},
    {"overwritten-pass", "a pass clears what the pass before it stored",
     "leave out the earlier pass, load its result, or store it only if something reads it"},
    {"copy-pass", "a pass copies an image and does nothing else",
     "draw to the destination in the earlier pass, read the source instead of the copy, or resolve "
     "or blit it"},
    {"same-code", "shaders differ only in names and debug information",
     "one module, and one pipeline where the state allows it"},
    {"uncoalesced", "accesses touch at least twice the sectors of memory that their bytes fill",
     "neighbours in a subgroup that access neighbours in memory: a structure of arrays, a "
     "transposition through workgroup memory"},
    {"bank-conflicts", "accesses to workgroup memory conflict in its banks",
     "rows padded by one word, another order of the elements"},
    {"read-after-write", "invocations load what they have just stored",
     "keep the value in a variable: the compiler may not know that nothing else changes the "
     "memory"},
}};

const FindingRule* rule_of(Rule rule) { return &kRules[static_cast<size_t>(rule)]; }

constexpr size_t kMaxPlaces = 5;
constexpr double kMinShare = 0.005;  // of the work, of a finding and of a shader
constexpr uint64_t kTexelBytes = 4;  // that an access to an image is taken for

// The size of a texel of a format that attachments may have, by VkFormat's number; 0: not known.
uint64_t bytes_of_format(int64_t format) {
  struct Range {
    int64_t last;
    uint64_t bytes;
  };
  constexpr Range kRanges[] = {
      {0, 0},    {1, 1},   {8, 2},   {15, 1},  {22, 2},   {36, 3},   {69, 4},  {76, 2},   {83, 4},
      {90, 6},   {97, 8},  {100, 4}, {103, 8}, {106, 12}, {109, 16}, {112, 8}, {115, 16}, {118, 24},
      {121, 32}, {123, 4}, {124, 2}, {126, 4}, {127, 1},  {128, 3},  {129, 4}, {130, 5}};
  const auto* range =
      std::ranges::find_if(kRanges, [format](const Range& own) { return format <= own.last; });
  return range == std::end(kRanges) || format < 0 ? 0 : range->bytes;
}

}  // namespace

std::vector<Attachment> attachments_of(const Pass& pass) {
  std::vector<Attachment> attachments;
  const auto json = nlohmann::json::parse(pass.row.attachments, nullptr, false);
  if (!json.is_array()) return attachments;
  for (const nlohmann::json& of : json) {
    if (!of.is_object()) continue;
    const auto format = of.find("format");
    Attachment& attachment = attachments.emplace_back();
    if (format != of.end() && format->is_number_integer())
      attachment.bytes = bytes_of_format(*format);
    attachment.stored = of.value("store", nlohmann::json()) == "store";
    attachment.loaded = of.value("load", nlohmann::json()) == "load";
  }
  return attachments;
}

Result<Findings> Finder::run(const Progress& progress) {
  collect_shaders();
  TALLY_TRY(collect_commands(progress));
  memory_ = TALLY_TRY(find_memory_lines(model_, codes_, variants_, progress));
  list_accesses();
  find_bound();
  find_overdraw();
  find_bytes_requested();
  find_tiny_commands();
  find_empty_passes();
  find_redundant_passes();
  find_same_code();
  for (const Ran& ran : ran_) {
    if (share_of(ran.work) < kMinShare) break;  // the shaders after it did less
    find_discards(ran);
    find_loop_limits(ran);
    find_one_way_branches(ran);
    find_unused_functions(ran);
    find_uniform_work(ran);
    find_low_efficiency(ran);
    find_small_workgroups(ran);
    find_uncoalesced(ran);
    find_bank_conflicts(ran);
    find_reads_after_writes(ran);
  }
  std::erase_if(found_.list, [](const CostFinding& finding) {
    return finding.share > 0 && finding.share < kMinShare;
  });
  std::ranges::stable_sort(found_.list, std::greater(), &CostFinding::share);
  found_.no_share_because = uncounted_text(variants_.selected_runs());
  if (!is_complete_) {
    for (CostFinding& finding : found_.list) finding.share = 0;
  }
  return std::move(found_);
}

uint64_t Finder::work_of(uint32_t variant, size_t block) const {
  return totals_.value(variant, block, metric_);
}

void Finder::collect_shaders() {
  for (uint32_t variant = 0; variant < variants_.size(); ++variant) {
    if (totals_.block_count(variant) == 0 || !variants_.is_selected(model_, variant)) continue;
    const uint32_t shader = variants_[variant].shader;
    Ran ran{variant, shader, model_.shaders[shader].stage, nullptr, 0, 0};
    for (size_t block = 0; block < totals_.block_count(variant); ++block)
      ran.work = saturating_sum(ran.work, work_of(variant, block));
    work_ = saturating_sum(work_, ran.work);
    work_of_stage_[ran.stage] = saturating_sum(work_of_stage_[ran.stage], ran.work);
    const Result<ShaderCode>& code = codes_.of(shader);
    if (!code || code->entry_block == kNone) {
      ++found_.unread_shaders;
      continue;
    }
    ran.code = &*code;
    ran.invocations = totals_.executions(variant, code->entry_block);
    invocations_of_stage_[ran.stage] =
        saturating_sum(invocations_of_stage_[ran.stage], ran.invocations);
    if (ran.invocations != 0) ran_.push_back(ran);
  }
  std::ranges::stable_sort(ran_, std::greater(), &Ran::work);
}

Status Finder::collect_commands(const Progress& progress) {
  most_invocations_.resize(model_.commands.size());
  fragments_.resize(model_.commands.size());
  std::vector<uint32_t> entries(model_.shaders.size(), kNone);
  for (const Ran& ran : ran_) entries[ran.shader] = ran.code->entry_block;
  const Status visited = visit_block_executions(model_, progress, [&](const BlockExecutions& of) {
    const bool is_fragment = model_.shaders[of.shader].stage == kFragmentStage;
    if (of.block == entries[of.shader]) {
      uint64_t& most = most_invocations_[of.command];
      most = std::max(most, of.executions);
      if (is_fragment) fragments_[of.command].invocations = of.executions;
    }
    if (!is_fragment) return;
    const uint32_t variant = variants_.of(model_.commands[of.command].pipeline, of.shader);
    const uint64_t all = totals_.executions(variant, of.block);
    // The command's part of the block is proportional to its executions.
    const auto part = [&](uint64_t value) {
      return static_cast<uint64_t>(static_cast<double>(value) * ratio(of.executions, all));
    };
    if (all == 0) return;
    fragments_[of.command].work += part(work_of(variant, of.block));
    fragments_[of.command].bytes += part(bytes_of(variant, of.block));
  });
  TALLY_TRY(visited);
  std::vector<PassGroup*> groups;  // by pass
  for (const Pass& pass : model_.passes) groups.push_back(&passes_[pass_text(&pass)]);
  std::vector<bool> draws(model_.passes.size());
  for (uint32_t c = 0; c < model_.commands.size(); ++c) {
    const uint32_t pass = model_.commands[c].pass;
    if (pass == kNone) continue;
    draws[pass] = true;
    PassGroup& group = *groups[pass];
    group.fragments = saturating_sum(group.fragments, fragments_[c].invocations);
    group.fragment_work = saturating_sum(group.fragment_work, fragments_[c].work);
    group.fragment_bytes = saturating_sum(group.fragment_bytes, fragments_[c].bytes);
  }
  for (uint32_t p = 0; p < model_.passes.size(); ++p) {
    const Pass& pass = model_.passes[p];
    PassGroup& group = *groups[p];
    group.passes += 1;
    group.empty += !draws[p];
    if (draws[p]) add_pixels(pass, group);
    group.multisampled = group.multisampled || is_multisampled(pass.row.attachments);
  }
  return {};
}

void Finder::add_pixels(const Pass& pass, PassGroup& group) {
  const uint64_t pixels = pixels_of(pass);
  uint64_t bytes = 0;
  for (const Attachment& attachment : attachments_of(pass)) {
    bytes += attachment.bytes;
    group.has_unknown_attachments = group.has_unknown_attachments || attachment.bytes == 0;
  }
  group.pixels = saturating_sum(group.pixels, pixels);
  group.attachment_bytes =
      saturating_sum(group.attachment_bytes, saturating_product(pixels, bytes));
}

uint64_t Finder::value_of(std::string_view metric, uint32_t variant, size_t block) const {
  const auto found = find_metric(metrics_, metric);
  return found ? totals_.value(variant, block, *found) : 0;
}

uint64_t Finder::bytes_of(uint32_t variant, size_t block) const {
  uint64_t bytes = 0;
  for (const char* metric : {"buffer_bytes_loaded", "buffer_bytes_stored"})
    bytes = saturating_sum(bytes, value_of(metric, variant, block));
  for (const char* metric :
       {"texture_samples", "texture_gathers", "texture_fetches", "image_loads", "image_stores"}) {
    bytes =
        saturating_sum(bytes, saturating_product(value_of(metric, variant, block), kTexelBytes));
  }
  return bytes;
}

bool Finder::is_multisampled(const std::string& attachments) {
  const auto json = nlohmann::json::parse(attachments, nullptr, false);
  if (!json.is_array()) return false;
  return std::ranges::any_of(json, [](const nlohmann::json& attachment) {
    const auto samples = attachment.find("samples");
    return samples != attachment.end() && samples->is_number() && *samples != 1;
  });
}

std::string Finder::metric_name() const {
  std::string name = metrics_[metric_].title;
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
  return name;
}

std::string Finder::name_of(const Ran& ran) const {
  return model_.shader_names[ran.shader] + variant_text(model_, variants_[ran.variant]);
}

std::string Finder::subject(const Ran& ran) const {
  const Runs& runs = variants_.runs(ran.variant);
  if (runs.uncounted == 0) return name_of(ran);
  return fmt::format("{} (counted in {} of {})", name_of(ran),
                     with_separators(runs.commands - runs.uncounted),
                     counted(runs.commands, "command"));
}

void Finder::add(Rule rule, double share, std::string text, std::vector<FindingPlace> places) {
  const size_t left_out = places.size() - std::min(places.size(), kMaxPlaces);
  places.resize(places.size() - left_out);
  found_.list.push_back({rule_of(rule), std::move(text), share, std::move(places), left_out});
}

FindingPlace Finder::place(const Ran& ran, std::optional<spirv::SourceLocation> location,
                           std::string numbers) {
  if (location) {
    const ShaderSource& source = sources_.of(ran.shader);
    // The code's own lines: those of a reconstruction are numbered differently.
    if (source.origin() == SourceOrigin::Debug || source.origin() == SourceOrigin::File) {
      return {fmt::format("{}:{}", source.file_title(location->file), location->line),
              std::move(numbers), source.text(*location)};
    }
    return {
        fmt::format("{}:{}", analysis::file_title(ran.code->map, location->file), location->line),
        std::move(numbers),
        {}};
  }
  return {name_of(ran), std::move(numbers), {}};
}

FindingPlace Finder::place_of_block(const Ran& ran, uint32_t block, std::string numbers) {
  const auto& location = ran.code->map.blocks()[block].location;
  FindingPlace found = place(ran, location, std::move(numbers));
  if (!location) found.where += fmt::format(" block {}", block);
  return found;
}
Result<Findings> find_findings(const Model& model, ShaderCodes& codes, ShaderSources& sources,
                               const Variants& variants, const Progress& progress) {
  const auto totals = TALLY_TRY(BlockTotals::count(model, codes, variants, progress));
  const auto branches = TALLY_TRY(BranchTotals::count(model, codes, variants, totals, progress));
  return Finder(model, codes, sources, variants, totals, branches).run(progress);
}

}  // namespace tally::analysis
