// Accesses to the memory of buffers, workgroups and images: which bytes or texels of which resource
// an instruction reads or writes.
#pragma once

#include <cstdint>
#include <optional>
#include <spirv/unified1/spirv.hpp11>
#include <unordered_map>
#include <vector>

#include "spirv/ir/module.h"

namespace tally::spirv {

struct MemoryAccess {
  enum class Kind { Load, Store, Atomic };
  // Bytes that an index, the id of a 32-bit integer, adds.
  struct Step {
    uint32_t index;
    uint32_t stride;
  };

  Kind kind = Kind::Load;
  spv::StorageClass storage = spv::StorageClass::StorageBuffer;
  uint32_t pointer = 0;     // id
  uint32_t variable = 0;    // id of the resource; 0: the pointer is an address
  uint32_t element = 0;     // id of the index into an array of resources; 0: it is none
  uint32_t base = 0;        // bytes from the start of the resource, without the steps
  std::vector<Step> steps;  // of a variable
  uint32_t bytes = 0;       // of the values
  uint32_t extent = 0;      // from the first byte to behind the last one
  uint32_t alignment = 1;   // of an address, as the instruction promises
  // An access to an image has the id of 32-bit integers, and how many there are. `bytes` is 0 if
  // the format is not known.
  uint32_t coordinate = 0;
  uint32_t dimensions = 0;  // 0: not of an image

  bool is_of_buffer() const { return storage != spv::StorageClass::Workgroup && dimensions == 0; }
  // True if all bytes are in one unit of so many bytes, a power of two, whatever the indices are.
  bool is_in_one(uint32_t unit) const;
};

class MemoryAccesses {
 public:
  explicit MemoryAccesses(const Module& module);

  // Empty for other instructions, and where the bytes do not follow from the types: of whole
  // structs, arrays and columns of row-major matrices, of pointers that were chosen, and where a
  // specialization constant sizes an array in an array of a workgroup. Filtered samples are no
  // accesses.
  std::optional<MemoryAccess> find(const Instruction& instruction) const;
  // Bytes by scalar alignment; 0 where they are not known.
  uint32_t size_of(uint32_t type) const;

 private:
  struct Size {
    uint32_t bytes = 0;
    uint32_t alignment = 1;
  };
  // A type on the way from the resource to the value.
  struct Place {
    uint32_t type;
    uint32_t matrix_stride = 0;  // 0: as tight as possible
    bool row_major = false;
    bool in_matrix = false;
  };

  void add_size(const Instruction& type);
  std::optional<uint32_t> constant(uint32_t id) const;
  bool step(Place& place, uint32_t index, MemoryAccess& access) const;
  bool step_into_struct(Place& place, const Instruction& type, uint32_t index,
                        MemoryAccess& access) const;
  bool add_step(uint32_t index, uint32_t stride, MemoryAccess& access) const;
  std::optional<MemoryAccess> find_texel(const Instruction& instruction) const;
  bool walk_image(uint32_t pointer, MemoryAccess& access) const;
  bool walk(const std::vector<Instruction>& chains, uint32_t root, MemoryAccess& access) const;
  bool set_extent(const Place& place, MemoryAccess& access) const;

  const Module& module_;
  std::unordered_map<uint32_t, Size>
      sizes_;  // of types, by scalar alignment; without those unknown
};

// Bytes of the entry point's variables in workgroup memory, as far as they are known. Empty where
// no other variable may be there, because these are blocks.
std::optional<uint64_t> workgroup_bytes(const Module& module, const EntryPoint& entry);

}  // namespace tally::spirv
