#include "oracle/generator.h"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <vector>

#include "oracle/launch_parts.h"
#include "oracle/loop_number.h"
#include "oracle/program_frame.h"
#include "oracle/program_text.h"

namespace tally::test {
namespace {

constexpr int kMaxDepth = 4;
constexpr uint32_t kMaxCalls = 2;  // in a function's text, since drivers inline all calls
constexpr uint32_t kMaxCompound =
    9;  // statements of a function after which only simple ones follow

class Generator : private ProgramText {
 public:
  Generator(uint64_t seed, ProgramKind kind)
      : ProgramText(seed), kind_(kind), fragment_(kind == ProgramKind::Fragment) {
    // Seeds with the same remainder by 3 are of one kind in oracle_test.cpp.
    constexpr std::array<uint32_t, 3> kGroupSizes = {16, 8, 4};
    if (kind == ProgramKind::Compute)
      program_.group_size = kGroupSizes[seed / 3 % kGroupSizes.size()];
    if (kind == ProgramKind::Launch) launch_.emplace(static_cast<ProgramText&>(*this));
  }

  RandomProgram make() {
    function_count_ = 1 + pick(3);
    for (int i = 0; i < 2; ++i) {
      program_.specialization.push_back(10 + static_cast<uint32_t>(i));
      program_.specialization.push_back(pick(6));
    }
    std::string functions;
    for (uint32_t f = 0; f < function_count_; ++f) functions += make_function(f);
    program_.text = header_of(kind_, program_.group_size) + globals_of(kind_) + constants() +
                    (launch_ ? launch_->main() : main_of(kind_)) + functions;
    return program_;
  }

 private:
  // The statements that are allowed at a position.
  struct Place {
    int depth = 0;
    uint32_t function = 0;
    std::string break_to;       // innermost loop's merge block; empty outside of loops
    std::string continue_to;    // and its continue target
    std::string switch_end;     // innermost switch's merge, if no loop is inside of it
    std::string hits;           // a variable that blocks of a loop may increment, or empty
    uint32_t loops_before = 0;  // loops created before the innermost loop's body
  };

  std::string condition() {
    const std::string v = launch_ && pick(3) == 0 ? launch_->number() : get();
    switch (pick(5)) {
      case 0:
        return let("OpULessThan %bool {} {}", let("OpUMod %uint {} {}", v, constant(1 + pick(40))),
                   constant(pick(30)));
      case 1:
        return let("OpIEqual %bool {} {}", let("OpUMod %uint {} {}", v, constant(2 + pick(5))),
                   constant(pick(3)));
      case 2:
        return let("OpUGreaterThan %bool {} {}", fmt::format("%spec{}", pick(2)),
                   constant(pick(6)));
      case 3:
        return let("OpINotEqual %bool {} {}",
                   let("OpBitwiseAnd %uint {} {}", v, constant(1 + pick(31))), constant(0));
      default:
        return let("OpULessThan %bool {} {}",
                   let("OpBitwiseAnd %uint {} {}", let("OpLoad %uint %id"), constant(7)),
                   constant(pick(9)));
    }
  }

  bool is_full(const Place& place) {
    return place.depth >= kMaxDepth || ++compound_ > kMaxCompound;
  }

  // --- statements; each returns whether the block after it can be reached
  bool statement(const Place& place) {
    switch (is_full(place) ? pick(6) : pick(16)) {
      case 0:
      case 1:
      case 2:
        arithmetic();
        return true;
      case 3:
        return call(place);
      case 4:
        return leave(place);
      case 5:
        return demote();
      case 6:
      case 7:
      case 8:
      case 9:
        return branch(place);
      case 10:
      case 11:
        return switch_over(place);
      default:
        return loop(place);
    }
  }

  bool statements(const Place& place) {
    hit(place);
    for (uint32_t i = 1 + pick(3); i > 0; --i) {
      if (!statement(place)) return false;
    }
    return true;
  }

