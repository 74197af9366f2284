// Ray tracing in tests: acceleration structures, pipelines, shader binding tables.
#pragma once

#include <tally/vulkan_newest.h>

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "support/pipeline.h"

namespace tally::test {

// The extensions and features that ray-tracing pipelines need, chained in front of `next`. The
// Context of a device without them throws.
class RayTracingDevice {
 public:
  explicit RayTracingDevice(void* next = nullptr);
  RayTracingDevice(const RayTracingDevice&) = delete;
  RayTracingDevice& operator=(const RayTracingDevice&) = delete;

  // True if the device has them all.
  static bool supported(const Context& context);
  static bool supports_indirect2(const Context& context);
  static bool supports_handle_replay(const Context& context);

  // Call before options().
  void enable_indirect2();
  void enable_handle_replay() { pipeline_.rayTracingPipelineShaderGroupHandleCaptureReplay = true; }
  void enable_ray_queries();
  void enable_library_handles();
  // Adds the extensions and the features.
  ContextOptions options(ContextOptions options = {});

 private:
  VkPhysicalDeviceAccelerationStructureFeaturesKHR structures_;
  VkPhysicalDeviceRayTracingPipelineFeaturesKHR pipeline_;
  VkPhysicalDeviceRayTracingMaintenance1FeaturesKHR maintenance_;
  VkPhysicalDeviceRayQueryFeaturesKHR queries_;
  VkPhysicalDevicePipelineLibraryGroupHandlesFeaturesEXT library_handles_;
  std::vector<const char*> extensions_;
};

// A bottom-level or top-level structure, built on the device.
class AccelerationStructure {
 public:
  AccelerationStructure(Context& context, VkAccelerationStructureTypeKHR type,
                        std::span<const VkAccelerationStructureGeometryKHR> geometries,
                        std::span<const uint32_t> primitives);
  ~AccelerationStructure();
  AccelerationStructure(const AccelerationStructure&) = delete;
  AccelerationStructure& operator=(const AccelerationStructure&) = delete;

  const VkAccelerationStructureKHR* handle() const { return &handle_; }
  VkDeviceAddress address() const { return address_; }

 private:
  Context& context_;
  Buffer buffer_;
  VkAccelerationStructureKHR handle_ = VK_NULL_HANDLE;
  VkDeviceAddress address_ = 0;
};

// An axis-aligned rectangle at the depth z, made of two triangles.
struct Rectangle {
  float left, top, right, bottom;
  float z;
  bool opaque = true;
};

// Two instances: the rectangles, each a geometry of its own, with hit groups 0, 1, ...; and the
// boxes, one geometry that is not opaque, with the hit group after them.
class RayScene {
 public:
  RayScene(Context& context, std::span<const Rectangle> rectangles,
           std::span<const VkAabbPositionsKHR> boxes);

  const VkAccelerationStructureKHR* handle() const { return top_->handle(); }

 private:
  Buffer vertices_, boxes_, instances_;
  std::optional<AccelerationStructure> triangles_, aabbs_, top_;
};

// A set with the scene at binding 0 and a storage buffer at binding 1.
class RaySet : public DescriptorSet {
 public:
  RaySet(const Context& context, const RayScene& scene, VkBuffer buffer);
  void bind(VkCommandBuffer commands, VkPipelineLayout layout,
            VkPipelineBindPoint point = VK_PIPELINE_BIND_POINT_RAY_TRACING_KHR) const {
    DescriptorSet::bind(commands, layout, point);
  }
};

// A shader group by the indices of its stages.
struct RayGroup {
  uint32_t general = VK_SHADER_UNUSED_KHR;
  uint32_t closest_hit = VK_SHADER_UNUSED_KHR;
  uint32_t any_hit = VK_SHADER_UNUSED_KHR;
  uint32_t intersection = VK_SHADER_UNUSED_KHR;
  const void* replay_handle = nullptr;
};

struct RayPipelineInfo {
  std::vector<Stage> stages;
  std::vector<RayGroup> groups;
  VkPipelineLayout layout = VK_NULL_HANDLE;
  std::vector<VkPipeline> libraries;
  uint64_t flags = 0;        // of VkPipelineCreateFlags2 too, if instrumented
  bool instrumented = true;  // adds VK_PIPELINE_CREATE_2_INSTRUMENT_SHADERS_BIT_ARM
  bool interface = false;    // states the library interface
  bool deferred = false;     // asks for a deferred creation, and joins it
};
// Recursion depth 2, payloads of 16 bytes.
Pipeline make_ray_pipeline(const Context& context, const RayPipelineInfo& info);

std::vector<std::byte> group_handles(const Context& context, VkPipeline pipeline, uint32_t groups,
                                     const char* function = "vkGetRayTracingShaderGroupHandlesKHR");

// A shader binding table in one buffer. Each part lists groups of the pipeline;
// VK_SHADER_UNUSED_KHR stands for a null handle.
class BindingTable {
 public:
  struct Parts {
    uint32_t ray_generation = 0;
    std::vector<uint32_t> miss, hit, callable;
    // The data after each handle in the table, as large for every record: first for ray generation,
    // then for the others in the order above.
    size_t record_words = 0;
    std::vector<uint32_t> records = {};
  };
  BindingTable(const Context& context, VkPipeline pipeline, uint32_t groups, const Parts& parts);

  using Regions = std::array<VkStridedDeviceAddressRegionKHR, 4>;  // as vkCmdTraceRaysKHR has them
  const Regions& regions() const { return regions_; }

 private:
  Buffer buffer_;
  Regions regions_ = {};
};

void trace_rays(const Context& context, VkCommandBuffer commands, const BindingTable& table,
                uint32_t width, uint32_t height, uint32_t depth = 1);

}  // namespace tally::test
