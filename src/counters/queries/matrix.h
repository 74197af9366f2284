// How the rows of a query follow from the counters of an instrumented stage: a matrix of whole
// numbers, in the layout that the GPU reads (probe/query.h).
#pragma once

#include <cstdint>
#include <vector>

#include "counters/queries/source.h"
#include "counters/shader/program.h"

namespace tally::counters {

// matrix[row * counter_count + counter]; empty where the stage adds to no row. `stream`: the one
// that is queried.
std::vector<uint32_t> query_matrix(const StageProgram& stage, const std::vector<QueryRow>& rows,
                                   uint32_t stream);

}  // namespace tally::counters
