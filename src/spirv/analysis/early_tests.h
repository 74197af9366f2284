// Finds fragment shaders that may run after the depth and stencil tests.
//
// Drivers test early if that has no visible effect. They cannot do so once the shader writes to
// memory, as counters do, unless the shader declares EarlyFragmentTests. The pass therefore
// declares it if the image does not depend on it: if the original shader has no side effects, does
// not discard, and has no outputs that the tests read. The answer is conservative: late tests are
// always correct.
#pragma once

#include "spirv/ir/module.h"

namespace tally::spirv {

bool may_test_early(const Module& module, const EntryPoint& entry);

// True if the shader itself declares that all tests, and the counting of samples, come before it.
bool declares_early_tests(const Module& module, const EntryPoint& entry);

}  // namespace tally::spirv
