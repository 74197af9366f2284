#include "analysis/tables/tables.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "analysis/cost/shader_loops.h"
#include "analysis/model/counts.h"
#include "analysis/model/disassembly.h"
#include "analysis/model/names.h"
#include "catalogue/catalogue.h"
#include "spirv/analysis/block_map.h"
#include "spirv/analysis/memory_access.h"

namespace tally::analysis {
namespace {

using spirv::SiteSlot;

using spirv::SiteKind;

constexpr size_t kSlots = static_cast<size_t>(spirv::kLastSiteSlot) + 1;
using SlotValues = std::array<uint64_t, kSlots>;

uint64_t slot_value(const SlotValues& values, SiteSlot slot) {
  return values[static_cast<size_t>(slot)];
}

void add_slot(SlotValues& values, SiteSlot slot, uint64_t value) {
  uint64_t& total = values[static_cast<size_t>(slot)];
  total = spirv::is_maximum(slot) ? std::max(total, value) : saturating_sum(total, value);
}

// The values of a site, or of all sites of a line, of a shader variant.
struct SiteRow {
  uint32_t variant;
  std::string location;
  std::string file;
  std::string text;
  std::string resource, access;  // of memory
  SlotValues values{};
  uint64_t executions = 0;  // of the block of a site that was executed most
};

std::string without_indent(const std::string& text) {
  return text.substr(std::min(text.find_first_not_of(" \t"), text.size()));
}

SiteRow row_at_line(uint32_t variant, const ShaderSource& source,
                    const spirv::SourceLocation& location) {
  return {.variant = variant,
          .location = fmt::format("{}:{}", source.file_title(location.file), location.line),
          .file = location.file < source.files().size() ? source.files()[location.file].name : "",
          .text = without_indent(source.text(location))};
}

class SiteRows {
 public:
  SiteRows(const Model& model, ShaderCodes& codes, ShaderSources& sources, const Variants& variants,
           const BlockTotals* totals, SiteKind kind)
      : model_(model),
        codes_(codes),
        sources_(sources),
        variants_(variants),
        totals_(totals),
        kind_(kind) {}

  // The rows in the order of the code.
  Result<std::vector<SiteRow>> find(const Progress& progress) {
    std::map<uint32_t, std::map<uint32_t, SlotValues>> sites;  // by variant and site
    const Status status = visit_site_values(model_, progress, [&](const SiteValue& v) {
      if (spirv::kind_of(v.slot) != kind_) return;
      const uint32_t variant = variants_.of(model_.commands[v.command].pipeline, v.shader);
      add_slot(sites[variant][spirv::word_offset_of(v.site)], v.slot, v.value);
    });
    TALLY_TRY(status);
    for (const auto& [variant, of_variant] : sites) add_variant(variant, of_variant);
    return std::move(rows_);
  }
  // Say what is missing from the rows.
  std::vector<std::string> notes() const { return {notes_.begin(), notes_.end()}; }

 private:
  // The limit of values is known to the layer alone, which logs a shader that exceeds it.
  void note_limit(const ShaderCode& code, uint32_t shader) {
    const spirv::Module& module = code.module;
    size_t loops = 0;
    for (const spirv::MappedFunction& mapped : code.map.functions()) {
      const uint32_t index = module.function_index(mapped.id);
      if (index == kNone || !mapped.is_countable) continue;
      const spirv::Function& function = module.functions()[index];
      for (uint32_t i = function.begin; i < function.end; ++i)
        loops += module.instruction(i).opcode() == spv::Op::OpLoopMerge;
    }
    if (loops <= spirv::kMaxCountedLoops) return;
    notes_.insert(fmt::format("{1} has {0} loops, of which at most {2} are counted.", loops,
                              model_.shader_names[shader], spirv::kMaxCountedLoops));
  }

