#include "oracle/generator.h"

#include <fmt/format.h>

#include <iterator>
#include <random>

namespace tally::test {
namespace {

constexpr uint32_t kGroupSize = 16;
constexpr int kMaxDepth = 4;
constexpr uint32_t kMaxCalls = 2;  // in a function's text: drivers inline them all
constexpr uint32_t kMaxCompound =
    9;  // statements of a function after which only simple ones follow

class Generator {
 public:
  Generator(uint64_t seed, ProgramKind kind)
      : random_(seed), kind_(kind), fragment_(kind == ProgramKind::Fragment) {}

  RandomProgram make() {
    function_count_ = 1 + pick(3);
    for (int i = 0; i < 2; ++i) {
      program_.specialization.push_back(10 + static_cast<uint32_t>(i));
      program_.specialization.push_back(pick(6));
    }
    std::string functions;
    for (uint32_t f = 0; f < function_count_; ++f) functions += make_function(f);
    program_.text = header() + globals() + constants_ + make_main() + functions;
    return program_;
  }

 private:
  // What a statement may do where it stands.
  struct Place {
    int depth = 0;
    uint32_t function = 0;
    std::string break_to;       // innermost loop's merge block; empty outside of loops
    std::string continue_to;    // and its continue target
    std::string switch_end;     // innermost switch's merge, if no loop is inside of it
    std::string hits;           // a number that blocks of a loop may step, or empty
    uint32_t loops_before = 0;  // loops made before the innermost loop's body
  };

  uint32_t pick(uint32_t below) { return static_cast<uint32_t>(random_() % below); }
  std::string fresh(const char* stem) { return fmt::format("%{}{}", stem, next_++); }

  template <typename... Arguments>
  void line(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    body_ += fmt::format(format, std::forward<Arguments>(arguments)...) + "\n";
  }
  // A result of type uint or bool.
  template <typename... Arguments>
  std::string let(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    const std::string id = fresh("t");
    body_ += id + " = " + fmt::format(format, std::forward<Arguments>(arguments)...) + "\n";
    return id;
  }
  void label(const std::string& id) {
    line("{} = OpLabel", id);
    current_ = id;
  }

  std::string constant(uint32_t value) {
    if (value < 64) return fmt::format("%c{}", value);
    const std::string id = fresh("k");
    constants_ += fmt::format("{} = OpConstant %uint {}\n", id, value);
    return id;
  }

  std::string get() { return let("OpLoad %uint %v"); }
  void set(const std::string& value) { line("OpStore %v {}", value); }

