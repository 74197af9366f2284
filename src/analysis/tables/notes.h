// The notes that every table needs: what was not counted, and what is missing.
#pragma once

#include "analysis/model/model.h"
#include "analysis/tables/table.h"

namespace tally::analysis {

void add_notes(const Model& model, Table& table);

// The compiler options that keep source lines in SPIR-V.
std::string debug_information_hint();

}  // namespace tally::analysis