  void add_variant(uint32_t variant, const std::map<uint32_t, SlotValues>& sites) {
    const uint32_t shader = variants_[variant].shader;
    const auto& code = codes_.of(shader);
    if (!code.ok()) return;
    if (kind_ == SiteKind::Loop) note_limit(*code, shader);
    std::vector<uint32_t> offsets;
    for (const auto& [offset, values] : sites) offsets.push_back(offset);
    const ShaderSource& source = sources_.of(shader);
    const bool has_lines =
        source.origin() == SourceOrigin::Debug || source.origin() == SourceOrigin::File;
    std::vector<std::string> instructions;
    const spirv::MemoryAccesses accesses(code->module);
    std::map<std::tuple<uint32_t, uint32_t, std::string, std::string>, size_t> row_of_line;
    for (const spirv::SitePlace& place : site_places(code->module, code->map, offsets)) {
      const bool known = has_lines && place.location;
      std::string resource, kind;
      if (kind_ == SiteKind::Memory) {
        const auto access = accesses.find(code->module.instruction(place.instruction));
        if (!access) continue;
        resource = resource_text(code->module, *access);
        kind = access_text(access->kind);
      }
      size_t row = rows_.size();
      if (known && kind_ != SiteKind::Loop) {
        row = row_of_line
                  .try_emplace({place.location->file, place.location->line, resource, kind}, row)
                  .first->second;
      }
      if (row == rows_.size()) {
        if (!known && instructions.empty()) instructions = disassemble(code->module);
        rows_.push_back(known ? row_at_line(variant, source, *place.location)
                              : row_of(variant, place.instruction, instructions));
        rows_.back().resource = std::move(resource);
        rows_.back().access = std::move(kind);
      }
      const SlotValues& values = sites.at(place.word_offset);
      for (size_t slot = 0; slot < kSlots; ++slot) {
        add_slot(rows_[row].values, static_cast<SiteSlot>(slot), values[slot]);
      }
      if (totals_ == nullptr) continue;
      rows_[row].executions =
          std::max(rows_[row].executions, totals_->executions(variant, place.block));
    }
  }

  SiteRow row_of(uint32_t variant, uint32_t instruction,
                 const std::vector<std::string>& texts) const {
    return {.variant = variant,
            .location = fmt::format("{}:asm:{}", model_.shader_names[variants_[variant].shader],
                                    instruction + 1),
            .file = {},
            .text = instruction < texts.size() ? without_indent(texts[instruction]) : ""};
  }

  const Model& model_;
  ShaderCodes& codes_;
  ShaderSources& sources_;
  const Variants& variants_;
  const BlockTotals* totals_;  // null: executions are not wanted
  const SiteKind kind_;
  std::vector<SiteRow> rows_;
  std::set<std::string> notes_;
};

std::vector<Field> site_key_fields(const Model& model, const Variants& variants,
                                   const std::vector<SiteRow>& rows) {
  const auto shader = [&](size_t r) { return variants[rows[r].variant].shader; };
  std::vector<Field> fields;
  fields.push_back(key_field("location", "location",
                             "file and line, or shader and line of its disassembly",
                             [&](size_t r) -> Cell { return rows[r].location; }));
  fields.push_back(key_field("file", "file", "name of the file, as recorded in the shader",
                             [&](size_t r) -> Cell { return rows[r].file; })
                       .hidden());
  fields.push_back(
      key_field("shader", "shader", "name of the shader, or the start of its hash",
                [&, shader](size_t r) -> Cell { return model.shader_names[shader(r)]; })
          .hidden());
  fields.push_back(
      key_field("stage", "stage", "stage of the pipeline", [&, shader](size_t r) -> Cell {
        return stage_name(model.shaders[shader(r)].stage);
      }).hidden());
  fields.push_back(
      key_field("hash", "hash", "hash of the SPIR-V module", [&, shader](size_t r) -> Cell {
        return shader_hash(model, shader(r));
      }).hidden());
  fields.push_back(
      key_field("pipeline", "pipeline",
                "pipeline that specializes the shader, if there are several specializations",
                [&](size_t r) -> Cell { return variant_text(model, variants[rows[r].variant]); }));
  return fields;
}

// The column of a slot, from the catalogue.
Field slot_field(SiteSlot slot, std::string title, const std::vector<SiteRow>& rows) {
  const catalogue::Counter& counter =
      *catalogue::counters_of(catalogue::Scope::Site)[static_cast<size_t>(slot)];
  Field field =
      value_field(std::string(counter.id), std::move(title), std::string(counter.description),
                  [&rows, slot](size_t r) -> Cell { return slot_value(rows[r].values, slot); });
  field.column.shown = std::ranges::any_of(
      rows, [&](const SiteRow& row) { return slot_value(row.values, slot) != 0; });
  field.column.adds_up = !spirv::is_maximum(slot);
  return field;
}

Field text_field(const char* description, const std::vector<SiteRow>& rows) {
  Field field =
      key_field("text", "text", description, [&rows](size_t r) -> Cell { return rows[r].text; });
  field.column.role = ColumnRole::Text;
  return field;
}

Result<Table> finish_site_table(Table table, const std::vector<Field>& fields, size_t rows,
                                const Model& model, ShaderSources& sources,
                                const char* default_sort, const TableOptions& options) {
  add_columns(table, fields);
  for (size_t r = 0; r < rows; ++r) table.rows.push_back(make_row(fields, r));
  table.total_rows = rows;
  TableOptions sorted = options;
  if (sorted.sort.empty()) sorted.sort = default_sort;
  TALLY_TRY(finish_table(table, {}, sorted));
  add_notes(model, table);
  for (std::string& note : sources.notes()) table.notes.push_back(std::move(note));
  return table;
}

uint64_t runs_of(const SiteRow& row) {
  uint64_t runs = 0;
  for (uint32_t bucket = 0; bucket < spirv::kRunBuckets; ++bucket) {
    runs = saturating_sum(runs, row.values[static_cast<size_t>(SiteSlot::Runs) + bucket]);
  }
  return runs;
}

std::string bucket_title(uint32_t bucket) {
  const uint32_t first = spirv::shortest_run(bucket);
  if (bucket + 1 == spirv::kRunBuckets) return fmt::format("{}+", first);
  const uint32_t last = spirv::shortest_run(bucket + 1) - 1;
  return first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last);
}

}  // namespace

