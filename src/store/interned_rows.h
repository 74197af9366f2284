// The ids of the rows that a capture holds once, by what identifies them. (Labels are looked up in
// the capture: a long run has many, and they may be removed.)
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "store/rows.h"

namespace tally::store {

inline auto identity(const MetricRow& row) { return std::pair(row.name, row.description); }
inline auto identity(const ModuleRow& row) { return row.hash; }
inline auto identity(const FunctionRow& row) { return row.name; }
inline auto identity(const RegionCounterRow& row) { return row.name; }

template <typename Row>
concept Interned = requires(const Row& row) {
  identity(row);
};

class InternedRows {
 public:
  // The id of the row that is equal to `row`, or that `insert` returns for it.
  template <Interned Row, typename Insert>
  RowId find_or(const Row& row, Insert insert) {
    auto& ids = std::get<Ids<Row>>(ids_).by_identity;
    auto key = identity(row);
    if (const auto found = ids.find(key); found != ids.end()) return found->second;
    const RowId id = insert();
    ids.emplace(std::move(key), id);
    return id;
  }

 private:
  template <Interned Row>
  struct Ids {
    std::map<decltype(identity(std::declval<const Row&>())), RowId> by_identity;
  };
  std::tuple<Ids<MetricRow>, Ids<ModuleRow>, Ids<FunctionRow>, Ids<RegionCounterRow>> ids_;
};

}  // namespace tally::store
