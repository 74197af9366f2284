// The state of the layer that the next command of a command buffer depends on, and the first
// failure since the recording began.
#pragma once

#include <vulkan/vulkan_core.h>

#include <cstdint>

#include "vk/own_call.h"

namespace tally::counters {

struct RecordingStatus {
  enum Flag : uint32_t {
    kInstrumented = 1,     // shader instrumentation is active: every action takes a result index
    kRegions = 2,          // graphics commands are counted by region
    kQueryShaders = 4,     // active queries count in shaders
    kQueryCommands = 8,    // active queries count commands
    kDropActions = 16,     // draws, dispatches and traces are left out
    kDirtyPipelines = 32,  // a feature began or ended: the next action may need other variants
    kDirtyPointer = 64,  // a counting variant is bound, and nothing counts: it needs null pointers
    kDirtyConstants = 128,   // the layer overwrote push constants of the application
    kQuerySamples = 256,     // an occlusion query is active: each draw chooses who counts samples
    kLostGuard = 512,        // push constants of the application overwrote PushGuard
    kOnlyInvocations = 1024  // with kRegions: nothing else is counted by region
  };

  uint32_t flags = 0;
  VkResult error = VK_SUCCESS;
  vk::OwnFailure failure;  // of `error`

  bool has(uint32_t any_of) const { return (flags & any_of) != 0; }
  void set(Flag flag) { flags |= flag; }
  void clear(Flag flag) { flags &= ~flag; }
  void assign(Flag flag, bool value) { value ? set(flag) : clear(flag); }
  // Keeps the first error. After it nothing more is counted, and the end of the command buffer
  // reports it.
  void note(VkResult result) {
    if (result >= VK_SUCCESS || error != VK_SUCCESS) return;
    error = result;
    failure = vk::take_own_failure(result);
  }
};

}  // namespace tally::counters