  void arithmetic() {
    if (launch_ && pick(3) != 0) return launch_->statement();
    static constexpr const char* kOperations[] = {"OpIAdd", "OpIMul", "OpBitwiseXor", "OpISub"};
    const std::string with =
        pick(5) == 0 ? std::string("%spec0") : constant(pick(2) ? pick(60) + 1 : pick(90000) + 64);
    set(let("{} %uint {} {}", kOperations[pick(4)], get(), with));
  }

  bool call(const Place& place) {
    if (place.function + 1 >= function_count_ || calls_ == kMaxCalls) {
      arithmetic();
      return true;
    }
    ++calls_;
    const uint32_t callee = place.function + 1 + pick(function_count_ - place.function - 1);
    set(let("OpFunctionCall %uint %f{} {}", callee, get()));
    return true;
  }

  bool demote() {
    if (!fragment_ || pick(2) == 0) {
      arithmetic();
      return true;
    }
    line("OpDemoteToHelperInvocation");
    return true;
  }

  // Breaks, continues, returns, kills: only inside selections, so that code remains reachable after
  // them.
  bool leave(const Place& place) {
    if (place.depth == 0) {
      arithmetic();
      return true;
    }
    // SPIRV-Tools 2023.1 rejects an exit from both a switch and a loop immediately after another
    // loop.
    const bool may_leave_loop = place.switch_end.empty() || loops_made_ == place.loops_before;
    switch (pick(6)) {
      case 0:
        if (place.break_to.empty() || !may_leave_loop) break;
        line("OpBranch {}", place.break_to);
        return false;
      case 1:
        if (place.continue_to.empty() || !may_leave_loop) break;
        line("OpBranch {}", place.continue_to);
        return false;
      case 2:
        if (place.switch_end.empty()) break;
        line("OpBranch {}", place.switch_end);
        return false;
      case 3:
        line("OpReturnValue {}", get());
        return false;
      case 4:
        if (!fragment_) break;
        line("{}", pick(2) ? "OpKill" : "OpTerminateInvocation");
        return false;
      default:
        break;
    }
    arithmetic();
    return true;
  }

  Place inside(const Place& place) const {
    Place inner = place;
    ++inner.depth;
    return inner;
  }

  bool branch(const Place& place) {
    const std::string if_true = fresh("then"), merge = fresh("merge");
    const bool has_else = pick(2) == 0;
    const std::string if_false = has_else ? fresh("else") : merge;
    const std::string header = current();
    const std::string chosen = condition();
    line("OpSelectionMerge {} None", merge);
    line("OpBranchConditional {} {} {}", chosen, if_true, if_false);
    std::vector<std::pair<std::string, std::string>> arrivals;  // value, block
    const auto arm = [&](const std::string& first) {
      label(first);
      if (!statements(inside(place))) return;
      const std::string value = get();
      arrivals.emplace_back(value, current());
      line("OpBranch {}", merge);
    };
    arm(if_true);
    if (has_else) arm(if_false);
    label(merge);
    if (has_else && arrivals.empty()) {
      line("OpUnreachable");
      return false;
    }
    if (has_else && arrivals.size() == 2 && pick(2)) {
      set(let("OpPhi %uint {} {} {} {}", arrivals[0].first, arrivals[0].second, arrivals[1].first,
              arrivals[1].second));
    }
    return true;
  }

  bool switch_over(const Place& place) {
    const uint32_t cases = 1 + pick(4);
    const std::string merge = fresh("end"), other = pick(2) ? fresh("default") : merge;
    std::vector<std::string> labels;
    std::string targets;
    const std::string selector = let("OpUMod %uint {} {}", get(), constant(cases + 2));
    for (uint32_t i = 0; i < cases; ++i) {
      if (i == 0 || pick(4) != 0) labels.push_back(fresh("case"));
      targets += fmt::format(" {} {}", i, labels.back());
    }
    line("OpSelectionMerge {} None", merge);
    line("OpSwitch {} {}{}", selector, other, targets);
    Place inner = inside(place);
    inner.switch_end = merge;
    bool merge_is_reached = other == merge;
    for (size_t i = 0; i < labels.size(); ++i) {
      label(labels[i]);
      const size_t breaks_before = count_of("OpBranch " + merge + "\n");
      if (statements(inner)) {
        const bool falls_through = i + 1 < labels.size() && pick(3) == 0;
        line("OpBranch {}", falls_through ? labels[i + 1] : merge);
      }
      merge_is_reached |= count_of("OpBranch " + merge + "\n") > breaks_before;
    }
    if (other != merge) {
      label(other);
      const size_t breaks_before = count_of("OpBranch " + merge + "\n");
      if (statements(inner)) line("OpBranch {}", merge);
      merge_is_reached |= count_of("OpBranch " + merge + "\n") > breaks_before;
    }
    label(merge);
    if (!merge_is_reached) line("OpUnreachable");
    return merge_is_reached;
  }

