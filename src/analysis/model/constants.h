// The specialization constants of shaders, as users read them: "RADIUS=3, 7=true". A constant goes
// by its debug name, else by its SpecId. Those that have the module's default value are left out,
// whether the application gave it or not.
#pragma once

#include <string>
#include <vector>

#include "analysis/model/model.h"

namespace tally::analysis {

struct ShaderConstants {
  // Indexed by shader: all of them. The text depends on the module and the constants alone.
  std::vector<std::string> specialized;
  // Indexed by shader: those that distinguish it from others of the same entry point.
  std::vector<std::string> distinguishing;
};
ShaderConstants describe_constants(const Model& model);

}  // namespace tally::analysis
