#include "analysis/diff/make_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "analysis/cost/block_totals.h"
#include "analysis/cost/shader_loops.h"
#include "analysis/model/counts.h"
#include "analysis/model/names.h"
#include "analysis/model/timeline.h"
#include "analysis/source/shader_source.h"
#include "base/hash.h"

namespace tally::analysis {
namespace {

std::string joined(std::initializer_list<std::string_view> parts) {
  std::string text;
  for (const std::string_view part : parts) text += std::string(part) + '\n';
  return text;
}

}  // namespace

std::string CommandNames::shaders_of(uint32_t pipeline) const {
  std::string text;
  for (const store::RowId id : model_.pipelines[pipeline].shaders) {
    const uint32_t shader = model_.shader_index.find(id);
    if (shader != kNone) text += (text.empty() ? "" : " + ") + shaders_[shader];
  }
  return text;
}

std::string CommandNames::pipeline(uint32_t pipeline) const {
  if (pipeline == kNone) return "(no pipeline)";
  const store::PipelineRow& row = model_.pipelines[pipeline];
  return row.name.empty() ? shaders_of(pipeline) : row.name;
}

Item CommandNames::command(uint32_t index) const {
  const Command& command = model_.commands[index];
  const std::string call =
      command.call == kNone ? std::string() : call_text(model_.calls[command.call]);
  Item item{.name = call + ", " + pipeline(command.pipeline)};
  item.place = labels_.path(command.label);
  if (command.pass != kNone) {
    const Pass& pass = model_.passes[command.pass];
    const std::string name = pass.row.name.empty() ? pass_text(&pass) : pass.row.name;
    item.place += (item.place.empty() ? "" : ", ") + name;
  }
  item.identity.names = joined({item.place, item.name});
  return item;
}

CommandItems::CommandItems(const Model& model, const ProfileOptions& options, size_t metrics,
                           const Describe& describe)
    : model_(model), options_(options) {
  CommandGroups groups = group_commands(model, GroupBy::Command, /*merge=*/true);
  places_.reserve(groups.groups.size());
  for (const CommandGroup& group : groups.groups) add_group(describe, group, metrics);
  group_of_command_ = std::move(groups.group_of_command);
}

void CommandItems::add_group(const Describe& describe, const CommandGroup& group, size_t metrics) {
  Item item = describe(group);
  const Hash128 key = hash_bytes(std::as_bytes(std::span(item.identity.names)));
  if (options_.chosen_commands && !std::ranges::binary_search(*options_.chosen_commands, key)) {
    places_.push_back(kNone);
    return;
  }
  const auto next = static_cast<uint32_t>(keys_.size());
  const uint32_t place = numbers_.find_or_add(
      key.low, next, [&](uint32_t other) { return keys_[other] == key; },
      [&](uint32_t other) { return keys_[other].low; });
  places_.push_back(place);
  if (place != next) return;
  keys_.push_back(key);
  if (options_.commands == CommandDetail::Digests) {
    digests_.push_back({key, 0});
    return;
  }
  item.values.resize(metrics);
  items_.push_back(std::move(item));
}

Item* CommandItems::item_of(uint32_t command) {
  const uint32_t place = places_[group_of_command_[command]];
  return place == kNone || items_.empty() ? nullptr : &items_[place];
}

void CommandItems::add(uint32_t command, uint64_t hash) {
  const uint32_t place = places_[group_of_command_[command]];
  if (place == kNone) return;
  const int64_t frame = model_.frames[model_.commands[command].frame].number;
  if (options_.commands == CommandDetail::Digests) {
    digests_[place].content += hash_combine(static_cast<uint64_t>(frame), hash);
  } else {
    items_[place].frames[frame] += hash;
  }
}

void CommandItems::finish(Profile& profile) {
  if (options_.commands == CommandDetail::Items) {
    profile.index.commands.reserve(group_of_command_.size());
    for (const uint32_t group : group_of_command_) profile.index.commands.push_back(places_[group]);
  }
  std::ranges::sort(digests_, {}, &CommandDigest::key);
  profile.command_digests = std::move(digests_);
  profile.commands = std::move(items_);
}

// Adds the code of a shader, with the counts of all its variants, to `item`. An item may stand
// for several shaders of equal code; their counts add up.
void add_code(ShaderItem& item, uint32_t shader, ShaderCodes& codes, ShaderSources& sources,
              const Variants& variants, const BlockTotals& totals,
              const std::vector<Metric>& metrics);

namespace {

using Place = std::pair<uint32_t, uint32_t>;  // file, line; line 0: none

// The function in which each line first occurs, and the first line of each function.
struct LineFunctions {
  std::map<Place, uint32_t> of;
  std::map<uint32_t, Place> first;  // by function
};

LineFunctions functions_of_lines(const ShaderCode& code, const spirv::BlockMap& map,
                                 const FunctionTable& functions) {
  LineFunctions result;
  const bool knows_inlining = &map == &code.map;
  for (size_t b = 0; b < map.blocks().size(); ++b) {
    const spirv::Block& block = code.map.blocks()[b];
    for (const spirv::LineCost& line : map.lines_of(map.blocks()[b])) {
      const uint32_t function =
          knows_inlining ? functions.function_of(block, line) : functions.function_of(block);
      const Place place{line.location.file, line.location.line};
      result.of.emplace(place, function);
      const auto [first, added] = result.first.emplace(function, place);
      if (place.first == first->second.first) first->second = std::min(first->second, place);
    }
  }
  return result;
}

// A text without lines of the code still tells which shader it is.
void add_files(ShaderItem& item, const ShaderCode& code, const ShaderSource& source) {
  for (const SourceFileText& file : source.files())
    item.files.push_back({file.name, file.lines, file.origin});
  if (!item.files.empty()) return;
  for (const spirv::SourceFile& file : code.map.files())
    item.files.push_back({file.name, lines_of_text(file.text)});
}

void add_functions(ShaderItem& item, const FunctionTable& functions, const LineFunctions& lines) {
  for (uint32_t f = 0; f < functions.names().size(); ++f) {
    FunctionItem function{.name = functions.names()[f]};
    if (const auto first = lines.first.find(f); first != lines.first.end()) {
      if (first->second.first < item.files.size()) {
        function.file = item.files[first->second.first].name;
        function.origin = item.files[first->second.first].origin;
      }
      function.line = first->second.second;
    }
    item.functions.push_back(std::move(function));
  }
}

LineItem& line_at(ShaderItem& item, const Place& place, const LineFunctions& lines) {
  const auto key = [](const LineItem& line) { return Place{line.file, line.line}; };
  const auto found = std::ranges::lower_bound(item.lines, place, {}, key);
  if (found != item.lines.end() && key(*found) == place) return *found;
  const auto function = lines.of.find(place);
  // Damaged captures may have several codes of one hash.
  const bool known = function != lines.of.end() && function->second < item.functions.size();
  return *item.lines.insert(found, {.file = place.first,
                                    .line = place.second,
                                    .function = known ? function->second : 0,
                                    .values = {}});
}

uint64_t hash_of_costs(const spirv::InstructionMix& mix) {
  uint64_t hash = 1;
  for (size_t c = 0; c < spirv::kCostClassCount; ++c)
    hash = hash_combine(hash, mix[static_cast<spirv::CostClass>(c)]);
  return hash;
}

uint32_t loop_at(ShaderItem& item, const Place& place) {
  const auto found = std::ranges::find_if(item.loops, [&](const LoopItem& loop) {
    return Place{loop.file, loop.line} == place;
  });
  if (found != item.loops.end()) return static_cast<uint32_t>(found - item.loops.begin());
  item.loops.push_back({.file = place.first, .line = place.second});
  return static_cast<uint32_t>(item.loops.size() - 1);
}

// Returns the index in the item of each loop of the code; kNone: its line is not known.
std::vector<uint32_t> add_loops(ShaderItem& item, const ShaderLoops& loops,
                                const spirv::BlockMap& map) {
  std::vector<uint32_t> numbers;
  for (size_t l = 0; l < loops.size(); ++l) {
    const auto& location = map.blocks()[loops.header(l)].location;
    numbers.push_back(location ? loop_at(item, {location->file, location->line}) : kNone);
  }
  return numbers;
}

void count_loops(ShaderItem& item, const ShaderLoops& loops, const std::vector<uint32_t>& numbers,
                 uint32_t variant, const BlockTotals& totals) {
  for (size_t l = 0; l < loops.size(); ++l) {
    const auto count = loops.count(l, variant, totals);
    if (numbers[l] == kNone || !count) continue;
    LoopItem& loop = item.loops[numbers[l]];
    loop.entries = saturating_sum(loop.entries, count->entries);
    loop.iterations = saturating_sum(loop.iterations, count->iterations);
  }
}

// Adds what follows from the code of each line, whether it ran or not.
void describe_lines(ShaderItem& item, const ShaderLoops& loops,
                    const std::vector<uint32_t>& numbers, const spirv::BlockMap& map) {
  std::map<Place, LineItem*> lines;
  for (LineItem& line : item.lines) lines[{line.file, line.line}] = &line;
  for (uint32_t b = 0; b < map.blocks().size(); ++b) {
    const auto around = loops.around(b);
    for (const spirv::LineCost& cost : map.lines_of(map.blocks()[b])) {
      const auto found = lines.find({cost.location.file, cost.location.line});
      if (found == lines.end()) continue;
      LineItem& line = *found->second;
      const uint64_t costs = hash_combine(hash_of_costs(cost.mix), hash_of_costs(map.kept(cost)));
      line.code = hash_combine(line.code, costs);
      line.instructions += cost.mix[spirv::CostClass::Instruction];
      for (const uint32_t loop : around) {
        const bool known = numbers[loop] == kNone ||
                           std::ranges::find(line.loops, numbers[loop]) != line.loops.end();
        if (!known) line.loops.push_back(numbers[loop]);
      }
    }
  }
}

uint64_t hash_of_counts(uint32_t variant, const BlockTotals& totals, size_t metrics) {
  uint64_t hash = 1;
  for (size_t block = 0; block < totals.block_count(variant); ++block) {
    hash = hash_combine(hash, totals.executions(variant, block));
    for (size_t m = 0; m < metrics; ++m) hash = hash_combine(hash, totals.value(variant, block, m));
  }
  return hash;
}

}  // namespace

void add_code(ShaderItem& item, uint32_t shader, ShaderCodes& codes, ShaderSources& sources,
              const Variants& variants, const BlockTotals& totals,
              const std::vector<Metric>& metrics) {
  const auto& code = codes.of(shader);
  if (!code) return;
  const ShaderSource& source = sources.of(shader);
  item.why_not_reconstructed = source.why_not_reconstructed();
  const bool wants_lines = sources.options().choice != SourceChoice::Spirv;
  const FunctionTable functions(*code);
  const LineFunctions lines =
      wants_lines ? functions_of_lines(*code, source.map(), functions) : LineFunctions();
  const bool has_lines = !item.lines.empty();
  if (item.functions.empty()) {
    add_files(item, *code, source);
    add_functions(item, functions, lines);
  }
  const ShaderLoops loops(*code);
  const auto loop_numbers = wants_lines ? add_loops(item, loops, source.map())
                                        : std::vector<uint32_t>(loops.size(), kNone);
  for (uint32_t v = 0; v < variants.size(); ++v) {
    if (variants[v].shader != shader || totals.block_count(v) == 0) continue;
    item.counts += hash_of_counts(v, totals, metrics.size());
    const auto values = wants_lines ? line_values(*code, source.map(), v, totals, metrics)
                                    : std::vector<LineValues>();
    for (const LineValues& line : values) {
      const Place place{line.location.line == 0 ? 0 : line.location.file, line.location.line};
      add_saturating(line_at(item, place, lines).values, line.metrics);
    }
    count_loops(item, loops, loop_numbers, v, totals);
    const auto by_function = functions.values(v, totals, metrics);
    for (size_t f = 0; f < by_function.size() && f < item.functions.size(); ++f)
      add_saturating(item.functions[f].values, by_function[f]);
  }
  if (!has_lines) describe_lines(item, loops, loop_numbers, source.map());
}

namespace {

constexpr size_t kStages = 32;

TimeSpread spread_of(std::vector<uint64_t> times) {
  std::ranges::sort(times);
  return {times.front(), times[times.size() / 2], times.back(), times.size()};
}

// A list of items without duplicates: equal ones share an element.
template <typename T>
class ItemList {
 public:
  explicit ItemList(std::vector<T>& items) : items_(items) {}

