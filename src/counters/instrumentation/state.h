// A device's state for VK_ARM_shader_instrumentation, and for all records that shaders write.
#pragma once

#include <tally/vulkan_arm.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <vector>

#include "counters/instrumentation/gather.h"
#include "counters/instrumentation/object.h"
#include "counters/instrumentation/object_names.h"
#include "counters/instrumentation/shard_table.h"
#include "vk/handle_map.h"

namespace tally::counters {

struct InstrumentationState {
  InstrumentationState(bool is_enabled, const ShardTable& shard_table)
      : enabled(is_enabled), shards(shard_table) {}

  const bool enabled;  // the application enabled the feature
  const ShardTable shards;
  std::unique_ptr<RecordGather> gather;  // null where the host reads records where they are
  vk::HandleMap<VkShaderInstrumentationARM, std::shared_ptr<Instrumentation>> objects;
  ObjectNames names;

  // Deferred destruction: keeps an object that was destroyed while in use, and releases the kept
  // objects that no submitted work uses any more. Null only releases.
  void defer_destruction(std::shared_ptr<Instrumentation> object) {
    const std::lock_guard lock(mutex_);
    std::erase_if(destroyed_, [](const auto& kept) { return !kept->in_use(); });
    if (object) destroyed_.push_back(std::move(object));
  }

 private:
  std::mutex mutex_;  // guards what follows
  std::vector<std::shared_ptr<Instrumentation>> destroyed_;
};

}  // namespace tally::counters
