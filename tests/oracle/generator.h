// Random structured SPIR-V programs: nested selections, switches that fall through, loops with
// several exits and continues, whose numbers begin anywhere and are stepped by anything, calls,
// early returns, kills, terminations, demotions, phis, specialization constants, and conditions
// that lanes of a subgroup answer differently. Every program ends.
//
// A compute program reads nothing and writes values[gl_GlobalInvocationID.x]; a fragment program
// computes from gl_FragCoord and writes its colour, a byte a channel; a vertex program is a compute
// program of gl_VertexIndex, and puts its point outside of the picture.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tally::test {

enum class ProgramKind { Compute, Fragment, Vertex };
const char* name_of(ProgramKind kind);

struct RandomProgram {
  std::string text;
  std::vector<uint32_t> specialization;  // pairs of SpecId and value
};

RandomProgram random_program(uint64_t seed, ProgramKind kind);

}  // namespace tally::test