  // `metrics`: the number of values of a new item.
  uint32_t add(T item, size_t metrics) {
    const std::string key =
        joined({item.name, item.place, item.identity.names, item.identity.hash});
    const auto [place, added] = by_key_.emplace(key, static_cast<uint32_t>(items_.size()));
    if (!added) return place->second;
    item.values.resize(metrics);
    items_.push_back(std::move(item));
    return place->second;
  }

 private:
  std::vector<T>& items_;
  std::unordered_map<std::string, uint32_t> by_key_;
};

class ProfileBuilder {
 public:
  ProfileBuilder(const Model& model, const ProfileOptions& options)
      : model_(model), options_(options), names_(model), pass_list_(profile_.passes) {
    profile_.summary = summarize(model);
    profile_.metrics = describe_metrics(model);
    captured_metrics_ = profile_.metrics.size();
    add_metrics();
  }

  Result<Profile> run(const Progress& progress) {
    add_shaders();
    add_pipelines();
    add_passes();
    add_commands();
    count_commands();
    const FirstUses first_uses = find_first_uses(model_);
    note_times(first_uses);
    Status status = count_values(progress);
    if (status.ok() && options_.code) status = count_code(progress);
    TALLY_TRY(status);
    profile_.index = {shader_items_, pipeline_items_, pass_items_, {}};
    if (commands_) commands_->finish(profile_);
    remove_unused(profile_.pipelines, profile_.index.pipelines);
    remove_unused(profile_.shaders, profile_.index.shaders);
    return std::move(profile_);
  }

