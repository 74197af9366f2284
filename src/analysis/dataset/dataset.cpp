#include "analysis/dataset/dataset.h"

#include <algorithm>

namespace tally::analysis {

uint32_t DataStrings::add(std::string_view text) {
  const auto [found, added] =
      numbers_.try_emplace(std::string(text), static_cast<uint32_t>(texts_.size()));
  if (added) texts_.push_back(&found->first);
  return found->second;
}

DataColumn& DataTable::add(std::string column, DataColumn::Kind kind) {
  return columns_.emplace_back(std::move(column), DataColumn(kind)).second;
}

const DataColumn* DataTable::find(std::string_view column) const {
  const auto found =
      std::ranges::find_if(columns_, [&](const auto& c) { return c.first == column; });
  return found == columns_.end() ? nullptr : &found->second;
}

const DataTable* DataCapture::find(std::string_view table) const {
  const auto found = std::ranges::find_if(tables, [&](const auto& t) { return t.name() == table; });
  return found == tables.end() ? nullptr : &*found;
}

}  // namespace tally::analysis
