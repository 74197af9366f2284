// What an emulated query counts, as sums of things that the layer can count: the rows of a query
// pool. A query in GPU memory holds one 64-bit number for each row (queries/pool.h); the API's
// results are made from the rows.
#pragma once

#include <vulkan/vulkan_core.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "spirv/analysis/cost.h"

namespace tally::counters {

// What the commands themselves say, counted when they are recorded. Of indirect commands the
// numbers that stand in buffers are added on the GPU.
enum class CommandMetric : uint8_t {
  Draws,              // commands that draw, once each, whatever they draw; mesh draws included
  IndirectDraws,      // those of them that read their arguments from a buffer
  Dispatches,         // dispatches, indirect ones included
  Traces,             // of rays
  Vertices,           // vertices assembled: by draw, times instances
  Primitives,         // primitives assembled, times instances
  Patches,            // patches assembled, times instances
  LastPrimitives,     // primitives assembled where no later stage makes others of them
  ClippedPrimitives,  // the same, with rasterization
  Workgroups,         // of direct and indirect dispatches
  MeshWorkgroups,     // of direct and indirect mesh draws
  PipelineBinds,
  DescriptorBinds,  // commands that bind or push descriptors
  VertexBufferBinds,
  IndexBufferBinds,
  ConstantUpdates,  // of push constants
  Barriers,         // pipeline barriers, and waits for events
  RenderPasses,     // begun; dynamic ones included
  Transfers,        // copies, blits, resolves, fills, updates, clears outside of render passes
  Clears,           // of attachments within render passes
};
inline constexpr size_t kCommandMetrics = static_cast<size_t>(CommandMetric::Clears) + 1;

// Stages that count primitives which the pipeline makes of others, or of nothing. The tessellation
// control shader does where no geometry shader follows.
inline constexpr VkShaderStageFlags kPrimitiveMakers = VK_SHADER_STAGE_TESSELLATION_CONTROL_BIT |
                                                       VK_SHADER_STAGE_GEOMETRY_BIT |
                                                       VK_SHADER_STAGE_MESH_BIT_EXT;

struct QuerySource {
  enum class Kind : uint8_t {
    Invocations,   // of shaders of `stages`
    Subgroups,     // that began a shader of `stages`, where the stage has subgroup operations
    Cost,          // what the shaders of `stages` executed of `cost`
    Samples,       // covered by fragment invocations that were not discarded
    Primitives,    // that geometry and mesh shaders of `stages` put out, or the tessellator
    Command,       // `command`
    Time,          // ticks of the device's clock from the query's begin to its end
    Marker,        // VK_INTEL_performance_query: the last one before the query's end, or 0
    StreamMarker,  // likewise
    HasMarkers,    // bit 0: there was a marker, bit 1: a stream marker
  };
  Kind kind = Kind::Command;
  VkShaderStageFlags stages = VK_SHADER_STAGE_ALL;
  spirv::CostClass cost = spirv::CostClass::Instruction;
  CommandMetric command = CommandMetric::Draws;
  // Of primitives of geometry shaders: which vertex streams count.
  enum class Streams : uint8_t { All, Rasterized, Queried, One };
  Streams streams = Streams::All;
  uint8_t stream = 0;  // where it is one

  bool counts_in_shaders() const { return kind < Kind::Command; }
};

// A row is the sum of its sources.
using QueryRow = std::vector<QuerySource>;

// How one result of the API is made from the rows: row * scale, or row * scale / divisor (0 where
// the divisor is 0). Whole numbers without scale and divisor are exact.
struct QueryResult {
  uint32_t row = 0;
  std::optional<uint32_t> divisor;
  float scale = 1.0f;
  VkPerformanceCounterStorageKHR storage = VK_PERFORMANCE_COUNTER_STORAGE_UINT64_KHR;
};

}  // namespace tally::counters
