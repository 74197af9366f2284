#include "analysis/tables/block_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/model/names.h"
#include "analysis/tables/fields.h"
#include "analysis/tables/notes.h"

namespace tally::analysis {
namespace {

struct BlockRef {
  uint32_t variant;
  uint32_t shader;
  uint32_t block;
};

const spirv::Block* block_of(ShaderCodes& codes, const BlockRef& ref) {
  const auto& code = codes.of(ref.shader);
  return code.ok() && ref.block < code->map.blocks().size() ? &code->map.blocks()[ref.block]
                                                            : nullptr;
}

std::vector<BlockRef> executed_blocks(const Variants& variants, const BlockTotals& totals) {
  std::vector<BlockRef> refs;
  for (uint32_t variant = 0; variant < variants.size(); ++variant) {
    for (uint32_t block = 0; block < totals.block_count(variant); ++block)
      refs.push_back({variant, variants[variant].shader, block});
  }
  return refs;
}

std::string function_text(ShaderCodes& codes, const BlockRef& ref) {
  const spirv::Block* block = block_of(codes, ref);
  if (block == nullptr) return {};
  return codes.of(ref.shader)->map.functions()[block->function].name;
}

// Null if the block has no line.
const spirv::SourceLocation* location_of(ShaderCodes& codes, ShaderSources& sources,
                                         const BlockRef& ref) {
  if (block_of(codes, ref) == nullptr || !sources.of(ref.shader).has_lines()) return nullptr;
  const auto& location = sources.of(ref.shader).map().blocks()[ref.block].location;
  return location ? &*location : nullptr;
}

std::string location_text(ShaderCodes& codes, ShaderSources& sources, const BlockRef& ref) {
  const spirv::SourceLocation* location = location_of(codes, sources, ref);
  if (location == nullptr) return {};
  return fmt::format("{}:{}", sources.of(ref.shader).file_title(location->file), location->line);
}

std::string source_text(ShaderCodes& codes, ShaderSources& sources, const BlockRef& ref) {
  const spirv::SourceLocation* location = location_of(codes, sources, ref);
  if (location == nullptr) return {};
  const std::string& text = sources.of(ref.shader).text(*location);
  return text.substr(std::min(text.find_first_not_of(" \t"), text.size()));
}

std::vector<Field> block_fields(const Model& model, ShaderCodes& codes, ShaderSources& sources,
                                const Variants& variants, const std::vector<BlockRef>& refs) {
  const auto text = [&](const char* id, const char* title, const char* description, auto make) {
    return key_field(id, title, description,
                     [&refs, make](size_t r) -> Cell { return make(refs[r]); });
  };
  std::vector<Field> fields;
  fields.push_back(text("shader", "shader", "name of the shader, or the start of its hash",
                        [&model](const BlockRef& ref) { return model.shader_names[ref.shader]; }));
  fields.push_back(text("stage", "stage", "stage of the pipeline", [&model](const BlockRef& ref) {
    return stage_name(model.shaders[ref.shader].stage);
  }));
  fields.push_back(
      text("pipeline", "pipeline",
           "pipeline that specializes the shader, if there are several specializations",
           [&](const BlockRef& ref) { return variant_text(model, variants[ref.variant]); }));
  fields.push_back(text("hash", "hash", "hash of the SPIR-V module", [&model](const BlockRef& ref) {
                     return shader_hash(model, ref.shader);
                   }).hidden());
  fields.push_back(key_field(
      "block", "block", "public number of the block in its entry point, from 0",
      [&refs](size_t r) -> Cell { return uint64_t{refs[r].block}; }, Unit::Count));
  fields.push_back(text("function", "function", "function that contains the block",
                        [&codes](const BlockRef& ref) { return function_text(codes, ref); }));
  fields.push_back(
      text("location", "location", "first source line of the block",
           [&codes, &sources](const BlockRef& ref) { return location_text(codes, sources, ref); }));
  return fields;
}

}  // namespace

Result<Table> make_block_table(const Model& model, ShaderCodes& codes, ShaderSources& sources,
                               const Variants& variants, const BlockTotals& totals,
                               const TableOptions& options) {
  const std::vector<Metric> metrics = describe_metrics(model);
  const std::vector<BlockRef> refs = executed_blocks(variants, totals);
  const std::vector<Field> keys = block_fields(model, codes, sources, variants, refs);
  Table table;
  table.id = "block";
  table.title = "Basic blocks";
  add_columns(table, keys);
  table.columns.push_back({.id = "executions",
                           .title = "executions",
                           .unit = Unit::Count,
                           .description = "times the block was executed, without helpers",
                           .zero = kNeverExecuted});
  for (const Metric& metric : metrics) {
    if (metric.id == "executions") continue;
    add_metric_columns(table, {metric});
  }
  table.columns.push_back({.id = "text",
                           .title = "source",
                           .role = ColumnRole::Text,
                           .description = "text of the first source line of the block"});
  for (size_t r = 0; r < refs.size(); ++r) {
    Row row = make_row(keys, r);
    row.push_back(totals.executions(refs[r].variant, refs[r].block));
    for (size_t m = 0; m < metrics.size(); ++m) {
      if (metrics[m].id != "executions")
        row.push_back(totals.value(refs[r].variant, refs[r].block, m));
    }
    row.push_back(source_text(codes, sources, refs[r]));
    table.rows.push_back(std::move(row));
  }
  if (Status finished = finish_table(table, metrics, options); !finished.ok())
    return finished.error();
  if (!options.header_above) add_notes(model, table);
  for (std::string& note : sources.notes()) table.notes.push_back(std::move(note));
  return table;
}

}  // namespace tally::analysis
