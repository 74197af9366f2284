// Random structured SPIR-V programs: nested selections, switches that fall through, loops with
// several exits and continues, calls, early returns, kills, terminations, demotions, phis,
// specialization constants, and conditions that lanes of a subgroup answer differently. Every
// program ends.
//
// A compute program reads nothing and writes values[gl_GlobalInvocationID.x]; a fragment program
// computes from gl_FragCoord and writes its colour, a byte a channel.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tally::test {

struct RandomProgram {
  std::string text;
  std::vector<uint32_t> specialization;  // pairs of SpecId and value
};

RandomProgram random_program(uint64_t seed, bool fragment);

}  // namespace tally::test