Result<Table> make_loop_table(const Model& model, ShaderCodes& codes, ShaderSources& sources,
                              const Variants& variants, const TableOptions& options,
                              const Progress& progress) {
  SiteRows finder(model, codes, sources, variants, nullptr, SiteKind::Loop);
  const std::vector<SiteRow> rows = TALLY_TRY(finder.find(progress));
  std::vector<Field> fields = site_key_fields(model, variants, rows);
  fields.push_back(value_field("runs", "runs", "runs of the loop by an invocation",
                               [&](size_t r) -> Cell { return runs_of(rows[r]); }));
  fields.push_back(slot_field(SiteSlot::Iterations, "iterations", rows));
  fields.back().column.shown = true;
  fields.push_back(
      value_field("mean_run", "mean", "iterations of a run, on average", [&](size_t r) -> Cell {
        const uint64_t runs = runs_of(rows[r]);
        if (runs == 0) return Cell();
        return static_cast<double>(slot_value(rows[r].values, SiteSlot::Iterations)) /
               static_cast<double>(runs);
      }));
  fields.back().column.adds_up = false;
  fields.push_back(slot_field(SiteSlot::LongestRun, "longest", rows));
  fields.back().column.shown = true;
  for (uint32_t bucket = 0; bucket < spirv::kRunBuckets; ++bucket) {
    const auto slot = static_cast<SiteSlot>(static_cast<uint32_t>(SiteSlot::Runs) + bucket);
    fields.push_back(slot_field(slot, bucket_title(bucket), rows));
  }
  fields.push_back(text_field("text of the loop's line", rows));
  Table table;
  table.id = "loop";
  table.title = "Loops, by the lengths of their runs";
  table.notes = finder.notes();
  return finish_site_table(std::move(table), fields, rows.size(), model, sources, "loop_iterations",
                           options);
}

Result<Table> make_value_table(const Model& model, ShaderCodes& codes, ShaderSources& sources,
                               const Variants& variants, const BlockTotals& totals,
                               const TableOptions& options, const Progress& progress) {
  const std::vector<SiteRow> rows =
      TALLY_TRY(SiteRows(model, codes, sources, variants, &totals, SiteKind::Value).find(progress));
  std::vector<Field> fields = site_key_fields(model, variants, rows);
  fields.push_back(value_field("executions", "executions", "times the line was executed",
                               [&](size_t r) -> Cell { return rows[r].executions; }));
  constexpr std::pair<SiteSlot, const char*> kTitles[] = {{SiteSlot::Nan, "NaN"},
                                                          {SiteSlot::Infinite, "infinite"},
                                                          {SiteSlot::Denormal, "denormal"},
                                                          {SiteSlot::ZeroDivision, "by zero"},
                                                          {SiteSlot::Negative, "of negative"},
                                                          {SiteSlot::OutOfRange, "out of range"}};
  for (const auto& [slot, title] : kTitles) fields.push_back(slot_field(slot, title, rows));
  fields.push_back(text_field("text of the line", rows));
  Table table;
  table.id = "value";
  table.title = "Unwanted values";
  return finish_site_table(std::move(table), fields, rows.size(), model, sources, "", options);
}