 private:
  void add_metrics() {
    const auto add = [this](std::string id, std::string title) {
      profile_.metrics.push_back(
          {.id = std::move(id), .title = std::move(title), .description = {}});
      return profile_.metrics.size() - 1;
    };
    draws_ = add("draws", "draws");
    dispatches_ = add("dispatches", "dispatches");
    passes_ = add("passes", "passes");
    invocations_.resize(kStages, kNone);
    for (const store::ShaderRow& shader : model_.shaders) {
      const auto bit = static_cast<size_t>(std::countr_zero(shader.stage));
      if (bit >= kStages || invocations_[bit] != kNone) continue;
      const std::string name = stage_name(1u << bit);
      std::string id = "invocations_" + name;
      std::ranges::replace(id, ' ', '_');
      invocations_[bit] = static_cast<uint32_t>(add(id, name + " inv"));
    }
  }

  void add_shaders() {
    ItemList<ShaderItem> list(profile_.shaders);
    for (uint32_t s = 0; s < model_.shaders.size(); ++s) {
      const store::ShaderRow& row = model_.shaders[s];
      const std::string hash = shader_hash(model_, s), stage = stage_name(row.stage);
      const bool named = names_.shaders()[s] != short_hash(hash);
      const std::string& constants = model_.shader_constants[s];
      ShaderItem item;
      item.name = names_.shaders()[s];
      if (!constants.empty()) item.name += " [" + constants + "]";
      item.place = item.stage = stage;
      if (row.entry_point != "main") item.place += " " + row.entry_point;
      if (named) item.identity.names = joined({item.name, stage, row.entry_point});
      item.identity.hash = joined({hash, stage, row.entry_point, constants});
      item.identity.likeness = joined({names_.shaders()[s], stage, row.entry_point});
      shader_items_.push_back(list.add(std::move(item), profile_.metrics.size()));
    }
  }

