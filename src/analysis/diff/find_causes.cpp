#include "analysis/diff/causes.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/diff/alignment.h"
#include "analysis/diff/difference.h"
#include "analysis/model/counts.h"

namespace tally::analysis {
namespace {

void add(ChangeParts& sums, const ChangeParts& parts) {
  sums.code += parts.code;
  sums.executions += parts.executions;
  sums.invocations += parts.invocations;
  sums.commands += parts.commands;
}

std::string shader_text(const ShaderItem& shader) { return shader.name + " " + shader.place; }

std::string text_at(const ShaderItem& shader, const CodeAlignment::Place& place) {
  const SourceText* file = file_of(shader, place.first);
  if (!file || place.second == 0 || place.second > file->lines.size()) return {};
  std::string text = file->lines[place.second - 1];
  text.erase(0, std::min(text.find_first_not_of(" \t"), text.size()));
  text.erase(text.find_last_not_of(" \t\r") + 1);
  return text;
}

std::string name_at(const ShaderItem& shader, uint32_t file) {
  const SourceText* found = file_of(shader, file);
  return found && !found->name.empty() ? found->name : shader.name;
}

template <typename Changes>
void sort_changes(Changes& changes) {
  std::ranges::stable_sort(changes, std::greater<>(),
                           [](const CountChange& change) { return magnitude(change.part); });
}

// One version of a shader, and the values that causes need.
struct Side {
  const Profile& profile;
  std::optional<size_t> metric, executions;

  uint64_t value(const std::vector<uint64_t>& values) const { return value_at(values, metric); }
  uint64_t invocations(const ShaderItem& shader) const {
    return value_at(shader.values, profile.invocations_of(shader.stage));
  }
};

Side side_of(const Profile& profile, const std::string& metric) {
  return {profile, find_metric(profile.metrics, metric),
          find_metric(profile.metrics, "executions")};
}

uint64_t commands_of(const ShaderItem& shader) {
  uint64_t sum = 0;
  for (const auto& [pass, commands] : shader.commands_of_passes)
    sum = saturating_sum(sum, commands);
  return sum;
}

// The causes within a shader that both captures have.
class ShaderCauses {
 public:
  ShaderCauses(const Side& old, const Side& now, const ShaderItem& before, const ShaderItem& after)
      : old_(old), now_(now), before_(before), after_(after), alignment_(before, after) {
    cause_.shaders = {shader_text(after)};
    cause_.shaders_before = old.value(before.values);
    base_before_ = {.commands = commands_of(before), .invocations = old.invocations(before)};
    base_after_ = {.commands = commands_of(after), .invocations = now.invocations(after)};
  }

  // The parts of draws and invocations are those of other causes, too.
  Cause run() {
    const bool same = before_.identity.hash == after_.identity.hash;
    for (const CodeAlignment::Edit& edit : alignment_.edits()) add_edit(edit);
    cause_.kind = same                   ? CauseKind::Data
                  : cause_.lines.empty() ? CauseKind::Rebuilt
                                         : CauseKind::Edit;
    cause_.is_text_known =
        std::ranges::any_of(after_.files, [](const auto& file) { return !file.lines.empty(); });
    match_loops();
    uint64_t lines_before = 0, lines_after = 0;
    for (const LinePair& pair : pair_lines(before_, after_, alignment_)) {
      if (pair.before) lines_before += old_.value(pair.before->values);
      if (pair.after) lines_after += now_.value(pair.after->values);
      add_line(pair, same);
    }
    // The value that belongs to no line is split by invocations alone.
    ChangeFactors before = base_before_, after = base_after_;
    before.value = rest(old_.value(before_.values), lines_before);
    after.value = rest(now_.value(after_.values), lines_after);
    before.executions = before.invocations, after.executions = after.invocations;
    // It has no lines to compare: what changes is how often it runs, unless that is all there is.
    const bool has_lines = std::ranges::any_of(after_.lines, is_known);
    add(cause_.parts, split_change(before, after, same || has_lines));
    finish();
    return std::move(cause_);
  }

