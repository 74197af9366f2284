// Finds fragment shaders that may run after the depth and stencil tests.
//
// Drivers test early if that has no visible effect. They cannot do so once the shader writes to
// memory, as counters do, unless the shader declares EarlyFragmentTests. The pass therefore
// declares it if the image does not depend on it: if the original shader has no side effects, does
// not discard, and has no outputs that the tests read. The answer is conservative: late tests are
// always correct.
#pragma once

#include "spirv/analysis/analyzed_module.h"
#include "spirv/ir/module.h"

namespace tally::spirv {

// Effects of an instruction that other invocations, or the host, can see.

// True if it may write to memory that is not private to the invocation, or lock it. Discards and
// barriers are none. The answer is conservative: true for instructions that are not known.
bool has_side_effect(const Module& module, const Instruction& instruction);

// False if a driver may drop the code of the entry point: it has no side effects, and stores
// nothing in its outputs but values that are undefined. Takes a value that was loaded from a
// variable for defined if anything is stored in the variable.
bool has_effect(const Module& module, const EntryPoint& entry);

// Finds fragment shaders that may discard (kill, terminate, demote) invocations inside a loop.

bool is_discard(spv::Op opcode);

// Looks at the loops of all functions that the entry point calls, and at the functions called in
// these loops. False if a control-flow graph cannot be built; the pass refuses such modules.
bool discards_in_loop(const AnalyzedModule& analyzed, const EntryPoint& entry);

// In a fixed module, code that its constants exclude has no side effects and does not discard.
bool may_test_early(const AnalyzedModule& analyzed, const EntryPoint& entry);

// True if the shader itself declares that all tests, and the counting of samples, come before it.
bool declares_early_tests(const Module& module, const EntryPoint& entry);

}  // namespace tally::spirv
