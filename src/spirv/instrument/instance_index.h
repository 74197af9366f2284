// What the application's vertex shader reads as its instance index and base instance where their
// high halves hold the number of a draw (probe/record.h): the low halves.
#pragma once

#include "base/status.h"
#include "spirv/instrument/tagged_record_pointers.h"

namespace tally::spirv {

// Fails, saying why, if the shader uses one of them in a way that cannot be followed.
Status hide_packed_draw_index(PassContext& context, const TaggedRecordPointers& words);

}  // namespace tally::spirv