  void add_pipelines() {
    ItemList<Item> list(profile_.pipelines);
    for (uint32_t p = 0; p < model_.pipelines.size(); ++p) {
      const store::PipelineRow& row = model_.pipelines[p];
      const std::string shaders = names_.shaders_of(p);
      Item item{.name = names_.pipeline(p), .place = row.bind_point};
      if (item.name.empty()) item.name = short_hash(row.hash);
      if (!row.name.empty()) item.identity.names = joined({row.name, row.bind_point});
      item.identity.hash = joined({row.hash, row.bind_point});
      if (!shaders.empty()) item.identity.likeness = joined({shaders, row.bind_point});
      pipeline_items_.push_back(list.add(std::move(item), profile_.metrics.size()));
    }
  }

  Item pass_item(uint32_t pass, const std::string& label) const {
    if (pass == kNone)
      return {
          .name = "(outside of passes)", .place = {}, .identity = {.names = "(outside of passes)"}};
    const store::PassRow& row = model_.passes[pass].row;
    const std::string look = fmt::format("{}x{}x{} {} {}", row.width, row.height, row.layers,
                                         row.view_mask, row.attachments);
    Item item{.name = pass_text(&model_.passes[pass]), .place = label};
    if (!row.name.empty() || !label.empty()) item.identity.names = joined({label, row.name});
    item.identity.hash = joined({row.name, look});
    item.identity.likeness = joined({row.name, row.attachments});
    return item;
  }

