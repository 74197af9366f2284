// Makes the data of a page of one capture, or of two that are compared.
#pragma once

#include "analysis/dataset/dataset.h"
#include "analysis/model/model.h"
#include "analysis/source/shader_source.h"
#include "base/status.h"

namespace tally::analysis {

// `old` may be null.
Result<Dataset> make_dataset(const Model& model, const Model* old, const SourceOptions& sources,
                             const Progress& progress);

}  // namespace tally::analysis
