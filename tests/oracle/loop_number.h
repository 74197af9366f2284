// A loop's induction variable: its start, its step, and the condition on which the loop continues.
// It is stored in a variable or, from the loop's header on, in an OpPhi.
#pragma once

#include <string>

#include "oracle/program_text.h"

namespace tally::test {

// A start value: small, large, or about to wrap.
uint32_t first_value(ProgramText& text);

class LoopNumber {
 public:
  // Place this before the loop.
  explicit LoopNumber(ProgramText& text);

  // Begins the loop's header; `back` branches back to it.
  void begin_header(const std::string& header, const std::string& back) const;
  // Steps the value and returns the loop condition. Fuel bounds most loops of an invocation: a
  // negative value is a large number. Some loops go on until the value reaches a constant.
  std::string step() const;
  // Place this after the loop: code there may use the final value.
  void end() const;

 private:
  ProgramText& text_;
  std::string variable_;       // empty if a phi is used
  std::string now_, stepped_;  // ids of the phi and of its next value
  std::string type_, first_, step_, bound_;
  const char* operation_ = nullptr;  // steps the value
  const char* compare_ =
      nullptr;  // compares the value with the bound; true while the loop continues
  bool step_first_ = false;
  bool needs_fuel_ = true;
};

}  // namespace tally::test
