#include "analysis/diff/shader_items.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "analysis/cost/function_costs.h"
#include "analysis/cost/line_costs.h"
#include "analysis/model/counts.h"
#include "analysis/model/source_text.h"
#include "base/hash.h"

namespace tally::analysis {
namespace {

using Place = std::pair<uint32_t, uint32_t>;  // file, line; line 0: none

void add_values(std::vector<uint64_t>& sums, const std::vector<uint64_t>& values) {
  sums.resize(std::max(sums.size(), values.size()));
  for (size_t m = 0; m < values.size(); ++m) sums[m] = saturating_sum(sums[m], values[m]);
}

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
  if (item.functions.empty()) {
    add_files(item, *code, source);
    add_functions(item, functions, lines);
  }
  for (uint32_t v = 0; v < variants.size(); ++v) {
    if (variants[v].shader != shader || totals.block_count(v) == 0) continue;
    item.counts += hash_of_counts(v, totals, metrics.size());
    const auto values = wants_lines ? line_values(*code, source.map(), v, totals, metrics)
                                    : std::vector<LineValues>();
    for (const LineValues& line : values) {
      const Place place{line.location.line == 0 ? 0 : line.location.file, line.location.line};
      add_values(line_at(item, place, lines).values, line.metrics);
    }
    const auto by_function = functions.values(v, totals, metrics);
    for (size_t f = 0; f < by_function.size() && f < item.functions.size(); ++f)
      add_values(item.functions[f].values, by_function[f]);
  }
}

}  // namespace tally::analysis
