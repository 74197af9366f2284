#include "spirv/ir/grammar.h"

#include <algorithm>
#include <iterator>
#include <tuple>

namespace tally::spirv {
namespace {

constexpr Enumerant kEnumerants[] = {
#define KIND(kind, category)
#define ENUMERANT(kind, value, name, operands, extensions) \
  {#kind, value, name, operands, extensions},
#include "spirv/ir/enumerant_table.inc"
#undef ENUMERANT
#undef KIND
};

struct Kind {
  std::string_view name;
  KindOfOperand category;
};
constexpr Kind kKinds[] = {
#define KIND(kind, category) {#kind, KindOfOperand::category},
#define ENUMERANT(kind, value, name, operands, extensions)
#include "spirv/ir/enumerant_table.inc"
#undef ENUMERANT
#undef KIND
};

constexpr ExtendedInstruction kExtended[] = {
#define EXT_INST(set, number, name, operands) {set, number, name, operands},
#include "spirv/ir/ext_inst_table.inc"
#undef EXT_INST
};

constexpr auto key_of(const Enumerant& one) { return std::tuple(one.kind, one.value); }

static_assert(std::ranges::is_sorted(kEnumerants, {}, key_of));
static_assert(std::ranges::is_sorted(kKinds, {}, &Kind::name));

}  // namespace

KindOfOperand kind_of_operand(std::string_view kind) {
  const Kind* found = std::ranges::lower_bound(kKinds, kind, {}, &Kind::name);
  return found != std::end(kKinds) && found->name == kind ? found->category : KindOfOperand::Other;
}

const Enumerant* find_enumerant(std::string_view kind, uint32_t value) {
  const std::tuple key(kind, value);
  const Enumerant* found = std::ranges::lower_bound(kEnumerants, key, {}, key_of);
  return found != std::end(kEnumerants) && key_of(*found) == key ? found : nullptr;
}

const ExtendedInstruction* find_extended_instruction(std::string_view set, uint32_t number) {
  const ExtendedInstruction* begin = std::ranges::find_if(
      kExtended, [&](const ExtendedInstruction& one) { return set.starts_with(one.set); });
  if (begin == std::end(kExtended)) return nullptr;
  const ExtendedInstruction* end =
      std::find_if(begin, std::end(kExtended),
                   [&](const ExtendedInstruction& one) { return one.set != begin->set; });
  const ExtendedInstruction* found = std::lower_bound(
      begin, end, number,
      [](const ExtendedInstruction& one, uint32_t wanted) { return one.number < wanted; });
  return found != end && found->number == number ? found : nullptr;
}

}  // namespace tally::spirv