  void add_passes() {
    groups_ = group_commands(model_, GroupBy::Pass, /*merge=*/true);
    for (const CommandGroup& group : groups_.groups) {
      const std::string label = group.pass == kNone
                                    ? std::string()
                                    : names_.labels().path(model_.passes[group.pass].label);
      const uint32_t item = pass_list_.add(pass_item(group.pass, label), profile_.metrics.size());
      pass_items_.push_back(item);
      profile_.passes[item].values[passes_] += group.passes;
    }
  }

  uint32_t item_of_pass(uint32_t pass) {
    return pass_list_.add(pass_item(pass, names_.labels().path(model_.passes[pass].label)),
                          profile_.metrics.size());
  }

  void add_commands() {
    const bool none = options_.chosen_commands && options_.chosen_commands->empty();
    if (options_.commands == CommandDetail::None || none) return;
    commands_.emplace(model_, options_, profile_.metrics.size(), [this](const CommandGroup& group) {
      return names_.command(group.first_command);
    });
  }

  // Calls `add` with each item that the command is part of, except its shaders.
  template <typename Add>
  void for_items_of(uint32_t command, Add add) {
    add(profile_.passes[pass_items_[groups_.group_of_command[command]]]);
    const uint32_t pipeline = model_.commands[command].pipeline;
    if (pipeline != kNone) add(profile_.pipelines[pipeline_items_[pipeline]]);
    Item* item = commands_ ? commands_->item_of(command) : nullptr;
    if (item) add(*item);
  }

  void count_commands() {
    for (uint32_t i = 0; i < model_.commands.size(); ++i) {
      const Command& command = model_.commands[i];
      const size_t kind = model_.is_draw(command) ? draws_ : dispatches_;
      for_items_of(i, [&](Item& item) { item.values[kind] += command.runs; });
      count_shaders(command, pass_items_[groups_.group_of_command[i]]);
      if (commands_) commands_->add(i, hash_combine(1, command.runs));
    }
  }

  // Also of commands in which a shader has no invocations.
  void count_shaders(const Command& command, uint32_t pass) {
    if (command.pipeline == kNone) return;
    std::set<uint32_t> items;
    for (const store::RowId id : model_.pipelines[command.pipeline].shaders) {
      const uint32_t shader = model_.shader_index.find(id);
      if (shader != kNone) items.insert(shader_items_[shader]);
    }
    for (const uint32_t item : items)
      profile_.shaders[item].commands_of_passes[pass] += command.runs;
  }

  // Without frames in which a pass or command of the item has no time of its own.
  void note_times(const FirstUses& first_uses) {
    std::map<Item*, std::map<uint32_t, std::optional<uint64_t>>> times;  // by frame
    const auto add = [&](Item& item, uint32_t frame, std::optional<int64_t> measured) {
      std::optional<uint64_t>& sum = times[&item].try_emplace(frame, 0).first->second;
      if (measured.value_or(-1) < 0) sum.reset();
      if (sum) *sum += static_cast<uint64_t>(*measured);
    };
    std::vector<uint32_t> items;  // before any pointer: an item may be new
    for (uint32_t p = 0; p < model_.passes.size(); ++p) items.push_back(item_of_pass(p));
    for (uint32_t p = 0; p < model_.passes.size(); ++p) {
      const Pass& pass = model_.passes[p];
      const auto measured = pass.estimated_from == kNone ? pass.row.gpu_time_ns : std::nullopt;
      if (!first_uses.passes[p] && (measured || pass.row.time_sample))
        add(profile_.passes[items[p]], pass.frame, measured);
    }
    for (uint32_t c = 0; commands_ && c < model_.commands.size(); ++c) {
      const Command& command = model_.commands[c];
      const bool is_timed = command.estimated_from == kNone && !first_uses.commands[c];
      if (Item* const item = commands_->item_of(c))
        add(*item, command.frame, is_timed ? command.gpu_time_ns : std::nullopt);
    }
    for (const auto& [item, frames] : times) {
      std::vector<uint64_t> known;
      for (const auto& [frame, time] : frames)
        if (time) known.push_back(*time);
      if (!known.empty()) item->time = spread_of(std::move(known));
    }
  }

