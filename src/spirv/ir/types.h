// The shapes of a module's types: the number and width of components, and the bytes. One pass makes
// an entry for each instruction before the first function, so a nested type costs as much as
// its own words. Sizes saturate.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "spirv/ir/module.h"

namespace tally::spirv {

// Arithmetic on sizes that a module declares: a result beyond `max` is `max`.

template <uint64_t max>
constexpr uint64_t saturating_sum(uint64_t a, uint64_t b) {
  return std::min(a + b, max);
}

template <uint64_t max>
constexpr uint64_t saturating_product(uint64_t a, uint64_t b) {
  return b != 0 && a > max / b ? max : std::min(a * b, max);
}

struct TypeShape {
  enum class Kind : uint8_t {
    None,  // not a type, or a type without values to count: void, images, samplers ...
    Bool,
    Int,
    Float,
    Pointer,
    Composite,          // a struct, or an array of those
    CooperativeMatrix,  // one component, because many invocations share it
  };

  Kind kind = Kind::None;
  uint8_t width = 0;        // bits of a component of kind Int, Float or Pointer
  uint64_t components = 1;  // scalars in all
  uint64_t bytes = 0;       // without padding
  uint64_t rows = 1;        // of a matrix, cooperative or not; components of a vector
  uint64_t columns = 1;     // of a matrix
};

class TypeTable {
 public:
  explicit TypeTable(const Module& module);

  // The shape of a type, by its id; None for other ids.
  const TypeShape& shape(uint32_t type_id) const;
  // The shape of the type of a value, by its id.
  const TypeShape& shape_of(uint32_t id) const { return shape(module_->type_of(id)); }
  // True if a specialization constant determines the size of a type.
  bool depends_on_specialization() const { return depends_on_specialization_; }

 private:
  TypeShape make(const Instruction& type);
  TypeShape repeated(TypeShape element, uint64_t count) const;
  TypeShape composite(const Instruction& type) const;
  TypeShape cooperative_matrix(const Instruction& type);
  uint64_t constant_or_one(uint32_t id);

  const Module* module_;
  std::vector<TypeShape> shapes_;  // by instruction index
  bool depends_on_specialization_ = false;
};

}  // namespace tally::spirv