  std::string condition() {
    const std::string v = get();
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

  // Breaks, continues, returns, kills: only within selections, so that something is left to do.
  bool leave(const Place& place) {
    if (place.depth == 0) {
      arithmetic();
      return true;
    }
    // SPIRV-Tools 2023.1 refuses the way out of a switch and a loop at once after another loop.
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
    const std::string header = current_;
    const std::string chosen = condition();
    line("OpSelectionMerge {} None", merge);
    line("OpBranchConditional {} {} {}", chosen, if_true, if_false);
    std::vector<std::pair<std::string, std::string>> arrivals;  // value, block
    const auto arm = [&](const std::string& first) {
      label(first);
      if (!statements(inside(place))) return;
      const std::string value = get();
      arrivals.emplace_back(value, current_);
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

  size_t count_of(const std::string& part) const {
    size_t count = 0;
    for (size_t at = body_.find(part); at != std::string::npos; at = body_.find(part, at + 1)) {
      ++count;
    }
    return count;
  }

  // --- loops

  // The number that a loop steps: where it begins, by what it goes up or down, and until when the
  // loop goes on. It stands in a variable or, from the loop's header on, in an OpPhi.
  struct Number {
    std::string variable;      // or empty
    std::string now, stepped;  // ids of the phi and of what it becomes
    std::string type, first, step, operation, compare, bound;
    bool step_first = false;
  };

  std::string typed_constant(const std::string& type, uint32_t value) {
    if (type == "%uint") return constant(value);
    const std::string id = fresh("k");
    constants_ += fmt::format("{} = OpConstant %int {}\n", id, static_cast<int32_t>(value));
    return id;
  }

  uint32_t first_value() {
    constexpr uint32_t kSigned = 0x80000000u;
    switch (pick(5)) {
      case 0:
        return 0u - pick(12);  // about to wrap
      case 1:
        return kSigned - 6 + pick(12);
      case 2:
        return pick(90000);
      default:
        return pick(3);
    }
  }

  // What holds from the first value until `trips` steps later, and no longer.
  const char* comparison(uint32_t first, uint32_t step, uint32_t trips) {
    const auto last = static_cast<int64_t>(static_cast<int32_t>(step)) * trips;
    const int64_t end = int64_t{first} + last;
    const int64_t signed_end = int64_t{static_cast<int32_t>(first)} + last;
    const bool up = static_cast<int32_t>(step) > 0;
    switch (pick(3)) {
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

  Number new_number() {
    static constexpr uint32_t kSteps[] = {1, 1, 1, 3, 5, 7, 2, 1001, ~0u, ~0u, 0u - 3, 0u - 4};
    Number number;
    const uint32_t trips = pick(6), step = kSteps[pick(std::size(kSteps))];
    const bool subtracts = pick(4) == 0;
    number.operation = subtracts ? "OpISub" : "OpIAdd";
    number.step = constant(subtracts ? 0u - step : step);
    number.step_first = !subtracts && pick(4) == 0;
    if (const uint32_t way = pick(8); way < 2) {  // begins at what is only known later
      number.type = "%uint";
      number.first = way == 0 ? std::string("%spec1") : get();
      number.bound = let("OpIAdd %uint {} {}", number.first, constant(trips * step));
      number.compare = "OpINotEqual";
    } else {
      number.type = pick(2) ? "%uint" : "%int";
      const uint32_t first = first_value();
      number.first = typed_constant(number.type, first);
      number.bound = typed_constant(number.type, first + trips * step);
      number.compare = comparison(first, step, trips);
    }
    if (pick(3) == 0) {
      number.now = fresh("i");
      number.stepped = fresh("i_next");
    } else {
      number.variable = new_variable(number.type);
      line("OpStore {} {}", number.variable, number.first);
    }
    return number;
  }

  std::string new_variable(const std::string& type) {
    const std::string variable = fresh("n");
    variables_ += fmt::format("{} = OpVariable %function_{} Function\n", variable, type.substr(1));
    return variable;
  }

  void begin_header(const Number& number, const std::string& header, const std::string& back) {
    const std::string before = current_;
    line("OpBranch {}", header);
    label(header);
    if (!number.variable.empty()) return;
    line("{} = OpPhi {} {} {} {} {}", number.now, number.type, number.first, before, number.stepped,
         back);
  }

  // Steps the number. Fuel bounds all loops of an invocation: what is below zero is a large number.
  std::string step(const Number& number) {
    std::string now = number.now, stepped = number.stepped;
    if (!number.variable.empty()) {
      now = let("OpLoad {} {}", number.type, number.variable);
      stepped = fresh("t");
    }
    line("{} = {} {} {} {}", stepped, number.operation, number.type,
         number.step_first ? number.step : now, number.step_first ? now : number.step);
    if (!number.variable.empty()) line("OpStore {} {}", number.variable, stepped);
    const std::string fuel = let("OpISub %uint {} %c1", let("OpLoad %uint %fuel"));
    line("OpStore %fuel {}", fuel);
    return let("OpLogicalAnd %bool {} {}", let("{} %bool {} {}", number.compare, now, number.bound),
               let("OpULessThan %bool {} %c63", fuel));
  }

  // A number of the loop that some of its blocks step.
  void begin_hits(Place& place) {
    if (pick(2) == 0) return;
    place.hits = new_variable("%uint");
    line("OpStore {} {}", place.hits, constant(first_value()));
  }

  void hit(const Place& place) {
    if (place.hits.empty() || pick(3) != 0) return;
    const std::string old = let("OpLoad %uint {}", place.hits);
    line("OpStore {} {}", place.hits, let("OpIAdd %uint {} {}", old, constant(1 + 2 * pick(9))));
  }

  void end_loop(const std::string& merge, const Number& number, const std::string& hits) {
    label(merge);
    if (!hits.empty()) set(let("OpIAdd %uint {} {}", get(), let("OpLoad %uint {}", hits)));
    if (number.variable.empty() && pick(2)) {
      set(let("OpBitwiseXor %uint {} {}", get(), number.now));
    }
  }

  bool loop(const Place& place) {
    Place inner = inside(place);
    const Number number = new_number();
    begin_hits(inner);
    const std::string header = fresh("loop"), merge = fresh("after"), next = fresh("next");
    ++loops_made_;
    if (pick(5) == 0) {  // a block that loops to itself
      begin_header(number, header, header);
      arithmetic();
      hit(inner);
      const std::string more = step(number);
      line("OpLoopMerge {} {} None", merge, header);
      line("OpBranchConditional {} {} {}", more, header, merge);
    } else {
      loop_of_blocks(inner, number, header, merge, next);
    }
    end_loop(merge, number, inner.hits);
    return true;
  }

  void loop_of_blocks(Place& inner, const Number& number, const std::string& header,
                      const std::string& merge, const std::string& next) {
    const std::string first = fresh("body");
    begin_header(number, header, next);
    const bool tests_first = pick(2) == 0;
    std::string more;
    if (tests_first) more = step(number);
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
      line("OpBranchConditional {} {} {}", step(number), header, merge);
    }
  }

  // --- functions
  std::string make_function(uint32_t f) {
    body_.clear();
    variables_.clear();
    calls_ = 0;
    compound_ = 0;
    const std::string entry = fresh("entry");
    current_ = entry;
    Place place;
    place.function = f;
    bool falls_out = true;
    for (uint32_t i = 2 + pick(3); i > 0 && falls_out; --i) falls_out = statement(place);
    if (falls_out) line("OpReturnValue {}", get());
    return fmt::format(
        "%f{} = OpFunction %uint None %uint_function\n%x{} = OpFunctionParameter %uint\n"
        "{} = OpLabel\n%v{} = OpVariable %function_uint Function\n{}OpStore %v{} %x{}\n{}"
        "OpFunctionEnd\n",
        f, f, entry, f, variables_, f, f, with_own_variable(f));
  }

  // Statements name the working variable %v; each function has one of its own.
  std::string with_own_variable(uint32_t f) const {
    std::string text;
    for (size_t at = 0; at < body_.size();) {
      const size_t found = body_.find("%v", at);
      if (found == std::string::npos) return text + body_.substr(at);
      const size_t after = found + 2;
      text += body_.substr(at, after - at);
      if (after < body_.size() && (body_[after] == ' ' || body_[after] == '\n')) {
        text += std::to_string(f);
      }
      at = after;
    }
    return text;
  }

  std::string make_main() {
    std::string text = "%main = OpFunction %void None %void_function\n%start = OpLabel\n";
    if (fragment_) {
      text +=
          "%coord = OpLoad %vec4 %frag_coord\n%fx = OpCompositeExtract %float %coord 0\n"
          "%fy = OpCompositeExtract %float %coord 1\n%ix = OpConvertFToU %uint %fx\n"
          "%iy = OpConvertFToU %uint %fy\n%row = OpIMul %uint %iy %c37\n"
          "%seed = OpIAdd %uint %ix %row\n";
    } else if (kind_ == ProgramKind::Vertex) {
      text += "%seed = OpLoad %uint %vertex_index\nOpStore %position %outside\n";
    } else {
      text += "%ids = OpLoad %uvec3 %global_id\n%seed = OpCompositeExtract %uint %ids 0\n";
    }
    text +=
        "OpStore %id %seed\nOpStore %fuel %c60\n%mixed = OpIMul %uint %seed %c29\n"
        "%result = OpFunctionCall %uint %f0 %mixed\n";
    if (fragment_) {
      for (int i = 0; i < 4; ++i) {
        text += fmt::format(
            "%s{0} = OpShiftRightLogical %uint %result %c{1}\n%m{0} = OpBitwiseAnd %uint %s{0} "
            "%c255\n"
            "%g{0} = OpConvertUToF %float %m{0}\n%h{0} = OpFMul %float %g{0} %scale\n",
            i, 8 * i);
      }
      text += "%rgba = OpCompositeConstruct %vec4 %h0 %h1 %h2 %h3\nOpStore %colour %rgba\n";
    } else {
      text += "%slot = OpAccessChain %buffer_uint %buffer %c0 %seed\nOpStore %slot %result\n";
    }
    return text + "OpReturn\nOpFunctionEnd\n";
  }

  std::string header() const {
    std::string text = "OpCapability Shader\n";
    if (fragment_) {
      return text +
             "OpCapability DemoteToHelperInvocation\n"
             "OpExtension \"SPV_EXT_demote_to_helper_invocation\"\n"
             "OpExtension \"SPV_KHR_terminate_invocation\"\nOpMemoryModel Logical GLSL450\n"
             "OpEntryPoint Fragment %main \"main\" %frag_coord %colour\n"
             "OpExecutionMode %main OriginUpperLeft\nOpDecorate %frag_coord BuiltIn FragCoord\n"
             "OpDecorate %colour Location 0\n";
    }
    text += "OpMemoryModel Logical GLSL450\n";
    if (kind_ == ProgramKind::Vertex) {
      text +=
          "OpEntryPoint Vertex %main \"main\" %vertex_index %position\n"
          "OpDecorate %vertex_index BuiltIn VertexIndex\nOpDecorate %position BuiltIn Position\n";
    } else {
      text += "OpEntryPoint GLCompute %main \"main\" %global_id\n" +
              fmt::format("OpExecutionMode %main LocalSize {} 1 1\n", kGroupSize) +
              "OpDecorate %global_id BuiltIn GlobalInvocationId\n";
    }
    return text +
           "OpDecorate %values ArrayStride 4\n"
           "OpDecorate %block Block\nOpMemberDecorate %block 0 Offset 0\n"
           "OpDecorate %buffer DescriptorSet 0\nOpDecorate %buffer Binding 0\n";
  }

  std::string globals() const {
    std::string text =
        "OpDecorate %spec0 SpecId 10\nOpDecorate %spec1 SpecId 11\n"
        "%void = OpTypeVoid\n%bool = OpTypeBool\n%uint = OpTypeInt 32 0\n%int = OpTypeInt 32 1\n"
        "%void_function = OpTypeFunction %void\n%uint_function = OpTypeFunction %uint %uint\n"
        "%function_uint = OpTypePointer Function %uint\n"
        "%function_int = OpTypePointer Function %int\n"
        "%private_uint = OpTypePointer Private %uint\n%id = OpVariable %private_uint Private\n"
        "%fuel = OpVariable %private_uint Private\n"
        "%spec0 = OpSpecConstant %uint 3\n%spec1 = OpSpecConstant %uint 4\n"
        "%c255 = OpConstant %uint 255\n";
    for (int i = 0; i < 64; ++i) text += fmt::format("%c{} = OpConstant %uint {}\n", i, i);
    if (fragment_) {
      return text +
             "%float = OpTypeFloat 32\n%vec4 = OpTypeVector %float 4\n"
             "%scale = OpConstant %float 0.003921569\n"
             "%in_vec4 = OpTypePointer Input %vec4\n%out_vec4 = OpTypePointer Output %vec4\n"
             "%frag_coord = OpVariable %in_vec4 Input\n%colour = OpVariable %out_vec4 Output\n";
    }
    if (kind_ == ProgramKind::Vertex) {
      text +=
          "%in_uint = OpTypePointer Input %uint\n%vertex_index = OpVariable %in_uint Input\n"
          "%float = OpTypeFloat 32\n%vec4 = OpTypeVector %float 4\n"
          "%out_vec4 = OpTypePointer Output %vec4\n%position = OpVariable %out_vec4 Output\n"
          "%two = OpConstant %float 2\n%one = OpConstant %float 1\n"
          "%outside = OpConstantComposite %vec4 %two %two %one %one\n";
    } else {
      text +=
          "%uvec3 = OpTypeVector %uint 3\n%in_uvec3 = OpTypePointer Input %uvec3\n"
          "%global_id = OpVariable %in_uvec3 Input\n";
    }
    return text +
           "%values = OpTypeRuntimeArray %uint\n"
           "%block = OpTypeStruct %values\n%buffer_block = OpTypePointer StorageBuffer %block\n"
           "%buffer_uint = OpTypePointer StorageBuffer %uint\n"
           "%buffer = OpVariable %buffer_block StorageBuffer\n";
  }

  std::mt19937_64 random_;
  ProgramKind kind_;
  bool fragment_;
  RandomProgram program_;
  uint32_t function_count_ = 0;
  uint32_t next_ = 0;
  uint32_t calls_ = 0;     // of the function in the making
  uint32_t compound_ = 0;  // statements of it so far
  uint32_t loops_made_ = 0;
  std::string constants_;  // beyond the small ones
  std::string body_;       // of the function in the making
  std::string variables_;
  std::string current_;  // label of the block in the making
};

}  // namespace

const char* name_of(ProgramKind kind) {
  constexpr const char* kNames[] = {"compute", "fragment", "vertex"};
  return kNames[static_cast<size_t>(kind)];
}

RandomProgram random_program(uint64_t seed, ProgramKind kind) {
  return Generator(seed, kind).make();
}

}  // namespace tally::test
