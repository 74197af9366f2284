#include "oracle/loop_number.h"

#include <iterator>

namespace tally::test {
namespace {

// A comparison that is true from the first value until `trips` steps later, and then false.
const char* comparison(ProgramText& text, uint32_t first, uint32_t step, uint32_t trips) {
  const auto last = static_cast<int64_t>(static_cast<int32_t>(step)) * trips;
  const int64_t end = int64_t{first} + last;
  const int64_t signed_end = int64_t{static_cast<int32_t>(first)} + last;
  const bool up = static_cast<int32_t>(step) > 0;
  switch (text.pick(3)) {
    case 0:
      if (end != static_cast<uint32_t>(end)) break;
      return up ? "OpULessThan" : "OpUGreaterThan";
    case 1:
      if (signed_end != static_cast<int32_t>(signed_end)) break;
      return up ? "OpSLessThan" : "OpSGreaterThan";
    default:
      break;
  }
  return "OpINotEqual";
}

}  // namespace

uint32_t first_value(ProgramText& text) {
  constexpr uint32_t kSigned = 0x80000000u;
  switch (text.pick(5)) {
    case 0:
      return 0u - text.pick(12);  // about to wrap
    case 1:
      return kSigned - 6 + text.pick(12);
    case 2:
      return text.pick(90000);
    default:
      return text.pick(3);
  }
}

LoopNumber::LoopNumber(ProgramText& text) : text_(text) {
  static constexpr uint32_t kSteps[] = {1, 1, 1, 3, 5, 7, 2, 1001, ~0u, ~0u, 0u - 3, 0u - 4};
  const uint32_t trips = text_.pick(6), step = kSteps[text_.pick(std::size(kSteps))];
  const bool subtracts = text_.pick(4) == 0;
  operation_ = subtracts ? "OpISub" : "OpIAdd";
  step_ = text_.constant(subtracts ? 0u - step : step);
  step_first_ = !subtracts && text_.pick(4) == 0;
  if (const uint32_t way = text_.pick(8); way < 2) {  // begins at what is only known later
    type_ = "%uint";
    first_ = way == 0 ? std::string("%spec1") : text_.get();
    bound_ = text_.let("OpIAdd %uint {} {}", first_, text_.constant(trips * step));
    compare_ = "OpINotEqual";
  } else {
    type_ = text_.pick(2) ? "%uint" : "%int";
    const uint32_t first = first_value(text_);
    first_ = text_.constant(type_, first);
    bound_ = text_.constant(type_, first + trips * step);
    compare_ = comparison(text_, first, step, trips);
    needs_fuel_ = trips % 2 != 0;
  }
  if (text_.pick(3) == 0) {
    now_ = text_.fresh("i");
    stepped_ = text_.fresh("i_next");
  } else {
    variable_ = text_.new_variable(type_);
    text_.line("OpStore {} {}", variable_, first_);
  }
}

void LoopNumber::begin_header(const std::string& header, const std::string& back) const {
  const std::string before = text_.current();
  text_.line("OpBranch {}", header);
  text_.label(header);
  if (!variable_.empty()) return;
  text_.line("{} = OpPhi {} {} {} {} {}", now_, type_, first_, before, stepped_, back);
}

std::string LoopNumber::step() const {
  std::string now = now_, stepped = stepped_;
  if (!variable_.empty()) {
    now = text_.let("OpLoad {} {}", type_, variable_);
    stepped = text_.fresh("t");
  }
  text_.line("{} = {} {} {} {}", stepped, operation_, type_, step_first_ ? step_ : now,
             step_first_ ? now : step_);
  if (!variable_.empty()) text_.line("OpStore {} {}", variable_, stepped);
  std::string more = text_.let("{} %bool {} {}", compare_, now, bound_);
  if (!needs_fuel_) return more;
  const std::string fuel = text_.let("OpISub %uint {} %c1", text_.let("OpLoad %uint %fuel"));
  text_.line("OpStore %fuel {}", fuel);
  return text_.let("OpLogicalAnd %bool {} {}", more, text_.let("OpULessThan %bool {} %c63", fuel));
}

void LoopNumber::end() const {
  if (variable_.empty() && text_.pick(2)) {
    text_.set(text_.let("OpBitwiseXor %uint {} {}", text_.get(), now_));
  }
}

}  // namespace tally::test
