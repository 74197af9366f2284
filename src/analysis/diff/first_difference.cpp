#include "analysis/diff/first_difference.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/cost/call_costs.h"
#include "analysis/diff/make_profile.h"
#include "analysis/model/counts.h"
#include "analysis/model/metrics.h"
#include "analysis/model/names.h"
#include "analysis/source/shader_source.h"
#include "base/hash.h"
#include "base/settings.h"

namespace tally::analysis {
namespace {

uint64_t hash_text(const std::string& text) {
  return hash_bytes(std::as_bytes(std::span(text))).low;
}

// One of the captures.
class ComparedRun {
 public:
  ComparedRun(const Model& model, const Progress& progress)
      : model_(model), progress_(progress), names_(model), codes_(model) {}

  // Indexed by command: a hash of what it is and what it did.
  Result<std::vector<uint64_t>> digests() {
    std::vector<uint64_t> result;
    std::map<std::tuple<uint32_t, uint32_t, uint32_t, uint32_t>, uint64_t> known;
    for (uint32_t c = 0; c < model_.commands.size(); ++c) {
      const Command& command = model_.commands[c];
      const uint32_t pass =
          command.pass == kNone ? kNone : model_.passes[command.pass].number_in_frame;
      const auto [name, is_new] =
          known.try_emplace({command.call, command.pipeline, command.label, pass});
      if (is_new) name->second = hash_text(text(c));
      result.push_back(hash_combine(name->second, command.runs));
    }
    std::vector<uint64_t> shaders, metrics;
    for (uint32_t s = 0; s < model_.shaders.size(); ++s)
      shaders.push_back(hash_text(shader_hash(model_, s) + model_.shader_constants[s]));
    for (const Metric& metric : describe_metrics(model_)) metrics.push_back(hash_text(metric.id));
    Status status = visit_stage_values(model_, progress_, [&](const StageValue& v) {
      result[v.command] +=
          hash_combine(hash_combine(hash_combine(1, v.stage), metrics[v.metric]), v.value);
    });
    TALLY_TRY(status);
    status = visit_block_executions(model_, progress_, [&](const BlockExecutions& b) {
      if (b.executions == 0) return;
      result[b.command] +=
          hash_combine(hash_combine(hash_combine(2, shaders[b.shader]), b.block), b.executions);
    });
    TALLY_TRY(status);
    return result;
  }

  const Command& command(size_t index) const { return model_.commands[index]; }
  int64_t frame(size_t index) const { return model_.frames[model_.commands[index].frame].number; }
  std::string text(size_t command) const {
    const Item item = names_.command(static_cast<uint32_t>(command));
    return item.place.empty() ? item.name : item.name + "; " + item.place;
  }

  // Reads the counts of one command.
  Status load(size_t command) {
    TALLY_TRY(visit_stage_values(model_, progress_, [&](const StageValue& v) {
      if (v.command == command) values_[{v.stage, v.metric}] += v.value;
    }));
    return visit_block_executions(model_, progress_, [&](const BlockExecutions& b) {
      if (b.command == command && b.executions != 0) blocks_[b.shader][b.block] = b.executions;
    });
  }

  using Blocks = std::map<uint32_t, uint64_t>;
  const std::map<uint32_t, Blocks>& blocks() const { return blocks_; }  // by shader
  // The values by stage and id of the metric.
  std::map<std::pair<uint32_t, std::string>, uint64_t> values() const {
    const std::vector<Metric> metrics = describe_metrics(model_);
    std::map<std::pair<uint32_t, std::string>, uint64_t> result;
    for (const auto& [key, value] : values_) result[{key.first, metrics[key.second].id}] = value;
    return result;
  }

  std::pair<std::string, uint32_t> identity(uint32_t shader) const {
    return {shader_hash(model_, shader) + model_.shader_constants[shader],
            model_.shaders[shader].stage};
  }

  // The code that the command ran.
  std::set<std::pair<std::string, uint32_t>> identities() const {
    std::set<std::pair<std::string, uint32_t>> result;
    for (const auto& [shader, blocks] : blocks_) result.insert(identity(shader));
    return result;
  }

