#include "store/document.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "store/schema.h"

namespace tally::store {
namespace {

constexpr std::pair<Section, std::string_view> kSections[] = {
    {Section::Definitions, "<!-- tables: definitions -->\n"},
    {Section::Events, "<!-- tables: events -->\n"},
    {Section::Values, "<!-- tables: values -->\n"},
    {Section::Regions, "<!-- tables: regions -->\n"},
};
constexpr std::string_view kEnd = "<!-- end of tables -->\n";

// "ending TEXT: `closed` ..."
std::string describe(const ColumnText& column) {
  std::vector<std::string> notes;
  if (column.target && std::string_view(column.target) != column.name) {
    notes.push_back(fmt::format("-> {}", column.target));
  }
  if (!column.enumerators.empty()) {
    notes.push_back(fmt::format("{}", fmt::join(column.enumerators, " \\| ")));
  }
  if (*column.meaning) notes.emplace_back(column.meaning);
  return notes.empty() ? fmt::format("`{}`", column.name)
                       : fmt::format("`{}` ({})", column.name, fmt::join(notes, "; "));
}

std::string tables_of(Section section) {
  std::string text = "| table | a row is | columns |\n| --- | --- | --- |\n";
  for (const TableText& table : schema_tables()) {
    if (table.section != section) continue;
    std::vector<std::string> columns;
    for (const ColumnText& column : table.columns) {
      if (!column.is_id) columns.push_back(describe(column));
    }
    text +=
        fmt::format("| `{}` | {} | {} |\n", table.name, table.meaning, fmt::join(columns, "; "));
  }
  return text;
}

}  // namespace

std::string document_tables(std::string_view page) {
  std::string text(page);
  for (const auto& [section, marker] : kSections) {
    const size_t found = text.find(marker);
    if (found == text.npos) continue;
    const size_t begin = found + marker.size();
    const size_t end = text.find(kEnd, begin);
    if (end != text.npos) text.replace(begin, end - begin, tables_of(section));
  }
  return text;
}

}  // namespace tally::store
