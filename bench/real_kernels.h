// The real set: shaders as people write them, with functions, loops and early returns, each with
// the input that it is written for.
#pragma once

#include <memory>
#include <vector>

#include "kernels.h"
#include "real_inputs.h"

namespace tally::bench {

// `mesh_shaders`: the device of `context` has them. `inputs` must outlive the kernels.
std::vector<std::unique_ptr<Kernel>> make_real_set(test::Context& context,
                                                   const Capabilities& capabilities,
                                                   const RealInputs& inputs, bool mesh_shaders);

}  // namespace tally::bench
