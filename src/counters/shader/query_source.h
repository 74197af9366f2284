// The things that an emulated query counts. A query has rows, each a 64-bit number in GPU memory
// (queries/pool.h). A row is a sum of sources that the layer can count. The results of the API are
// computed from the rows.
#pragma once

#include <vulkan/vulkan_core.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "spirv/analysis/cost.h"

namespace tally::counters {

// Counted by the host when it records commands. For indirect commands the GPU adds what depends on
// their arguments.
enum class CommandMetric : uint8_t {
  Draws,              // draw commands, mesh draws included
  IndirectDraws,      // those that read their arguments from a buffer
  Dispatches,         // direct and indirect
  Traces,             // vkCmdTraceRays*
  Vertices,           // vertices assembled
  Primitives,         // primitives assembled
  Patches,            // patches assembled
  LastPrimitives,     // primitives assembled, if no later stage replaces them
  ClippedPrimitives,  // the same, if rasterization is enabled
  Workgroups,         // of direct and indirect dispatches
  MeshWorkgroups,     // of direct and indirect mesh draws
  PipelineBinds,
  DescriptorBinds,  // commands that bind or push descriptors
  VertexBufferBinds,
  IndexBufferBinds,
  ConstantUpdates,  // of push constants
  Barriers,         // pipeline barriers, and waits for events
  RenderPasses,     // render pass instances, dynamic ones included
  Transfers,        // copies, blits, resolves, fills, updates, and clears outside of render passes
  Clears,           // of attachments inside render passes
};
inline constexpr size_t kCommandMetrics = static_cast<size_t>(CommandMetric::Clears) + 1;

// Stages in which output primitives are counted. The tessellation control shader counts those of
// the tessellator, if no geometry shader follows.
inline constexpr VkShaderStageFlags kPrimitiveMakers = VK_SHADER_STAGE_TESSELLATION_CONTROL_BIT |
                                                       VK_SHADER_STAGE_GEOMETRY_BIT |
                                                       VK_SHADER_STAGE_MESH_BIT_EXT;

struct QuerySource {
  enum class Kind : uint8_t {
    Invocations,   // of shaders of `stages`
    Subgroups,     // that executed a shader of `stages`, if the stage has subgroup operations
    Cost,          // instructions of class `cost` that shaders of `stages` executed
    Samples,       // covered by fragment invocations that were not discarded
    Primitives,    // output of geometry shaders, mesh shaders or the tessellator
    Command,       // `command`
    Time,          // ticks of the device's clock from the query's begin to its end
    Marker,        // VK_INTEL_performance_query: the last marker before the end, or 0
    StreamMarker,  // the last stream marker before the end, or 0
    HasMarkers,    // bit 0: there was a marker, bit 1: a stream marker
  };
  Kind kind = Kind::Command;
  VkShaderStageFlags stages = VK_SHADER_STAGE_ALL;
  spirv::CostClass cost = spirv::CostClass::Instruction;
  CommandMetric command = CommandMetric::Draws;
  // For primitives of geometry shaders: which vertex streams count.
  enum class Streams : uint8_t { All, Rasterized, Queried, One };
  Streams streams = Streams::All;
  uint8_t stream = 0;  // for Streams::One

  bool counts_in_shaders() const { return kind < Kind::Command; }
};

// A row is the sum of its sources.
using QueryRow = std::vector<QuerySource>;

// How a result of the API is computed: row * scale, or row * scale / divisor (0 if the divisor is
// 0). Integers without scale and divisor are exact.
struct QueryResult {
  uint32_t row = 0;
  std::optional<uint32_t> divisor;
  float scale = 1.0f;
  VkPerformanceCounterStorageKHR storage = VK_PERFORMANCE_COUNTER_STORAGE_UINT64_KHR;
};

}  // namespace tally::counters
