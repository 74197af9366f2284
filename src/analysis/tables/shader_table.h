#pragma once

#include "analysis/model/shader_code.h"
#include "analysis/model/variants.h"
#include "analysis/tables/table_builder.h"

namespace tally::analysis {

Result<Table> make_shader_table(const Model& model, ShaderCodes& codes, const Variants& variants,
                                const TableOptions& options, const Progress& progress);

}  // namespace tally::analysis
