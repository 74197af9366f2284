// Builds code for an edit, instruction by instruction. Each call appends one instruction and
// returns the id of its result, so that the caller reads like a listing:
//
//   const uint32_t address = code.load(u64, pointer);
//   const uint32_t is_set = code.emit(spv::Op::OpINotEqual, boolean, {address, zero});
//
// Ids come from the editor. The caller provides all types.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <spirv/unified1/spirv.hpp11>
#include <vector>

namespace tally::spirv {

inline constexpr size_t kMaxInstructionWords = 0xffff;

// Allocates unused ids; `next` is the new bound of the module.
struct IdAllocator {
  uint32_t next;
  uint32_t take() { return next++; }
};

// Appends one instruction of `operands` to `words`.
void append_instruction(std::vector<uint32_t>& words, spv::Op opcode,
                        std::span<const uint32_t> operands);

class InstructionBuilder {
 public:
  explicit InstructionBuilder(IdAllocator& ids) : ids_(&ids) {}

  uint32_t new_id() { return ids_->take(); }

  // With a result, whose new id is returned.
  uint32_t emit(spv::Op opcode, uint32_t type, std::initializer_list<uint32_t> operands);
  uint32_t emit(spv::Op opcode, uint32_t type, std::span<const uint32_t> operands);
  // Without a result.
  void emit(spv::Op opcode, std::initializer_list<uint32_t> operands = {});
  void emit(spv::Op opcode, std::span<const uint32_t> operands);
  // With an id from new_id(), for results that are used before they are defined.
  void emit_as(uint32_t result, spv::Op opcode, uint32_t type, std::span<const uint32_t> operands);

  uint32_t load(uint32_t type, uint32_t pointer);
  // With memory operands: a mask and its arguments.
  uint32_t load(uint32_t type, uint32_t pointer, std::initializer_list<uint32_t> memory_operands);
  void store(uint32_t pointer, uint32_t value);
  void store(uint32_t pointer, uint32_t value, std::initializer_list<uint32_t> memory_operands);
  uint32_t access_chain(uint32_t pointer_type, uint32_t base,
                        std::initializer_list<uint32_t> indices);
  uint32_t call(uint32_t type, uint32_t function, std::initializer_list<uint32_t> arguments = {});
  struct Incoming {
    uint32_t value, parent;
  };
  uint32_t phi(uint32_t type, std::initializer_list<Incoming> incoming);

  void label(uint32_t id);
  void branch(uint32_t target);
  void branch_if(uint32_t condition, uint32_t if_true, uint32_t if_false);
  void selection_merge(uint32_t merge);
  void loop_merge(uint32_t merge, uint32_t continue_target);

  // `if (condition) { body }`: ends the current block and begins a new one. Returns its label, and
  // the label of the body's first block in `body_label`.
  template <typename Body>
  uint32_t if_then(uint32_t condition, Body&& body, uint32_t* body_label = nullptr) {
    const uint32_t inside = new_id();
    const uint32_t after = new_id();
    selection_merge(after);
    branch_if(condition, inside, after);
    label(inside);
    body();
    branch(after);
    label(after);
    if (body_label != nullptr) *body_label = inside;
    return after;
  }

  // A value that each iteration of a loop gets from the one before.
  struct Carried {
    uint32_t type, start;
  };
  // The results of an iteration: the values of the next one, and whether there is one.
  struct Turns {
    std::vector<uint32_t> values;
    uint32_t again;
  };
  // `do { values, again = body(values) } while (again)`: ends the current block, whose label is
  // known, and begins a new one. Returns the values of the last iteration.
  template <typename Body>
  std::vector<uint32_t> repeat(std::span<const Carried> carried, Body&& body) {
    const uint32_t before = *last_label_;
    const uint32_t header = new_id();
    const uint32_t inside = new_id();
    const uint32_t next = new_id();
    const uint32_t after = new_id();
    branch(header);
    label(header);
    std::vector<uint32_t> values;
    std::vector<size_t> later;  // the phis' values of the iteration before
    for (const Carried& one : carried) {
      values.push_back(phi(one.type, {{one.start, before}, {0, next}}));
      later.push_back(words_.size() - 2);
    }
    loop_merge(after, next);
    branch(inside);
    label(inside);
    const Turns turn = body(values);
    for (size_t i = 0; i < later.size(); ++i) words_[later[i]] = turn.values[i];
    branch(next);
    label(next);
    branch_if(turn.again, header, after);
    label(after);
    return turn.values;
  }
  // The same for one value.
  struct Turn {
    uint32_t value, again;
  };
  template <typename Body>
  void repeat(uint32_t type, uint32_t start, Body&& body) {
    const Carried one{type, start};
    repeat(std::span(&one, 1), [&](const std::vector<uint32_t>& values) {
      const Turn turn = body(values[0]);
      return Turns{{turn.value}, turn.again};
    });
  }

  // Appends complete instructions, e.g. of the edited module.
  void append(std::span<const uint32_t> words) {
    words_.insert(words_.end(), words.begin(), words.end());
  }

  bool empty() const { return words_.empty(); }
  std::span<const uint32_t> words() const { return words_; }
  // The label of the block in which the code ends, if it begins one: who splits a block needs it
  // for OpPhi.
  std::optional<uint32_t> last_label() const { return last_label_; }

 private:
  IdAllocator* ids_;
  std::vector<uint32_t> words_;
  std::optional<uint32_t> last_label_;
};

}  // namespace tally::spirv