namespace {

// A function or a loop of a shader variant, and what was timed in it.
struct ClockRow {
  SiteRow site;
  std::string function = {};
  bool is_loop = false;
  uint64_t cycles = 0, timed_runs = 0;
  uint64_t inside = 0;  // cycles of the functions and loops directly in it
  std::optional<ShaderParts::Cost> cost = {};

  uint64_t self() const { return cycles < inside ? 0 : cycles - inside; }
  // Both of all runs, as if the timed ones were like the others.
  Cell cycles_per_cost() const {
    if (timed_runs == 0 || !cost || cost->self == 0 || !cost->runs) return {};
    return static_cast<double>(self()) / static_cast<double>(timed_runs) *
           static_cast<double>(*cost->runs) / static_cast<double>(cost->self);
  }
};

class ClockRows {
 public:
  ClockRows(const Model& model, ShaderCodes& codes, ShaderSources& sources,
            const Variants& variants, const BlockTotals& totals)
      : model_(model),
        codes_(codes),
        sources_(sources),
        variants_(variants),
        totals_(totals),
        metric_(find_metric(describe_metrics(model), "cost")) {}

  Result<std::vector<ClockRow>> find(const Progress& progress) {
    std::map<uint32_t, Sites> sites;  // by variant
    const Status status = visit_site_values(model_, progress, [&](const SiteValue& v) {
      if (spirv::kind_of(v.slot) != SiteKind::Clock) return;
      const uint32_t variant = variants_.of(model_.commands[v.command].pipeline, v.shader);
      Timed& site = sites[variant][spirv::word_offset_of(v.site)];
      if (v.slot == SiteSlot::Cycles) site.cycles = saturating_sum(site.cycles, v.value);
      if (v.slot == SiteSlot::TimedRuns) site.runs = saturating_sum(site.runs, v.value);
      if (v.slot == SiteSlot::TimedInvocations) timed_ = saturating_sum(timed_, v.value);
    });
    TALLY_TRY(status);
    for (const auto& [variant, of_variant] : sites) {
      const auto& code = codes_.of(variants_[variant].shader);
      if (!code.ok() || code->entry_block == kNone) continue;
      add_variant(variant, *code, of_variant);
      invocations_ = saturating_sum(invocations_, totals_.executions(variant, code->entry_block));
    }
    return std::move(rows_);
  }

  std::vector<std::string> notes() const {
    std::vector<std::string> notes = {fmt::format(
        "{} of {} invocations were timed. A run is one execution by one invocation; cycles are "
        "ticks of the subgroup's clock, waiting included.",
        timed_, invocations_)};
    for (const auto& [shader, functions] : divided_)
      notes.push_back(
          fmt::format("{}: self cost shares {} among {} callers by the number of calls.", shader,
                      fmt::join(functions, ", "), functions.size() == 1 ? "its" : "their"));
    return notes;
  }

 private:
  struct Timed {
    uint64_t cycles = 0, runs = 0;
  };
  using Sites = std::map<uint32_t, Timed>;  // by word offset

