// Values that instrumented shaders counted: from the words of one record to the executions of every
// block.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "counters/shader/program.h"

namespace tally::counters {

// Keeps its memory from one record to the next.
class RecordReader {
 public:
  // `stage` is of the program; `record` belongs to the stage's slot and is written with
  // 2^shards_log2 shards. Where `findings` is not null, what cannot be true of the counts is added
  // to it (CounterPlan::verify).
  Status read(const Program& program, const StageProgram& stage, std::span<const uint64_t> record,
              uint32_t shards_log2, std::vector<std::string>* findings = nullptr);
  const spirv::BlockCounts& counts() const { return counts_; }  // of the last record

 private:
  std::vector<uint64_t> sums_;
  std::vector<uint64_t> values_;
  spirv::BlockCounts counts_;
};

}  // namespace tally::counters
