// Masks the packed draw index (probe/record.h) out of the instance index and base instance that the
// application's vertex shader reads.
#pragma once

#include "base/status.h"
#include "spirv/instrument/tagged_record_pointers.h"

namespace tally::spirv {

// Fails if the shader uses one of them in an unsupported way.
Status hide_packed_draw_index(PassContext& context, const TaggedRecordPointers& pointers);

}  // namespace tally::spirv