  Status count_values(const Progress& progress) {
    Status status = visit_stage_values(model_, progress, [this](const StageValue& v) {
      const auto add = [&](Item& item) {
        item.values[v.metric] = saturating_sum(item.values[v.metric], v.value);
      };
      for_items_of(v.command, add);
      if (v.shader != kNone) add(profile_.shaders[shader_items_[v.shader]]);
      if (commands_)
        commands_->add(v.command, hash_combine(hash_combine(v.stage, v.metric), v.value));
    });
    return status.ok() ? count_invocations(progress) : status;
  }

  Status count_invocations(const Progress& progress) {
    if (!codes_) codes_ = std::make_unique<ShaderCodes>(model_);
    return visit_block_executions(model_, progress, [this](const BlockExecutions& b) {
      if (b.block != codes_->entry_block(b.shader)) return;
      const auto bit = static_cast<size_t>(std::countr_zero(model_.shaders[b.shader].stage));
      if (bit >= kStages) return;
      const auto add = [&](Item& item) {
        uint64_t& sum = item.values[invocations_[bit]];
        sum = saturating_sum(sum, b.executions);
      };
      for_items_of(b.command, add);
      add(profile_.shaders[shader_items_[b.shader]]);
    });
  }

  Status count_code(const Progress& progress) {
    const Variants variants(model_, *codes_);
    const auto totals = TALLY_TRY(BlockTotals::count(model_, *codes_, variants, progress));
    const std::vector<Metric> metrics(
        profile_.metrics.begin(),
        profile_.metrics.begin() + static_cast<ptrdiff_t>(captured_metrics_));
    const bool can_reconstruct = options_.source != SourceChoice::Spirv;
    ShaderSources sources(
        model_, *codes_,
        {can_reconstruct ? SourceChoice::Debug : SourceChoice::Spirv, options_.folder});
    ShaderSources reconstructed(model_, *codes_, {options_.source, options_.folder});
    for (uint32_t s = 0; s < model_.shaders.size(); ++s) {
      ShaderItem& item = profile_.shaders[shader_items_[s]];
      const bool listed =
          options_.reconstruct_all || options_.reconstructed.contains(item.identity.hash);
      add_code(item, s, *codes_, listed ? reconstructed : sources, variants, totals, metrics);
    }
    return {};
  }

  // Items of which nothing was executed would only be noise.
  // `index`: indices of items.
  template <typename T>
  static void remove_unused(std::vector<T>& items, std::vector<uint32_t>& index) {
    const auto is_unused = [](const T& item) {
      return std::ranges::all_of(item.values, [](uint64_t value) { return value == 0; });
    };
    std::vector<uint32_t> place_of;
    uint32_t kept = 0;
    for (const T& item : items) place_of.push_back(is_unused(item) ? kNone : kept++);
    for (uint32_t& place : index) place = place_of[place];
    std::erase_if(items, is_unused);
  }

  const Model& model_;
  const ProfileOptions options_;
  const CommandNames names_;
  Profile profile_;
  ItemList<Item> pass_list_;
  size_t captured_metrics_ = 0, draws_ = 0, dispatches_ = 0, passes_ = 0;
  std::vector<uint32_t> invocations_;  // metric, by bit of the stage
  CommandGroups groups_;
  std::vector<uint32_t> pass_items_;                     // by group
  std::vector<uint32_t> shader_items_, pipeline_items_;  // by shader, pipeline
  std::unique_ptr<ShaderCodes> codes_;
  std::optional<CommandItems> commands_;  // none: commands have neither items nor digests
};

}  // namespace

Result<Profile> make_profile(const Model& model, const ProfileOptions& options,
                             const Progress& progress) {
  return ProfileBuilder(model, options).run(progress);
}

}  // namespace tally::analysis
