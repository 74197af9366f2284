// Look-ups of the ids that a sender refers to.
#pragma once

#include <fmt/format.h>

#include "base/status.h"
#include "store/keys.h"

namespace tally::store {

inline Error unknown(const char* what, stream::Id id) {
  return {fmt::format("the capture stream refers to {} {}, which it never defined", what, id)};
}

// Null: the map has no such key.
template <typename Map>
const typename Map::mapped_type* find(const Map& map, const typename Map::key_type& key) {
  const auto found = map.find(key);
  return found == map.end() ? nullptr : &found->second;
}

}  // namespace tally::store
