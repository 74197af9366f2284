// The code that counts: one class for each Counting, with a common interface. The pass asks for the
// code at each counter and at each exit. Last, the class adds its functions to the module.
#pragma once

#include <initializer_list>
#include <memory>
#include <span>
#include <vector>

#include "spirv/instrument/context.h"
#include "spirv/instrument/record_writer.h"
#include "spirv/plan/counter_placement.h"

namespace tally::spirv {

// Demotions that wait until the invocation ends.
//
// A helper invocation cannot write to memory, so an invocation writes its counts before it is
// demoted, and the other lanes of its subgroup write theirs when they end. In short shaders,
// writing twice takes longer than all else. There a demoted invocation only notes that it was
// demoted. It goes on as it would as a helper, counts nothing more, and is demoted after all lanes
// have written their counts together.
//
// That makes no difference if the shader has no side effects, no subgroup operations, no pointers
// to physical memory, and does not ask whether it is a helper.

class LateDemotions {
 public:
  // True if the demotions of the entry point can and should wait. Never if it counts subgroups,
  // regions or sites, which look at the lanes that were not demoted.
  static bool are_possible(const AnalyzedModule& analyzed, const EntryPoint& entry,
                           const SegmentGraph& graph, const BlockCountOptions& options);

  explicit LateDemotions(PassContext& context);

  // In place of a demotion.
  void note(InstructionBuilder& code) const;
  // A boolean.
  uint32_t is_demoted(InstructionBuilder& code) const;
  // A 32-bit value, or 0 if the invocation was demoted.
  uint32_t unless_demoted(InstructionBuilder& code, uint32_t value) const;

 private:
  Editor& editor_;
  uint32_t demoted_;  // a private variable
};

// Shared by all code of one instrumented module.
struct CountingTools {
  PassContext& context;
  Builtins& builtins;
  HelperMask& helper_mask;
  RecordWriter& record;
  const LateDemotions* late_demotions;  // null if demotions stay where they are

  // Where the code that adds to the record stands.
  RecordPointer load_record(InstructionBuilder& code) const {
    return context.flushes_in_entry_point() ? record.load_in_entry_point(code)
                                            : record.load_record_pointer(code);
  }
};

class CounterCode {
 public:
  virtual ~CounterCode() = default;
  // At the start of the entry point.
  virtual void begin(InstructionBuilder&) {}
  // At the start of the counter's segment.
  virtual void count(InstructionBuilder& code, uint32_t counter) = 0;
  // Before an exit.
  virtual void leave(InstructionBuilder& code, const Exit& exit) = 0;
  // Adds the functions that the code calls. Called once, last.
  virtual void finish() = 0;
};

std::unique_ptr<CounterCode> make_lane_counting(CountingTools tools,
                                                std::span<const Counter> counters);
std::unique_ptr<CounterCode> make_subgroup_counting(CountingTools tools,
                                                    std::span<const Counter> counters);
std::unique_ptr<CounterCode> make_private_counting(CountingTools tools,
                                                   std::span<const Counter> counters);

// Subgroup operations over the lanes that count.
class SubgroupCode {
 public:
  explicit SubgroupCode(Editor& editor);

  // The ballot of the lanes that count. `live` is a boolean, or 0 if all active lanes count.
  uint32_t ballot(InstructionBuilder& code, uint32_t live);
  uint32_t bit_count(InstructionBuilder& code, uint32_t ballot);
  // How many bits of the ballot belong to lanes below this one.
  uint32_t bits_below(InstructionBuilder& code, uint32_t ballot);
  // The number of the lowest lane of the ballot.
  uint32_t lowest(InstructionBuilder& code, uint32_t ballot);
  // True if the lane is the lowest of the ballot.
  uint32_t is_lowest(InstructionBuilder& code, uint32_t ballot, uint32_t live);
  // True if the lane is the lowest active one.
  uint32_t elect(InstructionBuilder& code);
  // The 32-bit value that the lowest active lane has.
  uint32_t of_lowest(InstructionBuilder& code, uint32_t value);
  uint32_t any(InstructionBuilder& code, uint32_t condition);
  uint32_t all_equal(InstructionBuilder& code, uint32_t value);
  uint32_t sum(InstructionBuilder& code, uint32_t value);
  uint32_t sum_of_wide(InstructionBuilder& code, uint32_t value);  // of 64 bits
  uint32_t minimum(InstructionBuilder& code, uint32_t value);
  // The bits that some lane has.
  uint32_t bits_of_some(InstructionBuilder& code, uint32_t value);
  // The low word of the subgroup's clock, which suffices: differences are modulo 2^32.
  uint32_t clock(InstructionBuilder& code);

 private:
  Editor& editor_;
  uint32_t boolean_, u32_, uvec4_;
  uint32_t scope_;
};

// Code that all kinds of sites share.

// `if (the invocation counts) { body(record) }`
template <typename Body>
void if_counting(const CountingTools& tools, InstructionBuilder& code, Body&& body) {
  const RecordPointer record = tools.record.load_record_pointer(code);
  uint32_t counts = tools.record.is_set(code, record);
  if (const uint32_t live = tools.helper_mask.is_live(code); live != 0) {
    counts = code.emit(spv::Op::OpLogicalAnd, tools.context.editor.type_bool(), {counts, live});
  }
  code.if_then(counts, [&] { body(record); });
}

// Adds a function that returns what `body` returns, of the type `result`; 0: it returns nothing.
// `body` gets the ids of its parameters.
template <typename Body>
void make_function_of(PassContext& context, uint32_t result, uint32_t function, const char* name,
                      std::initializer_list<uint32_t> types, Body&& body) {
  Editor& editor = context.editor;
  editor.name(function, name);
  InstructionBuilder code = editor.new_code();
  code.emit_as(function, spv::Op::OpFunction, result,
               std::vector<uint32_t>{0, editor.type_function(result, types)});
  std::vector<uint32_t> parameters;
  for (const uint32_t type : types) {
    parameters.push_back(code.emit(spv::Op::OpFunctionParameter, type, {}));
  }
  code.label(code.new_id());
  if (const uint32_t value = body(code, parameters); value != 0) {
    code.emit(spv::Op::OpReturnValue, {value});
  } else {
    code.emit(spv::Op::OpReturn);
  }
  code.emit(spv::Op::OpFunctionEnd);
  context.add_function(code);
}

// Adds a function that returns nothing.
template <typename Body>
void make_function(PassContext& context, uint32_t function, const char* name,
                   std::initializer_list<uint32_t> types, Body&& body) {
  make_function_of(context, context.editor.type_void(), function, name, types,
                   [&](InstructionBuilder& code, const std::vector<uint32_t>& parameters) {
                     body(code, parameters);
                     return uint32_t{0};
                   });
}

}  // namespace tally::spirv