 private:
  static bool is_known(const LineItem& line) { return line.line != 0; }
  static uint64_t rest(uint64_t all, uint64_t lines) { return all - std::min(all, lines); }

  void add_edit(const CodeAlignment::Edit& edit) {
    EditedLine line;
    if (edit.before) {
      line.file = name_at(before_, edit.before->first);
      line.old_line = edit.before->second;
      line.old_text = text_at(before_, *edit.before);
    }
    if (edit.after) {
      line.file = name_at(after_, edit.after->first);
      line.line = edit.after->second;
      line.text = text_at(after_, *edit.after);
    }
    edits_[{edit.after.has_value(), edit.after ? *edit.after : *edit.before}] = cause_.lines.size();
    cause_.lines.push_back(std::move(line));
  }

  void match_loops() {
    for (const LoopItem& loop : before_.loops) {
      const auto aligned = alignment_.after_of({loop.file, loop.line});
      if (aligned) old_loops_[aligned->after] = &loop;
    }
  }

  // The outermost loop around the line that has other iterations per entry.
  const LoopItem* changed_loop(const LineItem& line) const {
    using Wide = unsigned __int128;
    for (const uint32_t index : line.loops) {
      if (index >= after_.loops.size()) continue;
      const LoopItem& now = after_.loops[index];
      const LoopItem* old = old_loop(now);
      if (!old || Wide{old->iterations} * now.entries != Wide{now.iterations} * old->entries)
        return &now;
    }
    return nullptr;
  }

  const LoopItem* old_loop(const LoopItem& now) const {
    const auto found = old_loops_.find({now.file, now.line});
    return found == old_loops_.end() ? nullptr : found->second;
  }

  void add_line(const LinePair& pair, bool same_shader) {
    const auto [old, now, moved] = pair;
    ChangeFactors before = base_before_, after = base_after_;
    if (old) before.value = old_.value(old->values);
    if (now) after.value = now_.value(now->values);
    if (old && now) {
      before.executions = value_at(old->values, old_.executions);
      after.executions = value_at(now->values, now_.executions);
    }
    ChangeParts parts;
    if (old && now) {
      const bool has_lines = std::ranges::any_of(after_.lines, is_known);
      const bool same_code = same_shader || (is_known(*old) ? old->code == now->code : has_lines);
      parts = split_change(before, after, same_code);
      if (parts.executions != 0) add_executions(*old, *now, before, after, parts.executions);
    } else {
      parts.code = signed_difference(after.value, before.value);
    }
    const auto edit = now ? edits_.find({true, {now->file, now->line}})
                          : edits_.find({false, {old->file, old->line}});
    if (edit != edits_.end()) cause_.lines[edit->second].code += parts.code;
    add(cause_.parts, parts);
  }

  void add_executions(const LineItem& old, const LineItem& now, const ChangeFactors& before,
                      const ChangeFactors& after, int64_t part) {
    if (const LoopItem* loop = changed_loop(now)) {
      loop_parts_[loop] += part;
      return;
    }
    cause_.other_lines.push_back({.file = name_at(after_, now.file),
                                  .line = now.line,
                                  .base_before = before.invocations,
                                  .base_after = after.invocations,
                                  .before = value_at(old.values, old_.executions),
                                  .after = value_at(now.values, now_.executions),
                                  .part = part});
  }

  void finish() {
    for (const auto& [loop, part] : loop_parts_) {
      const LoopItem* old = old_loop(*loop);
      cause_.loops.push_back({.file = name_at(after_, loop->file),
                              .line = loop->line,
                              .base_before = old ? old->entries : 0,
                              .base_after = loop->entries,
                              .before = old ? old->iterations : 0,
                              .after = loop->iterations,
                              .part = part});
    }
    cause_.before = base_before_.invocations, cause_.after = base_after_.invocations;
    cause_.commands_before = base_before_.commands, cause_.commands_after = base_after_.commands;
  }

