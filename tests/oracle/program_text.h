// A random program under construction: random choices, ids, constants, and the text of its
// functions.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <random>
#include <string>
#include <utility>

namespace tally::test {

class ProgramText {
 public:
  explicit ProgramText(uint64_t seed) : random_(seed) {}

  uint32_t pick(uint32_t below) { return static_cast<uint32_t>(random_() % below); }

  // --- ids
  std::string fresh(const char* stem) { return fmt::format("%{}{}", stem, next_++); }
  std::string constant(uint32_t value);  // of type uint
  std::string constant(const std::string& type, uint32_t value);
  // The constants besides the small ones, for all functions so far.
  const std::string& constants() const { return constants_; }

  // --- the current function
  void begin_function();
  // The text of function %f{index}.
  std::string end_function(uint32_t index) const;

  template <typename... Arguments>
  void line(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    body_ += fmt::format(format, std::forward<Arguments>(arguments)...) + "\n";
  }
  // Emits an instruction and returns the id of its result.
  template <typename... Arguments>
  std::string let(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    std::string id = fresh("t");
    body_ += id + " = " + fmt::format(format, std::forward<Arguments>(arguments)...) + "\n";
    return id;
  }
  void label(const std::string& id);
  // The label of the current block.
  const std::string& current() const { return current_; }
  // Declares a function variable of type uint or int.
  std::string new_variable(const std::string& type);

  // Reads the function's working variable, which initially contains its parameter.
  std::string get() { return let("OpLoad %uint %v"); }
  void set(const std::string& value) { line("OpStore %v {}", value); }

  // The number of occurrences of `part` in the function so far.
  size_t count_of(const std::string& part) const;

 private:
  std::string with_own_variable(uint32_t index) const;

  std::mt19937_64 random_;
  uint32_t next_ = 0;
  std::string constants_;
  std::string entry_;  // label of the function's first block
  std::string body_;
  std::string variables_;
  std::string current_;
};

}  // namespace tally::test
