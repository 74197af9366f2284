// Parts of random programs of ProgramKind::Launch, except their control flow: numbers that are the
// same in equal dispatches, sizes of images and buffers among them, numbers from memory that are
// not, and the ways that a number takes through a program. Numbers from memory reach the working
// variable %v, on which branches depend, in a few places of some programs; in the others they are
// only stored.
#pragma once

#include <string>

#include "oracle/program_text.h"

namespace tally::test {

class LaunchParts {
 public:
  // A reference to the text, which must not have begun a function yet.
  explicit LaunchParts(ProgramText& text);

  // The parts of the module around the generated functions.
  static std::string header();
  static std::string globals();
  std::string main() const;

  // Emits instructions without a branch.
  void statement();
  // The id of a number to branch on.
  std::string number();

 private:
  std::string size(const std::string& element);
  std::string input();
  std::string from_memory();
  std::string masked(const std::string& number, uint32_t mask);
  std::string load(const std::string& type, const std::string& chain);
  // The number after it went some way through the program.
  std::string through(const std::string& number);
  std::string through_variables(const std::string& number);
  std::string through_values(const std::string& number);
  bool leaks();

  ProgramText& text_;
  uint32_t leaks_ = 0;         // numbers from memory that still go to %v
  bool mostly_sizes_ = false;  // so are the inputs, and the entry point loops as they say
};

}  // namespace tally::test