  const Side& old_;
  const Side& now_;
  const ShaderItem& before_;
  const ShaderItem& after_;
  const CodeAlignment alignment_;
  ChangeFactors base_before_, base_after_;
  Cause cause_{};
  std::map<std::pair<bool, CodeAlignment::Place>, size_t> edits_;  // by whether it is there after
  std::map<CodeAlignment::Place, const LoopItem*> old_loops_;      // by place after
  std::map<const LoopItem*, int64_t> loop_parts_;
};

// Adds the changes of another shader that has the same lines.
void merge_changes(std::vector<CountChange>& changes, const std::vector<CountChange>& added) {
  for (const CountChange& change : added) {
    const auto found = std::ranges::find_if(changes, [&](const CountChange& known) {
      return known.file == change.file && known.line == change.line;
    });
    if (found == changes.end()) {
      changes.push_back(change);
      continue;
    }
    found->base_before = saturating_sum(found->base_before, change.base_before);
    found->base_after = saturating_sum(found->base_after, change.base_after);
    found->before = saturating_sum(found->before, change.before);
    found->after = saturating_sum(found->after, change.after);
    found->part += change.part;
  }
}

class CauseFinder {
 public:
  CauseFinder(const Profile& before, const Profile& after, const std::string& metric)
      : before_(before),
        after_(after),
        old_(side_of(before, metric)),
        now_(side_of(after, metric)) {
    causes_.metric = metric;
    causes_.metric_title = after.metrics[*now_.metric].title;
    name_passes();
  }

  Causes run(const Matching& shaders) {
    for (const ShaderItem& shader : before_.shaders)
      causes_.before = saturating_sum(causes_.before, old_.value(shader.values));
    for (const ShaderItem& shader : after_.shaders)
      causes_.after = saturating_sum(causes_.after, now_.value(shader.values));
    for (const ItemMatch& pair : shaders.pairs)
      add_pair(before_.shaders[pair.before], after_.shaders[pair.after]);
    for (const uint32_t i : shaders.removed) {
      const ShaderItem& shader = before_.shaders[i];
      add_whole(CauseKind::Removed, shader, signed_difference(0, old_.value(shader.values)));
    }
    for (const uint32_t j : shaders.added) {
      const ShaderItem& shader = after_.shaders[j];
      add_whole(CauseKind::Added, shader, signed_difference(now_.value(shader.values), 0));
    }
    for (auto& [pass, cause] : commands_) causes_.list.push_back(std::move(cause));
    sort();
    return std::move(causes_);
  }

 private:
  void name_passes() {
    for (const Item& pass : before_.passes) old_pass_names_.push_back(name_of_pass(pass));
    for (const ItemMatch& pair : match_items(before_.passes, after_.passes).pairs)
      old_pass_names_[pair.before] = name_of_pass(after_.passes[pair.after]);
  }

  void add_pair(const ShaderItem& before, const ShaderItem& after) {
    Cause own = ShaderCauses(old_, now_, before, after).run();
    if (own.parts.commands != 0) {
      Cause& commands = commands_of_pass(changed_pass(before, after));
      commands.parts.commands += own.parts.commands;
      commands.shaders.push_back(own.shaders.front());
      commands.shaders_before += own.shaders_before;
    }
    if (own.parts.invocations != 0) {
      causes_.list.push_back({.kind = CauseKind::Invocations,
                              .shaders = own.shaders,
                              .command = after.stage == "compute" ? "dispatch" : "draw",
                              .commands_before = own.commands_before,
                              .commands_after = own.commands_after,
                              .before = own.before,
                              .after = own.after,
                              .shaders_before = own.shaders_before,
                              .parts = {.invocations = own.parts.invocations}});
    }
    own.parts.commands = own.parts.invocations = 0;
    const bool changes = own.parts.code != 0 || own.parts.executions != 0;
    if (own.kind == CauseKind::Edit) {
      add_edit(std::move(own));
    } else if (changes) {
      causes_.list.push_back(std::move(own));
    }
  }

