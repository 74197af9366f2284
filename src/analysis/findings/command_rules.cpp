// The rules over stages, passes and commands.
#include <algorithm>
#include <array>

#include "analysis/findings/finder.h"
#include "analysis/model/counts.h"
#include "analysis/model/names.h"

namespace tally::analysis {
namespace {

constexpr uint64_t kTinyInvocations = 256;
constexpr uint64_t kManyCommands = 100;
constexpr double kManyBytes = 16;  // times those of the attachments

bool is_vertex_work(uint32_t stage) {
  constexpr uint32_t kFragment = 0x10, kTask = 0x40, kMesh = 0x80;
  return stage < kFragment || stage == kTask || stage == kMesh;  // vertex to geometry, or mesh
}

}  // namespace

void Finder::find_bound() {
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
      places.push_back(
          {name_of(ran),
           is_complete_
               ? fmt::format("{} of the capture's {}, {} invocations", percent(share_of(ran.work)),
                             metric_name(), with_separators(ran.invocations))
               : fmt::format("{} {}, {} invocations", with_separators(ran.work), metric_name(),
                             with_separators(ran.invocations)),
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

void Finder::find_overdraw() {
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

void Finder::find_bytes_requested() {
  for (const auto& [name, group] : passes_) {
    const double times = ratio(group.fragment_bytes, group.attachment_bytes);
    if (times < kManyBytes || group.has_unknown_attachments || group.multisampled) continue;
    add(Rule::BytesRequested, share_of(group.fragment_work),
        fmt::format("the fragments of pass {} request {}{:.1f} times the bytes of its "
                    "attachments: {} bytes for {}, {:.1f} a pixel",
                    name, is_complete_ ? "" : "at least ", times,
                    with_separators(group.fragment_bytes), with_separators(group.attachment_bytes),
                    ratio(group.fragment_bytes, group.pixels)));
  }
}

void Finder::find_tiny_commands() {
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
        fmt::format("{} of {} {}{} have fewer than {} invocations of any shader each, {} together",
                    with_separators(kind.tiny), with_separators(kind.all),
                    is_complete_ ? "" : "counted ", draws ? "draws" : "dispatches",
                    kTinyInvocations, with_separators(kind.invocations)));
  }
}

void Finder::find_empty_passes() {
  for (const auto& [name, group] : passes_) {
    if (group.empty == 0) continue;
    add(Rule::EmptyPass, 0,
        fmt::format("{} of {} of {} draw nothing", with_separators(group.empty),
                    counted(group.passes, "pass"), name));
  }
}

void Finder::find_redundant_passes() {
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

bool Finder::overwrites(const Pass& pass, const Pass& next) const {
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

bool Finder::follows(const PassCommands& pass, const PassCommands& next, bool has_other) {
  if (pass.last == kNone || next.first == kNone) return !has_other;
  return next.first == pass.last + 1;
}

bool Finder::is_copy(const Pass& pass, const PassCommands& of) const {
  if (of.first == kNone || of.first != of.last) return false;
  const Command& command = model_.commands[of.first];
  const Fragments& fragments = fragments_[of.first];
  if (command.pipeline == kNone || !model_.is_draw(command) || fragments.invocations == 0)
    return false;
  if (fragments.invocations > pixels_of(pass)) return false;
  if (most_invocations_[of.first] != fragments.invocations) return false;
  const auto ran = std::ranges::find_if(ran_, [&](const Ran& own) {
    return own.stage == kFragmentStage && variants_.of(command.pipeline, own.shader) == own.variant;
  });
  return ran != ran_.end() && only_copies(*ran);
}

bool Finder::only_copies(const Ran& ran) const {
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
}  // namespace tally::analysis
