// Code that all kinds of sites share.
#pragma once

#include <initializer_list>
#include <vector>

#include "spirv/instrument/counting.h"

namespace tally::spirv {

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
