// Explains why a result is empty, in one sentence for the user.
#pragma once

#include <optional>
#include <string>

#include "analysis/tables/analyzer.h"
#include "analysis/tables/summary.h"

namespace tally::analysis {

// Why the selected part of a capture has no draws, dispatches or GL frames; empty if it has some.
std::string why_empty(const Summary& summary);
std::string why_selection_is_empty(const Model& model);

// Why no pass, or no pass with this number in its frame, has counts by region.
std::string why_no_regions(const Model& model, std::optional<uint32_t> pass);

// Why the table has no rows.
std::string why_no_rows(const Model& model, By by, const TableOptions& options);

}  // namespace tally::analysis
