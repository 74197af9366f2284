// Reads the selected part of a capture into a Model.
#pragma once

#include "analysis/model/model.h"

namespace tally::analysis {

Result<Model> load_model(store::Reader reader, const Selection& selection,
                         Model::Detail detail = Model::Detail::Commands);

}  // namespace tally::analysis
