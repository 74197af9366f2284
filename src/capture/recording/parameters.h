// The parameters of the recorded commands, in order. A command has a byte that says which of its
// parameters differ from those of the command before, and their differences in as few bytes as
// possible: many small draws would otherwise touch more fresh memory for their parameters than for
// anything else.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "store/functions.h"

namespace tally::capture {

class Parameters {
 public:
  static constexpr size_t kMaxOfCommand = store::kMaxParameters;
  static_assert(kMaxOfCommand <= 8);

  // Where the parameters of a command begin.
  struct Position {
    uint32_t chunk = 0;
    uint32_t offset = 0;
  };

  // Call this before the parameters of a command that begins a run: they do not depend on earlier
  // ones.
  Position begin_run();
  // All commands of a run have the same number of parameters, at most kMaxOfCommand.
  void add(std::span<const int64_t> values);

  // Reads the parameters of a run's commands one after another.
  class Cursor {
   public:
    Cursor(const Parameters& parameters, Position begin)
        : parameters_(&parameters), position_(begin) {}
    // `values` gets `of_command` parameters of each command.
    void read(size_t of_command, std::span<int64_t> values);

   private:
    const uint8_t* command_at_position();

    const Parameters* parameters_;
    Position position_;
    std::array<int64_t, kMaxOfCommand> last_{};
  };

 private:
  static constexpr size_t kMaxBytesOfNumber = 10;
  static constexpr size_t kMaxBytesOfCommand = 1 + kMaxOfCommand * kMaxBytesOfNumber;

  struct Chunk {
    std::unique_ptr<uint8_t[]> bytes;
    uint32_t capacity = 0;
    uint32_t used = 0;
  };

  void add_chunk();

  std::vector<Chunk> chunks_;
  uint8_t* next_ = nullptr;  // in the last chunk
  uint8_t* end_ = nullptr;   // the last place where a command fits
  std::array<int64_t, kMaxOfCommand> last_{};
};

}  // namespace tally::capture
