// Loads the selected part of a capture into a Model.
#pragma once

#include <string>

#include "analysis/model/model.h"

namespace tally::analysis {

Result<Model> load_model(store::Reader reader, const Selection& selection,
                         Model::Detail detail = Model::Detail::Commands);

// The same of a file. Errors begin with its name.
Result<Model> open_model(const std::string& file, const Selection& selection = {},
                         Model::Detail detail = Model::Detail::Commands);

}  // namespace tally::analysis
