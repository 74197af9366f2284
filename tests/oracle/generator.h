// Random structured SPIR-V programs: nested selections, switches with fall-through, loops with
// several exits and continues, arbitrary start values and steps, calls, early returns, kills,
// terminations, demotions, phis, specialization constants, and conditions that diverge within a
// subgroup. Every program terminates.
//
// A compute program reads nothing and writes values[gl_GlobalInvocationID.x]. A fragment program
// computes from gl_FragCoord and writes its colour, one byte per channel. A vertex program is a
// compute program of gl_VertexIndex that places its point outside the image. A launch program is a
// compute program for dispatches that repeat, with inputs of all kinds (launch_parts.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tally::test {

enum class ProgramKind { Compute, Fragment, Vertex, Launch };
const char* name_of(ProgramKind kind);

struct RandomProgram {
  std::string text;
  std::vector<uint32_t> specialization;  // pairs of SpecId and value
  uint32_t group_size = 16;              // of a compute program; a divisor of 16
};

RandomProgram random_program(uint64_t seed, ProgramKind kind);

}  // namespace tally::test
