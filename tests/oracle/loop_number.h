// The number that a loop steps: where it begins, by what it goes up or down, and until when the
// loop goes on. It stands in a variable or, from the loop's header on, in an OpPhi.
#pragma once

#include <string>

#include "oracle/program_text.h"

namespace tally::test {

// Where a number begins: small, large, or about to wrap.
uint32_t first_value(ProgramText& text);

class LoopNumber {
 public:
  // Stands before the loop.
  explicit LoopNumber(ProgramText& text);

  // Begins the loop's header; `back` branches back to it.
  void begin_header(const std::string& header, const std::string& back) const;
  // Steps the number and gives whether the loop goes on. Fuel bounds all loops of an invocation:
  // what is below zero is a large number.
  std::string step() const;
  // Stands behind the loop: may use what the number has become.
  void end() const;

 private:
  ProgramText& text_;
  std::string variable_;       // or empty
  std::string now_, stepped_;  // ids of the phi and of what it becomes
  std::string type_, first_, step_, bound_;
  const char* operation_ = nullptr;  // steps the number
  const char* compare_ = nullptr;    // the number with the bound, while the loop goes on
  bool step_first_ = false;
};

}  // namespace tally::test
