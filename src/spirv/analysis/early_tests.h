// Whether a fragment shader's depth and stencil tests may come first.
//
// A driver tests early by itself where nobody can tell. Once the shader writes to memory, as
// counters do, it must not, unless the shader says EarlyFragmentTests. So the pass says it for a
// shader whose picture does not depend on it: one without side effects, without outputs that the
// tests read, and that discards nothing. In doubt the answer is no: late tests never change a
// picture.
#pragma once

#include "spirv/ir/module.h"

namespace tally::spirv {

bool may_test_early(const Module& module, const EntryPoint& entry);

}  // namespace tally::spirv