  void add_variant(uint32_t variant, const ShaderCode& code, const Sites& sites) {
    std::vector<uint32_t> offsets;
    for (const auto& [offset, timed] : sites) offsets.push_back(offset);
    const auto places = site_places(code.module, code.map, offsets);
    const size_t first = rows_.size();
    std::vector<ShaderPart> parts;  // of the rows from the first on
    std::map<uint32_t, size_t> row_of_block;
    const auto add = [&](const ShaderPart& part, const Timed& timed) {
      const auto [row, is_new] =
          row_of_block.try_emplace(part.block * 2 + part.is_loop, rows_.size());
      if (is_new) {
        parts.push_back(part);
        rows_.push_back(row_at(variant, code, part.block));
        rows_.back().is_loop = part.is_loop;
      }
      ClockRow& of = rows_[row->second];
      of.cycles = saturating_sum(of.cycles, timed.cycles);
      of.timed_runs = saturating_sum(of.timed_runs, timed.runs);
    };
    const auto function = [&](uint32_t f) {
      return ShaderPart{code.map.functions()[f].first_block, false};
    };
    for (const spirv::SitePlace& place : places) {
      const spirv::Instruction instruction = code.module.instruction(place.instruction);
      const Timed& timed = sites.at(place.word_offset);
      if (instruction.opcode() != spv::Op::OpFunctionCall) {
        add({place.block, true}, timed);
        continue;
      }
      const auto callee = std::ranges::find(code.map.functions(), instruction.operand(0),
                                            &spirv::MappedFunction::id);
      if (callee != code.map.functions().end())
        add(function(static_cast<uint32_t>(callee - code.map.functions().begin())), timed);
    }
    for (const auto& [offset, timed] : sites) {
      // The whole shader: the beginning of a function is in no block.
      if (!std::ranges::binary_search(places, offset, {}, &spirv::SitePlace::word_offset))
        add(function(code.map.blocks()[code.entry_block].function), timed);
    }
    const ShaderParts of_shader(code, parts);
    // The cycles of a loop or a call are not those of the part around it.
    for (const spirv::SitePlace& place : places) {
      const auto loop = row_of_block.find(place.block * 2 + 1);
      const bool is_loop =
          code.module.instruction(place.instruction).opcode() != spv::Op::OpFunctionCall;
      const uint32_t around = is_loop
                                  ? of_shader.outside(static_cast<uint32_t>(loop->second - first))
                                  : of_shader.around(place.block);
      if (around == kNone) continue;
      uint64_t& inside = rows_[first + around].inside;
      inside = saturating_sum(inside, sites.at(place.word_offset).cycles);
    }
    if (!metric_) return;
    const auto costs = of_shader.costs(variant, totals_, *metric_);
    for (size_t p = 0; p < costs.size(); ++p) rows_[first + p].cost = costs[p];
    for (std::string& name : of_shader.divided(variant, totals_))
      divided_[model_.shader_names[variants_[variant].shader]].insert(std::move(name));
  }

  ClockRow row_at(uint32_t variant, const ShaderCode& code, uint32_t block) {
    const uint32_t shader = variants_[variant].shader;
    const ShaderSource& source = sources_.of(shader);
    const auto& location = source.map().blocks()[block].location;
    return {.site = source.has_lines() && location
                        ? row_at_line(variant, source, *location)
                        : SiteRow{.variant = variant,
                                  .location = fmt::format("{}, block {}",
                                                          model_.shader_names[shader], block),
                                  .file = {},
                                  .text = {}},
            .function = code.map.functions()[code.map.blocks()[block].function].name};
  }

  const Model& model_;
  ShaderCodes& codes_;
  ShaderSources& sources_;
  const Variants& variants_;
  const BlockTotals& totals_;
  const std::optional<size_t> metric_;  // the cost; a driver's own counters have none
  std::vector<ClockRow> rows_;
  uint64_t timed_ = 0, invocations_ = 0;
  std::map<std::string, std::set<std::string>> divided_;  // functions, by shader
};

}  // namespace

Result<Table> make_clock_table(const Model& model, ShaderCodes& codes, ShaderSources& sources,
                               const Variants& variants, const BlockTotals& totals,
                               const TableOptions& options, const Progress& progress) {
  ClockRows finder(model, codes, sources, variants, totals);
  const std::vector<ClockRow> rows = TALLY_TRY(finder.find(progress));
  std::vector<SiteRow> sites;
  for (const ClockRow& row : rows) sites.push_back(row.site);
  std::vector<Field> fields = site_key_fields(model, variants, sites);
  fields.push_back(key_field("function", "function", "function, or the one that has the loop",
                             [&](size_t r) -> Cell { return rows[r].function; }));
  fields.push_back(key_field("part", "part", "function or loop", [&](size_t r) -> Cell {
    return rows[r].is_loop ? "loop" : "function";
  }));
  const auto value = [&](const char* id, const char* title, const char* description, bool adds_up,
                         auto read) {
    fields.push_back(value_field(id, title, description,
                                 [&rows, read](size_t r) -> Cell { return read(rows[r]); }));
    fields.back().column.adds_up = adds_up;
  };
  value("self_cycles", "self cycles",
        "cycles without the loops and calls in it that are timed, too", true,
        [](const ClockRow& row) -> Cell { return row.self(); });
  const auto cost = [&](const char* id, const char* title, const char* description, bool is_shown,
                        auto read) {
    value(id, title, description, is_shown,
          [read](const ClockRow& row) -> Cell { return row.cost ? read(*row.cost) : Cell(); });
    fields.back().column.shown = is_shown;
  };
  using Cost = ShaderParts::Cost;
  cost("self_cost", "self cost", "cost of all invocations, of what self cycles are of", true,
       [](const Cost& of) -> Cell { return of.self; });
  cost("total_cost", "total cost", "cost of all invocations, with everything in it", false,
       [](const Cost& of) -> Cell { return of.all; });
  cost("runs", "runs", "runs of it by all invocations", false,
       [](const Cost& of) -> Cell { return of.runs ? Cell(*of.runs) : Cell(); });
  value("cycles_per_cost", "cycles/cost",
        "self cycles of a run, on average, divided by the self cost of a run", false,
        [](const ClockRow& row) -> Cell { return row.cycles_per_cost(); });
  value("cycles", "cycles", "cycles with everything in it", false,
        [](const ClockRow& row) -> Cell { return row.cycles; });
  value("timed_runs", "timed runs", "runs of it by timed invocations", false,
        [](const ClockRow& row) -> Cell { return row.timed_runs; });
  value("cycles_per_run", "cycles/run", "cycles of a run, on average", false,
        [](const ClockRow& row) -> Cell {
          if (row.timed_runs == 0) return {};
          return static_cast<double>(row.cycles) / static_cast<double>(row.timed_runs);
        });
  fields.push_back(text_field("text of its first line", sites));
  Table table;
  table.id = "clock";
  table.title = "Cycles of functions and loops";
  if (!rows.empty()) table.notes = finder.notes();
  return finish_site_table(std::move(table), fields, rows.size(), model, sources, "self_cycles",
                           options);
}

