// The matrix that maps the counters of an instrumented stage to the rows of a query, with integer
// elements, in the layout that the GPU reads (probe/query.h).
#pragma once

#include <cstdint>
#include <vector>

#include "counters/shader/program.h"
#include "counters/shader/query_source.h"

namespace tally::counters {

// matrix[row * counter_count + counter]; empty if the stage adds to no row. `stream`: the queried
// vertex stream.
std::vector<uint32_t> query_matrix(const StageProgram& stage, const std::vector<QueryRow>& rows,
                                   uint32_t stream);

}  // namespace tally::counters
