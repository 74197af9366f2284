// A slow, simple interpreter of SPIR-V that counts blocks, the reference for the instrumentation.
//
// It runs the invocations one by one, instruction by instruction, as the specification describes,
// and supports what the random programs and simple shaders need: 32-bit integers, booleans and
// floats, vectors, structs and arrays of them, all control flow, calls, kills and demotions. It
// throws an exception for anything else. There is no counter placement, no subgroup and no
// derivation: a block's count is incremented when an invocation that is not a helper passes its
// label.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "spirv/ir/module.h"

namespace tally::test {

class Interpreter {
 public:
  // `specialization` maps SpecIds to values. Keeps a reference to the module.
  Interpreter(const spirv::Module& module, spv::ExecutionModel stage,
              const std::map<uint32_t, uint32_t>& specialization);

  // The words of the storage buffer in set 0, binding 0.
  std::vector<uint32_t>& buffer() { return buffer_; }

  struct Invocation {
    std::array<uint32_t, 3> global_id = {};  // of a dispatch
    std::array<float, 4> frag_coord = {};    // of a fragment
    uint32_t vertex_index = 0;               // of a vertex
  };
  struct End {
    bool discarded = false;        // killed, terminated or demoted
    std::vector<uint32_t> output;  // words of the output at location 0
  };
  End run(const Invocation& invocation);

  // The executions so far, by the public block numbers.
  std::vector<uint64_t> executions() const;
  // How often the invocations went from one block to another, by the public numbers of both. Only
  // what happened.
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> edges() const;
  // The lengths of the runs of each loop, by the index of its OpLoopMerge.
  const std::map<uint32_t, std::vector<uint32_t>>& runs() const { return runs_; }

 private:
  using Words = std::vector<uint32_t>;
  // Values are flat lists of words; a pointer is an object and a word index in it.
  struct Frame {
    std::map<uint32_t, Words> values;
    std::map<uint32_t, uint32_t> objects;  // function variables
  };
  struct Killed {};
  // A loop that an invocation is in.
  struct OpenLoop {
    uint32_t header, merge;  // labels
    uint32_t test;           // label of the block with the loop's first test, or 0
    uint32_t instruction;    // its OpLoopMerge
    uint32_t length;         // iterations so far
    size_t depth;            // of calls
  };

  void read_globals(const std::map<uint32_t, uint32_t>& specialization);
  uint32_t size_of(uint32_t type) const;
  uint32_t new_object(Words words);
  void set_input(uint32_t variable, const Invocation& invocation);
  Words call(uint32_t function_id, const std::vector<Words>& arguments);
  // Returns the next label, or 0 for a return.
  uint32_t run_block(Frame& frame, uint32_t label, uint32_t previous, Words& result);
  void enter_block(uint32_t label);
  void leave_block(uint32_t label, uint32_t target);
  // The label of the block with the loop's first test, or 0.
  uint32_t first_test(uint32_t header, uint32_t merge, uint32_t continues) const;
  void end_run(const OpenLoop& loop);
  void end_runs_of_invocation();
  void execute(Frame& frame, const spirv::Instruction& instruction);
  Words compute(Frame& frame, const spirv::Instruction& instruction);
  Words access_chain(Frame& frame, const spirv::Instruction& instruction);
  uint32_t scalar(const Frame& frame, uint32_t id) const { return value(frame, id).at(0); }
  const Words& value(const Frame& frame, uint32_t id) const;
  uint32_t switch_target(const Frame& frame, const spirv::Instruction& instruction) const;

  const spirv::Module& module_;
  const spirv::EntryPoint* entry_ = nullptr;
  std::map<uint32_t, Words> constants_;
  std::map<uint32_t, uint32_t> globals_;  // variable -> object
  std::vector<Words> objects_;
  std::vector<uint32_t> buffer_;
  std::map<uint32_t, uint64_t> counts_;                      // by label
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> edges_;  // by labels
  std::vector<OpenLoop> open_;                               // inner ones last
  std::map<uint32_t, std::vector<uint32_t>> runs_;
  size_t depth_ = 0;  // of calls
  bool is_helper_ = false;
  uint64_t steps_ = 0;
};

}  // namespace tally::test
