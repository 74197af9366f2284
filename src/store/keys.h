// The keys of rows. A row struct whose row a process sends is a template on its key: RowId in the
// file, and in the stream the Id that the sender gave.
#pragma once

#include <cstdint>
#include <optional>
#include <type_traits>

namespace tally::store {

using RowId = int64_t;  // 0: not in the file yet
namespace stream {
using Id = uint64_t;
}

// A reference that may be absent: in the stream the absent one is 0.
template <typename Key>
using OptionalKey = std::conditional_t<std::is_same_v<Key, RowId>, std::optional<RowId>, Key>;

}  // namespace tally::store
