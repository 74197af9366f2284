// The table of shaders.
#pragma once

#include "analysis/shader_code.h"
#include "analysis/table_builder.h"
#include "analysis/variants.h"

namespace tally::analysis {

Result<Table> make_shader_table(const Model& model, ShaderCodes& codes, const Variants& variants,
                                const TableOptions& options, const Progress& progress);

}  // namespace tally::analysis
