#include "analysis/findings/findings.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <tuple>

#include "analysis/cost/block_totals.h"
#include "analysis/findings/facts.h"
#include "analysis/model/counts.h"
#include "analysis/model/metrics.h"
#include "analysis/model/names.h"
#include "base/hash.h"
#include "catalogue/catalogue.h"
#include "spirv/analysis/block_map.h"
#include "spirv/analysis/interface.h"
#include "spirv/analysis/loop_bounds.h"
#include "spirv/analysis/sites.h"
#include "spirv/analysis/source_info.h"

namespace tally::analysis {
namespace {

enum class Rule {
  VertexBound,
  FragmentBound,
  Overdraw,
  BytesRequested,
  Discard,
  LoopLimit,
  OneWayBranch,
  NeverRan,
  UniformWork,
  LowSimdEfficiency,
  TinyCommands,
  SmallWorkgroup,
  EmptyPass,
  OverwrittenPass,
  CopyPass,
  SameCode,
  Uncoalesced,
  BankConflicts,
  ReadAfterWrite,
};

constexpr std::array<FindingRule, 19> kRules = {{
    {"vertex-bound", "vertices take most of the work of draws",
     "coarser levels of detail, culling of whole objects, index order for the vertex cache, work "
     "moved to the application or to vertex formats"},
    {"fragment-bound", "fragments take most of the work of draws",
     "a lower resolution or variable rate shading, cheaper shaders for what is far away, work "
     "moved to vertices or to a texture"},
    {"overdraw", "a pass shades its pixels several times",
     "opaque objects from front to back, a depth-only pass before, smaller transparent quads"},
    {"bytes-requested", "fragments of a pass request many times the bytes of its attachments",
     "smaller formats, fewer or separable taps, mip levels, values that neighbours share through a "
     "smaller pass before"},
    {"discard", "fragments are discarded after they have run a part of their shader",
     "test earlier in the shader, cut the geometry tighter, sort what discards behind the rest"},
    {"loop-limit", "a loop nearly always runs until its limit, although it can end earlier",
     "a lower limit, larger steps, a test that ends the loop earlier, a bound by the scene"},
    {"one-way-branch", "a branch always goes the same way",
     "a specialization constant or a permutation of the shader without the branch"},
    {"never-ran", "functions of shaders that ran never ran themselves",
     "leave them out of the shader: it takes registers and compile time for them"},
    {"uniform-work", "invocations compute what is the same in all of them",
     "compute it once: in the application, or in the vertex shader as a flat output"},
    {"low-simd-efficiency", "lanes of subgroups wait for other lanes",
     "sort work so that neighbours take the same way, smaller divergent parts, compaction"},
    {"tiny-commands", "most draws or dispatches have little work each",
     "instances, larger batches, multi-draw, fewer and larger dispatches"},
    {"small-workgroup", "workgroups are smaller than a subgroup of common hardware",
     "workgroups of 32, 64 or more invocations: the rest of a subgroup is idle otherwise"},
    {"empty-pass", "render passes clear or load attachments and draw nothing",
     "leave the pass out, or clear with the pass that draws"},
    {"overwritten-pass", "a pass clears what the pass before it stored",
     "leave out the pass before, load its result, or store it only if something reads it"},
    {"copy-pass", "a pass copies an image and does nothing else",
     "draw to the destination in the pass before, read the source where the copy is read, or "
     "resolve or blit it"},
    {"same-code", "shaders differ in names and debug information alone",
     "one module, and one pipeline where the state allows it"},
    {"uncoalesced", "accesses touch at least twice the sectors of memory that their bytes fill",
     "neighbours in a subgroup that access neighbours in memory: arrays of each member in place of "
     "an array of structs, a transposition through workgroup memory"},
    {"bank-conflicts", "accesses to workgroup memory wait for each other in its banks",
     "a row that is one word longer, another order of the elements"},
    {"read-after-write", "invocations load what they have just stored",
     "keep the value in a variable: the compiler may not know that nothing changes the memory"},
}};

const FindingRule* rule_of(Rule rule) { return &kRules[static_cast<size_t>(rule)]; }

constexpr size_t kMaxPlaces = 5;
constexpr size_t kMaxMemoryRows = 100;
constexpr double kLeastShare = 0.005;  // of the work, of a finding and of a shader
constexpr uint64_t kTinyInvocations = 256;
constexpr uint64_t kManyCommands = 100;
constexpr uint64_t kManySectors = 100;
constexpr uint64_t kSubgroup = 32;   // of most hardware
constexpr uint64_t kTexelBytes = 4;  // that an access to an image is taken for
constexpr double kManyBytes = 16;    // times those of the attachments

std::string percent(double share) { return fmt::format("{:.1f} %", share * 100); }

double ratio(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

bool is_vertex_work(uint32_t stage) {
  constexpr uint32_t kFragment = 0x10, kTask = 0x40, kMesh = 0x80;
  return stage < kFragment || stage == kTask || stage == kMesh;  // vertex to geometry, or mesh
}
constexpr uint32_t kFragmentStage = 0x10, kComputeStage = 0x20;

// A shader variant that ran, with its code.
struct Ran {
  uint32_t variant, shader, stage;
  const ShaderCode* code;
  uint64_t invocations, work;
};

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

struct Attachment {
  uint64_t bytes = 0;  // of a texel; 0: not known
  bool stored = false, loaded = false;
};

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

// The fragments of a command.
struct Fragments {
  uint64_t invocations = 0, work = 0, bytes = 0;
};

// Render passes of one name.
struct PassGroup {
  uint64_t passes = 0, empty = 0, pixels = 0, fragments = 0, fragment_work = 0;
  uint64_t fragment_bytes = 0, attachment_bytes = 0;
  uint64_t overwritten = 0, copies = 0;
  bool has_unknown_attachments = false;
  bool multisampled = false;
};

class Finder {
 public:
  Finder(const Model& model, ShaderCodes& codes, ShaderSources& sources, const Variants& variants,
         const BlockTotals& totals, const BranchTotals& branches)
      : model_(model),
        codes_(codes),
        sources_(sources),
        variants_(variants),
        totals_(totals),
        branches_(branches),
        metrics_(describe_metrics(model)),
        metric_(default_metric(metrics_)),
        is_complete_(variants.selected_runs().uncounted == 0) {}

  Result<Findings> run(const Progress& progress) {
    collect_shaders();
    if (const Status status = collect_commands(progress); !status) return status.error();
    auto memory = find_memory_lines(model_, codes_, variants_, progress);
    if (!memory) return memory.error();
    memory_ = std::move(*memory);
    list_accesses();
    find_bound();
    find_overdraw();
    find_bytes_requested();
    find_tiny_commands();
    find_empty_passes();
    find_redundant_passes();
    find_same_code();
    for (const Ran& ran : ran_) {
      if (share_of(ran.work) < kLeastShare) break;  // the shaders after it did less
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
      return finding.share > 0 && finding.share < kLeastShare;
    });
    std::ranges::stable_sort(found_.list, std::greater(), &CostFinding::share);
    found_.no_share_because = uncounted_text(variants_.selected_runs());
    if (!is_complete_) {
      for (CostFinding& finding : found_.list) finding.share = 0;
    }
    return std::move(found_);
  }

 private:
  // ---- The counts

  uint64_t work_of(uint32_t variant, size_t block) const {
    return totals_.value(variant, block, metric_);
  }

  void collect_shaders() {
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

  // Invocations of each command: of its fragment shader, and the most of any stage.
  Status collect_commands(const Progress& progress) {
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
    if (!visited) return visited.error();
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

  static void add_pixels(const Pass& pass, PassGroup& group) {
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

  uint64_t value_of(std::string_view metric, uint32_t variant, size_t block) const {
    const auto found = find_metric(metrics_, metric);
    return found ? totals_.value(variant, block, *found) : 0;
  }

  // That a block requested of buffers and images.
  uint64_t bytes_of(uint32_t variant, size_t block) const {
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

  static bool is_multisampled(const std::string& attachments) {
    const auto json = nlohmann::json::parse(attachments, nullptr, false);
    if (!json.is_array()) return false;
    return std::ranges::any_of(json, [](const nlohmann::json& attachment) {
      const auto samples = attachment.find("samples");
      return samples != attachment.end() && samples->is_number() && *samples != 1;
    });
  }

  double share_of(uint64_t work) const { return ratio(work, work_); }
  std::string metric_name() const {
    std::string name = metrics_[metric_].title;
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
    return name;
  }
  std::string name_of(const Ran& ran) const {
    return model_.shader_names[ran.shader] + variant_text(model_, variants_[ran.variant]);
  }

  // In sentences, which say what was not counted.
  std::string subject(const Ran& ran) const {
    const Runs& runs = variants_.runs(ran.variant);
    if (runs.uncounted == 0) return name_of(ran);
    return fmt::format("{} (counted in {} of {})", name_of(ran),
                       with_separators(runs.commands - runs.uncounted),
                       counted(runs.commands, "command"));
  }

  void add(Rule rule, double share, std::string text, std::vector<FindingPlace> places = {}) {
    const size_t left_out = places.size() - std::min(places.size(), kMaxPlaces);
    places.resize(places.size() - left_out);
    found_.list.push_back({rule_of(rule), std::move(text), share, std::move(places), left_out});
  }

  FindingPlace place(const Ran& ran, std::optional<spirv::SourceLocation> location,
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
  FindingPlace place_of_block(const Ran& ran, uint32_t block, std::string numbers) {
    const auto& location = ran.code->map.blocks()[block].location;
    FindingPlace found = place(ran, location, std::move(numbers));
    if (!location) found.where += fmt::format(" block {}", block);
    return found;
  }

  // ---- Rules over stages, passes and commands

  void find_bound() {
    uint64_t vertices = 0, fragments = work_of_stage_[kFragmentStage], vertex_invocations = 0;
    for (const auto& [stage, work] : work_of_stage_) {
      if (!is_vertex_work(stage)) continue;
      vertices = saturating_sum(vertices, work);
      vertex_invocations = saturating_sum(vertex_invocations, invocations_of_stage_[stage]);
    }
    const uint64_t draws = saturating_sum(vertices, fragments);
    const bool by_vertices = ratio(vertices, draws) >= 0.6;
    if (draws == 0 || (!by_vertices && ratio(fragments, draws) < 0.6)) return;
    const uint64_t part = by_vertices ? vertices : fragments;
    std::vector<FindingPlace> places;
    for (const Ran& ran : ran_) {
      if (by_vertices ? is_vertex_work(ran.stage) : ran.stage == kFragmentStage) {
        places.push_back({name_of(ran),
                          is_complete_
                              ? fmt::format("{} of the capture's {}, {} invocations",
                                            percent(share_of(ran.work)), metric_name(),
                                            with_separators(ran.invocations))
                              : fmt::format("{} {}, {} invocations", with_separators(ran.work),
                                            metric_name(), with_separators(ran.invocations)),
                          {}});
      }
    }
    add(by_vertices ? Rule::VertexBound : Rule::FragmentBound, share_of(part),
        fmt::format("{} take {} of the {} of {}draws: {} vertex and {} fragment invocations",
                    by_vertices ? "vertices" : "fragments", percent(ratio(part, draws)),
                    metric_name(), is_complete_ ? "" : "the counted ",
                    with_separators(vertex_invocations),
                    with_separators(invocations_of_stage_[kFragmentStage])),
        std::move(places));
  }

  void find_overdraw() {
    for (const auto& [name, group] : passes_) {
      const double overdraw = ratio(group.fragments, group.pixels);
      if (overdraw < 2 || group.multisampled) continue;
      add(Rule::Overdraw, share_of(group.fragment_work) * (1 - 1 / overdraw),
          fmt::format(
              "pass {} shades each pixel {}{:.2f} times: {} fragment invocations for {} pixels "
              "in {}",
              name, is_complete_ ? "" : "at least ", overdraw, with_separators(group.fragments),
              with_separators(group.pixels), counted(group.passes, "pass")));
    }
  }

  void find_bytes_requested() {
    for (const auto& [name, group] : passes_) {
      const double times = ratio(group.fragment_bytes, group.attachment_bytes);
      if (times < kManyBytes || group.has_unknown_attachments || group.multisampled) continue;
      add(Rule::BytesRequested, share_of(group.fragment_work),
          fmt::format(
              "the fragments of pass {} request {}{:.1f} times the bytes of its "
              "attachments: {} bytes for {}, {:.1f} a pixel",
              name, is_complete_ ? "" : "at least ", times, with_separators(group.fragment_bytes),
              with_separators(group.attachment_bytes), ratio(group.fragment_bytes, group.pixels)));
    }
  }

  void find_tiny_commands() {
    struct Kind {
      uint64_t all = 0, tiny = 0, invocations = 0;
    };
    std::array<Kind, 2> kinds;  // dispatches, draws
    for (uint32_t c = 0; c < model_.commands.size(); ++c) {
      const Command& command = model_.commands[c];
      if (command.pipeline == kNone || most_invocations_[c] == 0) continue;
      Kind& kind = kinds[model_.is_draw(command)];
      const uint64_t runs = std::max(command.runs, 1u);
      kind.all += runs;
      if (most_invocations_[c] / runs >= kTinyInvocations) continue;
      kind.tiny += runs;
      kind.invocations = saturating_sum(kind.invocations, most_invocations_[c]);
    }
    for (const bool draws : {true, false}) {
      const Kind& kind = kinds[draws];
      if (kind.all < kManyCommands || ratio(kind.tiny, kind.all) < 0.5) continue;
      add(Rule::TinyCommands, 0,
          fmt::format(
              "{} of {} {}{} have fewer than {} invocations of any shader each, {} together",
              with_separators(kind.tiny), with_separators(kind.all), is_complete_ ? "" : "counted ",
              draws ? "draws" : "dispatches", kTinyInvocations, with_separators(kind.invocations)));
    }
  }

  void find_empty_passes() {
    for (const auto& [name, group] : passes_) {
      if (group.empty == 0) continue;
      add(Rule::EmptyPass, 0,
          fmt::format("{} of {} of {} draw nothing", with_separators(group.empty),
                      counted(group.passes, "pass"), name));
    }
  }

  struct PassCommands {
    uint32_t first = kNone, last = kNone;
  };

  void find_redundant_passes() {
    std::vector<PassCommands> of_pass(model_.passes.size());
    std::vector<bool> has_other(model_.frames.size());  // commands outside of passes
    for (uint32_t c = 0; c < model_.commands.size(); ++c) {
      const Command& command = model_.commands[c];
      if (command.pass == kNone) {
        has_other[command.frame] = true;
        continue;
      }
      PassCommands& of = of_pass[command.pass];
      if (of.first == kNone) of.first = c;
      of.last = c;
    }
    for (const Pass& pass : model_.passes) {
      if (!pass.row.framebuffer) continue;
      auto& [width, height] = largest_areas_[*pass.row.framebuffer];
      width = std::max(width, pass.row.width);
      height = std::max(height, pass.row.height);
    }
    for (uint32_t p = 0; p < model_.passes.size(); ++p) {
      PassGroup& group = passes_[pass_text(&model_.passes[p])];
      group.copies += is_copy(model_.passes[p], of_pass[p]);
      if (p + 1 == model_.passes.size()) continue;
      group.overwritten += overwrites(model_.passes[p], model_.passes[p + 1]) &&
                           follows(of_pass[p], of_pass[p + 1], has_other[model_.passes[p].frame]);
    }
    for (const auto& [name, group] : passes_) {
      if (group.overwritten != 0) {
        add(Rule::OverwrittenPass, 0,
            fmt::format("what {} of {} of {} stored is cleared by the pass after it",
                        with_separators(group.overwritten), counted(group.passes, "pass"), name));
      }
      if (group.copies != 0) {
        add(Rule::CopyPass, share_of(group.fragment_work) * ratio(group.copies, group.passes),
            fmt::format("{} of {} of {} copy one texel to each pixel and do nothing else",
                        with_separators(group.copies), counted(group.passes, "pass"), name));
      }
    }
  }

  // The next pass of the command buffer renders to the same framebuffer, and loads nothing that
  // this one stores.
  bool overwrites(const Pass& pass, const Pass& next) const {
    if (!pass.row.framebuffer || pass.row.framebuffer != next.row.framebuffer) return false;
    if (pass.row.execution != next.row.execution || pass.frame != next.frame) return false;
    if (pass.row.width != next.row.width || pass.row.height != next.row.height) return false;
    // Smaller areas may be parts of the framebuffer that the next pass does not touch.
    const auto [width, height] = largest_areas_.at(*pass.row.framebuffer);
    if (pass.row.width < width || pass.row.height < height) return false;
    const std::vector<Attachment> before = attachments_of(pass), after = attachments_of(next);
    if (before.size() != after.size()) return false;
    size_t lost = 0;
    for (size_t i = 0; i < before.size(); ++i) {
      if (before[i].stored && after[i].loaded) return false;
      lost += before[i].stored;
    }
    return lost != 0;
  }

  // No command that could read what the first one stored ran in between.
  static bool follows(const PassCommands& pass, const PassCommands& next, bool has_other) {
    if (pass.last == kNone || next.first == kNone) return !has_other;
    return next.first == pass.last + 1;
  }

  // One draw of at most two triangles whose fragments read a texel each.
  bool is_copy(const Pass& pass, const PassCommands& of) const {
    if (of.first == kNone || of.first != of.last) return false;
    const Command& command = model_.commands[of.first];
    const Fragments& fragments = fragments_[of.first];
    if (command.pipeline == kNone || !model_.is_draw(command) || fragments.invocations == 0)
      return false;
    if (fragments.invocations > pixels_of(pass)) return false;
    if (most_invocations_[of.first] != fragments.invocations) return false;
    const auto ran = std::ranges::find_if(ran_, [&](const Ran& own) {
      return own.stage == kFragmentStage &&
             variants_.of(command.pipeline, own.shader) == own.variant;
    });
    return ran != ran_.end() && only_copies(*ran);
  }

  bool only_copies(const Ran& ran) const {
    constexpr std::string_view kWork[] = {"fma",
                                          "float16",
                                          "float32",
                                          "float64",
                                          "int8",
                                          "int16",
                                          "int32",
                                          "int64",
                                          "division",
                                          "special_function",
                                          "derivative",
                                          "buffer_bytes_loaded",
                                          "buffer_bytes_stored",
                                          "image_stores"};
    const auto sum = [&](std::string_view metric) {
      uint64_t all = 0;
      for (size_t b = 0; b < totals_.block_count(ran.variant); ++b)
        all = saturating_sum(all, value_of(metric, ran.variant, b));
      return all;
    };
    if (std::ranges::any_of(kWork, [&](std::string_view metric) { return sum(metric) != 0; }))
      return false;
    return saturating_sum(saturating_sum(sum("texture_samples"), sum("texture_fetches")),
                          sum("image_loads")) == ran.invocations;
  }

  // ---- Rules over the code of a shader

  void find_discards(const Ran& ran) {
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

  void find_loop_limits(const Ran& ran) {
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

  // The header is executed once more than the body, for the test that ends the loop.
  void find_loop_limit(const Ran& ran, const spirv::MappedFunction& function, const spirv::Cfg& cfg,
                       const spirv::LoopBound& bound) {
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

  void find_one_way_branches(const Ran& ran) {
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

  void find_unused_functions(const Ran& ran) {
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

  void find_uniform_work(const Ran& ran) {
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
        fmt::format("{} of the {} of {} compute what is the same in all of its {} invocations",
                    percent(ratio(work, ran.work)), metric_name(), subject(ran),
                    with_separators(ran.invocations)),
        std::move(places));
  }

  void find_low_efficiency(const Ran& ran) {
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
        fmt::format(
            "{} of the lanes of {} work: {} executions of blocks in subgroups with {} lanes",
            percent(efficiency), subject(ran), with_separators(executions),
            with_separators(lanes)));
  }

  void find_small_workgroups(const Ran& ran) {
    if (ran.stage != kComputeStage) return;
    const spirv::EntryPoint* entry = ran.code->entry(model_.shaders[ran.shader].entry_point);
    const auto size = entry != nullptr ? spirv::specialized_workgroup_size(ran.code->module, *entry)
                                       : std::nullopt;
    if (!size) return;
    const uint64_t invocations =
        saturating_product(saturating_product((*size)[0], (*size)[1]), (*size)[2]);
    if (invocations >= kSubgroup || invocations == 0) return;
    add(Rule::SmallWorkgroup, share_of(ran.work),
        fmt::format("workgroups of {} have {} x {} x {} invocations; a subgroup of {} is {} full",
                    name_of(ran), (*size)[0], (*size)[1], (*size)[2], kSubgroup,
                    percent(ratio(invocations, kSubgroup))));
  }

  // ---- Rules over accesses to memory

  void list_accesses() {
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
      found_.memory.push_back({std::move(at.where), std::move(at.text), line->resource,
                               line->access, line->bytes, line->sectors, line->extra_passes,
                               line->texels});
    }
  }

  struct MemoryPlace {
    uint64_t too_many;
    const MemoryLine* line;
    std::string numbers;
  };

  void add_memory(Rule rule, const Ran& ran, std::string text, std::vector<MemoryPlace> found) {
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

  // Small subgroups cannot fill a sector with a word each: one each is then the least.
  void find_uncoalesced(const Ran& ran) {
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

  void find_bank_conflicts(const Ran& ran) {
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

  void find_reads_after_writes(const Ran& ran) {
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

  // ---- Modules with the same code

  void find_same_code() {
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

  const Model& model_;
  ShaderCodes& codes_;
  ShaderSources& sources_;
  const Variants& variants_;
  const BlockTotals& totals_;
  const BranchTotals& branches_;
  const std::vector<Metric> metrics_;
  const uint32_t metric_;
  const bool is_complete_;  // all work is known

  std::vector<Ran> ran_;  // the most work first
  std::vector<MemoryLine> memory_;
  uint64_t work_ = 0;  // of all shaders
  std::map<uint32_t, uint64_t> work_of_stage_, invocations_of_stage_;
  std::vector<uint64_t> most_invocations_;  // by command
  std::vector<Fragments> fragments_;        // by command
  std::map<std::string, PassGroup> passes_;
  std::map<store::RowId, std::pair<uint32_t, uint32_t>> largest_areas_;  // by framebuffer
  Findings found_;
};

}  // namespace

Result<Findings> find_findings(const Model& model, ShaderCodes& codes, ShaderSources& sources,
                               const Variants& variants, const Progress& progress) {
  const auto totals = BlockTotals::count(model, codes, variants, progress);
  if (!totals) return totals.error();
  const auto branches = BranchTotals::count(model, codes, variants, *totals, progress);
  if (!branches) return branches.error();
  return Finder(model, codes, sources, variants, *totals, *branches).run(progress);
}

}  // namespace tally::analysis
