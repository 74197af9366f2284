#include "analysis/diff/shader_items.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "analysis/cost/line_costs.h"
#include "analysis/diff/function_costs.h"
#include "analysis/model/counts.h"
#include "analysis/model/source_text.h"

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

LineFunctions functions_of_lines(const ShaderCode& code, const FunctionTable& functions) {
  LineFunctions result;
  for (const spirv::Block& block : code.map.blocks()) {
    for (const spirv::LineCost& line : code.map.lines_of(block)) {
      const uint32_t function = functions.function_of(block, line);
      const Place place{line.location.file, line.location.line};
      result.of.emplace(place, function);
      const auto [first, added] = result.first.emplace(function, place);
      if (place.first == first->second.first) first->second = std::min(first->second, place);
    }
  }
  return result;
}

void add_files(ShaderItem& item, const ShaderCode& code) {
  for (const spirv::SourceFile& file : code.map.files())
    item.files.push_back({file.name, lines_of_text(file.text)});
}

void add_functions(ShaderItem& item, const FunctionTable& functions, const LineFunctions& lines) {
  for (uint32_t f = 0; f < functions.names().size(); ++f) {
    FunctionItem function{.name = functions.names()[f]};
    if (const auto first = lines.first.find(f); first != lines.first.end()) {
      if (first->second.first < item.files.size())
        function.file = item.files[first->second.first].name;
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

}  // namespace

void add_code(ShaderItem& item, uint32_t shader, ShaderCodes& codes, const Variants& variants,
              const BlockTotals& totals, const std::vector<Metric>& metrics) {
  const auto& code = codes.of(shader);
  if (!code) return;
  const FunctionTable functions(*code);
  const LineFunctions lines = functions_of_lines(*code, functions);
  if (item.functions.empty()) {
    add_files(item, *code);
    add_functions(item, functions, lines);
  }
  for (uint32_t v = 0; v < variants.size(); ++v) {
    if (variants[v].shader != shader || totals.block_count(v) == 0) continue;
    for (const LineValues& line : line_values(*code, v, totals, metrics)) {
      const Place place{line.location.line == 0 ? 0 : line.location.file, line.location.line};
      add_values(line_at(item, place, lines).values, line.metrics);
    }
    const auto by_function = functions.values(v, totals, metrics);
    for (size_t f = 0; f < by_function.size() && f < item.functions.size(); ++f)
      add_values(item.functions[f].values, by_function[f]);
  }
}

}  // namespace tally::analysis
