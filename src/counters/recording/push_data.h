// The push data of the application in a command buffer: all bytes are its own. Record pointers of
// the layer write over some of them, which are pushed again before a command that reads them; and
// shaders whose push-constant blocks were moved to memory read copies.
#pragma once

#include <vulkan/vulkan_core.h>

#include <tally/vulkan_newest.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "counters/base/device_table.h"
#include "counters/memory/chunk.h"

namespace tally::counters {

class PushData {
 public:
  // At the begin of a recording. The memory of copies stays.
  void reset();
  // The application's values are lost.
  void clear();
  // An update by the application.
  void keep(const VkPushDataInfoEXT& info);

  // The layer writes the bytes [begin, end).
  void note_overwritten(uint32_t begin, uint32_t end);
  // True if values of the application are overwritten.
  bool needs_restore() const { return overwritten(0, 0); }
  bool needs_restore_outside(uint32_t begin, uint32_t end) const { return overwritten(begin, end); }
  void restore(VkCommandBuffer commands, const DeviceTable& next);

  // The address of a copy of `size` bytes of the current values. 0 if there is no memory.
  VkDeviceAddress copy(const MemoryContext& memory, uint32_t size);

 private:
  bool overwritten(uint32_t except_begin, uint32_t except_end) const;

  std::vector<std::byte> bytes_;
  uint32_t begin_ = 0, end_ = 0;                // of the values that are known; empty when equal
  uint32_t lost_begin_ = 0, lost_end_ = 0;      // of the bytes that the layer wrote
  VkDeviceAddress copy_ = 0;                    // of the current values; 0: none
  std::vector<std::unique_ptr<Chunk>> chunks_;  // of copies
  size_t chunk_ = 0;                            // the one that the next copy is in
  VkDeviceSize used_ = 0;                       // of it
};

}  // namespace tally::counters