  // The first block, callers before what they call, that the two did not execute equally often.
  std::optional<FirstPlace> first_place(uint32_t shader, const Blocks& before,
                                        const Blocks& after) {
    const auto& code = codes_.of(shader);
    if (!code) return std::nullopt;
    const auto count = [](const Blocks& blocks, uint32_t block) {
      const auto found = blocks.find(block);
      return found == blocks.end() ? 0 : found->second;
    };
    const ShaderCalls calls(*code);
    for (auto f = calls.order().rbegin(); f != calls.order().rend(); ++f) {
      const spirv::MappedFunction& function = code->map.functions()[*f];
      for (uint32_t b = function.first_block; b < function.first_block + function.block_count;
           ++b) {
        if (count(before, b) != count(after, b))
          return place_of(shader, *code, b, count(before, b), count(after, b));
      }
    }
    return std::nullopt;
  }

 private:
  FirstPlace place_of(uint32_t shader, const ShaderCode& code, uint32_t block, uint64_t before,
                      uint64_t after) {
    FirstPlace place{.block = block, .before = before, .after = after};
    place.shader = model_.shader_names[shader] + " " + stage_name(model_.shaders[shader].stage);
    const auto& location = code.map.blocks()[block].location;
    if (!location) return place;
    ShaderSources sources(model_, codes_, {.choice = SourceChoice::Debug, .folder = nullptr});
    const ShaderSource& source = sources.of(shader);
    place.line = location->line;
    if (location->file < source.files().size()) place.file = source.files()[location->file].name;
    place.text = trimmed(source.text(*location));
    return place;
  }

  const Model& model_;
  const Progress& progress_;
  const CommandNames names_;
  ShaderCodes codes_;
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> values_;  // by stage and metric
  std::map<uint32_t, Blocks> blocks_;
};

std::optional<FirstPlace> first_place(ComparedRun& before, ComparedRun& after) {
  std::map<std::pair<std::string, uint32_t>, const ComparedRun::Blocks*> old;
  for (const auto& [shader, blocks] : before.blocks()) old[before.identity(shader)] = &blocks;
  std::vector<uint32_t> shaders;
  for (const auto& [shader, blocks] : after.blocks()) shaders.push_back(shader);
  std::ranges::stable_sort(shaders, {}, [&](uint32_t s) { return after.identity(s).second; });
  for (const uint32_t shader : shaders) {
    const auto found = old.find(after.identity(shader));
    if (found == old.end()) continue;
    auto place = after.first_place(shader, *found->second, after.blocks().at(shader));
    if (place) return place;
  }
  return std::nullopt;
}

void add_metric(const ComparedRun& before, const ComparedRun& after, FirstDifference& first) {
  auto old = before.values(), now = after.values();
  for (const auto& [key, value] : now) old.try_emplace(key, 0);
  for (const auto& [key, value] : old) {
    const auto found = now.find(key);
    const uint64_t after_value = found == now.end() ? 0 : found->second;
    if (value == after_value) continue;
    first.metric = key.second;
    first.metric_before = value, first.metric_after = after_value;
    return;
  }
}

}  // namespace

Result<std::optional<FirstDifference>> first_difference(const Model& before, const Model& after,
                                                        const Progress& progress) {
  ComparedRun old(before, progress), now(after, progress);
  const auto old_digests = TALLY_TRY(old.digests());
  const auto now_digests = TALLY_TRY(now.digests());
  const size_t shorter = std::min(old_digests.size(), now_digests.size());
  size_t at = 0;
  while (at < shorter && old_digests[at] == now_digests[at] && old.frame(at) == now.frame(at)) ++at;
  if (at == old_digests.size() && at == now_digests.size()) return std::optional<FirstDifference>();
  const bool in_old = at < old_digests.size(), in_now = at < now_digests.size();
  FirstDifference first;
  first.frame = in_now ? now.frame(at) : old.frame(at);
  first.number = in_now ? now.command(at).number_in_frame : old.command(at).number_in_frame;
  first.same_before = at;
  if (in_old) first.before = old.text(at);
  if (in_now) first.after = now.text(at);
  if (!in_old || !in_now || first.before != first.after) return std::optional(std::move(first));
  TALLY_TRY(old.load(at));
  TALLY_TRY(now.load(at));
  first.place = first_place(old, now);
  if (!first.place && old.identities() == now.identities()) add_metric(old, now, first);
  return std::optional(std::move(first));
}

}  // namespace tally::analysis