Result<Table> make_memory_table(const Model& model, ShaderCodes& codes, ShaderSources& sources,
                                const Variants& variants, const BlockTotals& totals,
                                const TableOptions& options, const Progress& progress) {
  const std::vector<SiteRow> rows = TALLY_TRY(
      SiteRows(model, codes, sources, variants, &totals, SiteKind::Memory).find(progress));
  const auto number = [&](size_t r, SiteSlot slot) { return slot_value(rows[r].values, slot); };
  std::vector<Field> fields = site_key_fields(model, variants, rows);
  fields.push_back(
      key_field("resource", "resource",
                "set, binding and name of a buffer or an image, workgroup variable, or address",
                [&](size_t r) -> Cell { return rows[r].resource; }));
  fields.push_back(key_field("access", "access", "load, store or atomic",
                             [&](size_t r) -> Cell { return rows[r].access; }));
  fields.push_back(value_field("executions", "executions", "times the line was executed",
                               [&](size_t r) -> Cell { return rows[r].executions; }));
  fields.push_back(slot_field(SiteSlot::Subgroups, "subgroups", rows));
  fields.push_back(slot_field(SiteSlot::RequestedBytes, "bytes", rows));
  fields.back().column.shown = true;
  fields.push_back(
      value_field("sector_bytes", "sector bytes", "bytes of the sectors that subgroups touched",
                  [&](size_t r) -> Cell {
                    return saturating_product(number(r, SiteSlot::Sectors), spirv::kSectorBytes);
                  }));
  fields.back().column.shown = std::ranges::any_of(
      rows, [](const SiteRow& row) { return slot_value(row.values, SiteSlot::Sectors) != 0; });
  fields.push_back(value_field("coalescing", "coalescing",
                               "requested bytes divided by those of the sectors touched",
                               [&](size_t r) -> Cell {
                                 const uint64_t sectors = number(r, SiteSlot::Sectors);
                                 if (sectors == 0) return Cell();
                                 return static_cast<double>(number(r, SiteSlot::RequestedBytes)) /
                                        (static_cast<double>(sectors) * spirv::kSectorBytes);
                               }));
  fields.back().column.adds_up = false;
  fields.push_back(slot_field(SiteSlot::Sectors, "sectors", rows));
  fields.back().column.shown = false;
  fields.push_back(slot_field(SiteSlot::Lines, "lines", rows));
  fields.push_back(slot_field(SiteSlot::Texels, "texels", rows));
  fields.push_back(slot_field(SiteSlot::ExtraPasses, "extra passes", rows));
  fields.push_back(slot_field(SiteSlot::MissedAccesses, "missed", rows));
  fields.push_back(text_field("text of the line", rows));
  Table table;
  table.id = "memory";
  table.title = "Accesses to memory";
  return finish_site_table(std::move(table), fields, rows.size(), model, sources, "requested_bytes",
                           options);
}

}  // namespace tally::analysis