  // --- loops

  // A variable of the loop that some of its blocks increment.
  void begin_hits(Place& place) {
    if (pick(2) == 0) return;
    place.hits = new_variable("%uint");
    line("OpStore {} {}", place.hits, constant(first_value(*this)));
  }

  void hit(const Place& place) {
    if (place.hits.empty() || pick(3) != 0) return;
    const std::string old = let("OpLoad %uint {}", place.hits);
    line("OpStore {} {}", place.hits, let("OpIAdd %uint {} {}", old, constant(1 + 2 * pick(9))));
  }

  void add_hits(const Place& place) {
    if (place.hits.empty()) return;
    set(let("OpIAdd %uint {} {}", get(), let("OpLoad %uint {}", place.hits)));
  }

  bool loop(const Place& place) {
    Place inner = inside(place);
    const LoopNumber number(*this);
    begin_hits(inner);
    const std::string header = fresh("loop"), merge = fresh("after"), next = fresh("next");
    ++loops_made_;
    if (pick(5) == 0) {  // a block that loops to itself
      number.begin_header(header, header);
      arithmetic();
      hit(inner);
      const std::string more = number.step();
      line("OpLoopMerge {} {} None", merge, header);
      line("OpBranchConditional {} {} {}", more, header, merge);
    } else {
      loop_of_blocks(inner, number, header, merge, next);
    }
    label(merge);
    add_hits(inner);
    number.end();
    return true;
  }

  void loop_of_blocks(Place& inner, const LoopNumber& number, const std::string& header,
                      const std::string& merge, const std::string& next) {
    const std::string first = fresh("body");
    number.begin_header(header, next);
    const bool tests_first = pick(2) == 0;
    std::string more;
    if (tests_first) more = number.step();
    line("OpLoopMerge {} {} None", merge, next);
    if (tests_first) {
      line("OpBranchConditional {} {} {}", more, first, merge);
    } else {
      line("OpBranch {}", first);
    }
    label(first);
    inner.break_to = merge;
    inner.continue_to = next;
    inner.switch_end.clear();
    inner.loops_before = loops_made_;
    if (statements(inner)) line("OpBranch {}", next);
    label(next);
    if (pick(2)) arithmetic();
    hit(inner);
    if (tests_first) {
      line("OpBranch {}", header);
    } else {
      line("OpBranchConditional {} {} {}", number.step(), header, merge);
    }
  }

  // --- functions
  std::string make_function(uint32_t f) {
    begin_function();
    calls_ = 0;
    compound_ = 0;
    Place place;
    place.function = f;
    bool falls_out = true;
    for (uint32_t i = 2 + pick(3); i > 0 && falls_out; --i) falls_out = statement(place);
    if (falls_out) line("OpReturnValue {}", get());
    return end_function(f);
  }

  ProgramKind kind_;
  bool fragment_;
  std::optional<LaunchParts> launch_;
  RandomProgram program_;
  uint32_t function_count_ = 0;
  uint32_t calls_ = 0;     // of the current function
  uint32_t compound_ = 0;  // its statements so far
  uint32_t loops_made_ = 0;
};

}  // namespace

const char* name_of(ProgramKind kind) {
  constexpr const char* kNames[] = {"compute", "fragment", "vertex", "launch"};
  return kNames[static_cast<size_t>(kind)];
}

RandomProgram random_program(uint64_t seed, ProgramKind kind) {
  return Generator(seed, kind).make();
}

}  // namespace tally::test