  // Shaders that include the same edited lines have one cause.
  void add_edit(Cause cause) {
    std::string key;
    for (const EditedLine& line : cause.lines)
      key += line.file + '\n' + line.old_text + '\n' + line.text + '\n';
    const auto [known, is_new] = edits_.emplace(std::move(key), causes_.list.size());
    if (is_new) {
      causes_.list.push_back(std::move(cause));
      return;
    }
    Cause& same = causes_.list[known->second];
    same.shaders.push_back(cause.shaders.front());
    same.shaders_before += cause.shaders_before;
    for (size_t l = 0; l < same.lines.size(); ++l) same.lines[l].code += cause.lines[l].code;
    merge_changes(same.loops, cause.loops);
    merge_changes(same.other_lines, cause.other_lines);
    add(same.parts, cause.parts);
  }

  void add_whole(CauseKind kind, const ShaderItem& shader, int64_t amount) {
    causes_.list.push_back({.kind = kind,
                            .shaders = {shader_text(shader)},
                            .shaders_before = amount < 0 ? magnitude(amount) : 0,
                            .parts = {.code = amount}});
  }

  // The pass whose number of draws with the shader changed most.
  std::string changed_pass(const ShaderItem& before, const ShaderItem& after) const {
    std::map<std::string, int64_t> changes;
    for (const auto& [pass, commands] : before.commands_of_passes)
      changes[old_pass_names_[pass]] -= static_cast<int64_t>(commands);
    for (const auto& [pass, commands] : after.commands_of_passes)
      changes[name_of_pass(after_.passes[pass])] += static_cast<int64_t>(commands);
    const auto most = std::ranges::max_element(
        changes, {}, [](const auto& change) { return magnitude(change.second); });
    return most == changes.end() ? std::string() : most->first;
  }

  Cause& commands_of_pass(const std::string& name) {
    const auto [found, is_new] = commands_.emplace(name, Cause{.kind = CauseKind::Commands});
    Cause& cause = found->second;
    if (!is_new) return cause;
    cause.pass = name;
    uint64_t draws = 0, dispatches = 0;
    const auto count = [&](const Profile& profile, const Item& pass, uint64_t& sum) {
      const uint64_t drawn = value_at(pass.values, find_metric(profile.metrics, "draws"));
      const uint64_t dispatched = value_at(pass.values, find_metric(profile.metrics, "dispatches"));
      draws += drawn, dispatches += dispatched, sum += drawn + dispatched;
    };
    for (size_t p = 0; p < before_.passes.size(); ++p)
      if (old_pass_names_[p] == name) count(before_, before_.passes[p], cause.commands_before);
    for (const Item& pass : after_.passes)
      if (name_of_pass(pass) == name) count(after_, pass, cause.commands_after);
    cause.command = dispatches == 0 ? "draw" : draws == 0 ? "dispatch" : "command";
    return cause;
  }

  void sort() {
    for (Cause& cause : causes_.list) {
      sort_changes(cause.loops);
      sort_changes(cause.other_lines);
      std::ranges::stable_sort(cause.lines, std::greater<>(),
                               [](const EditedLine& line) { return magnitude(line.code); });
    }
    std::ranges::stable_sort(causes_.list, {}, [](const Cause& cause) {
      return std::tuple(cause.kind != CauseKind::Edit, ~magnitude(cause.amount()));
    });
  }

  const Profile& before_;
  const Profile& after_;
  const Side old_, now_;
  std::vector<std::string> old_pass_names_;  // by pass: as it is called after
  Causes causes_;
  std::map<std::string, size_t> edits_;    // by text: into the list
  std::map<std::string, Cause> commands_;  // by pass
};

bool adds_up(const Metric& metric) { return metric.attribution == Attribution::ByClass; }

}  // namespace

Causes find_causes(const Profile& before, const Profile& after, const Matching& shaders,
                   const std::string& metric) {
  if (before.metrics.empty() || after.metrics.empty()) return {};
  const auto is_usable = [&](std::optional<size_t> index) {
    return index && adds_up(after.metrics[*index]) &&
           find_metric(before.metrics, after.metrics[*index].id);
  };
  std::optional<size_t> index = find_metric(after.metrics, metric);
  if (!is_usable(index)) index = default_metric(after.metrics);
  if (!is_usable(index)) return {};
  return CauseFinder(before, after, after.metrics[*index].id).run(shaders);
}

}  // namespace tally::analysis
