#include "support/ray_tracing.h"

#include <tally/vulkan_arm.h>
#include <tally/vulkan_newer.h>

#include <algorithm>
#include <cstring>

namespace tally::test {
namespace {

constexpr VkBufferUsageFlags kBuildInput =
    VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT |
    VK_BUFFER_USAGE_ACCELERATION_STRUCTURE_BUILD_INPUT_READ_ONLY_BIT_KHR;

template <typename Features>
Features features_of(VkPhysicalDevice gpu, VkStructureType type) {
  Features features = {type};
  VkPhysicalDeviceFeatures2 all = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &features};
  vkGetPhysicalDeviceFeatures2(gpu, &all);
  return features;
}

VkPhysicalDeviceRayTracingPipelineFeaturesKHR pipeline_features(const Context& context) {
  return features_of<VkPhysicalDeviceRayTracingPipelineFeaturesKHR>(
      context.gpu(), VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_RAY_TRACING_PIPELINE_FEATURES_KHR);
}

// `spacing`: the alignment of the address within the buffer.
VkDeviceAddress aligned(const Buffer& buffer, VkDeviceSize spacing) {
  return (buffer.address() + spacing - 1) / spacing * spacing;
}

VkDeviceSize scratch_alignment(const Context& context) {
  VkPhysicalDeviceAccelerationStructurePropertiesKHR structures = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ACCELERATION_STRUCTURE_PROPERTIES_KHR};
  VkPhysicalDeviceProperties2 all = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, &structures};
  vkGetPhysicalDeviceProperties2(context.gpu(), &all);
  return std::max(1u, structures.minAccelerationStructureScratchOffsetAlignment);
}

VkPhysicalDeviceRayTracingPipelinePropertiesKHR pipeline_properties(const Context& context) {
  VkPhysicalDeviceRayTracingPipelinePropertiesKHR pipeline = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_RAY_TRACING_PIPELINE_PROPERTIES_KHR};
  VkPhysicalDeviceProperties2 all = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, &pipeline};
  vkGetPhysicalDeviceProperties2(context.gpu(), &all);
  return pipeline;
}

VkAccelerationStructureInstanceKHR instance_of(const AccelerationStructure& bottom,
                                               uint32_t first_group) {
  VkAccelerationStructureInstanceKHR instance = {};
  instance.transform = {{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}}};
  instance.mask = 0xff;
  instance.instanceShaderBindingTableRecordOffset = first_group & 0xffffff;
  instance.flags = VK_GEOMETRY_INSTANCE_TRIANGLE_FACING_CULL_DISABLE_BIT_KHR;
  instance.accelerationStructureReference = bottom.address();
  return instance;
}

}  // namespace

RayTracingDevice::RayTracingDevice(void* next)
    : structures_{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ACCELERATION_STRUCTURE_FEATURES_KHR, next},
      pipeline_{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_RAY_TRACING_PIPELINE_FEATURES_KHR, &structures_},
      maintenance_{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_RAY_TRACING_MAINTENANCE_1_FEATURES_KHR},
      queries_{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_RAY_QUERY_FEATURES_KHR},
      extensions_{VK_KHR_ACCELERATION_STRUCTURE_EXTENSION_NAME,
                  VK_KHR_DEFERRED_HOST_OPERATIONS_EXTENSION_NAME,
                  VK_KHR_PIPELINE_LIBRARY_EXTENSION_NAME,
                  VK_KHR_RAY_TRACING_PIPELINE_EXTENSION_NAME} {
  structures_.accelerationStructure = VK_TRUE;
  pipeline_.rayTracingPipeline = VK_TRUE;
  pipeline_.rayTracingPipelineTraceRaysIndirect = VK_TRUE;
}

bool RayTracingDevice::supported(const Context& context) {
  return context.has_extension(VK_KHR_RAY_TRACING_PIPELINE_EXTENSION_NAME) &&
         context.has_extension(VK_KHR_PIPELINE_LIBRARY_EXTENSION_NAME) &&
         pipeline_features(context).rayTracingPipelineTraceRaysIndirect == VK_TRUE;
}

bool RayTracingDevice::supports_indirect2(const Context& context) {
  return context.has_extension(VK_KHR_RAY_TRACING_MAINTENANCE_1_EXTENSION_NAME) &&
         features_of<VkPhysicalDeviceRayTracingMaintenance1FeaturesKHR>(
             context.gpu(),
             VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_RAY_TRACING_MAINTENANCE_1_FEATURES_KHR)
                 .rayTracingPipelineTraceRaysIndirect2 == VK_TRUE;
}

bool RayTracingDevice::supports_handle_replay(const Context& context) {
  return pipeline_features(context).rayTracingPipelineShaderGroupHandleCaptureReplay == VK_TRUE;
}

void RayTracingDevice::enable_indirect2() {
  extensions_.push_back(VK_KHR_RAY_TRACING_MAINTENANCE_1_EXTENSION_NAME);
  maintenance_.rayTracingMaintenance1 = VK_TRUE;
  maintenance_.rayTracingPipelineTraceRaysIndirect2 = VK_TRUE;
  maintenance_.pNext = structures_.pNext;
  structures_.pNext = &maintenance_;
}

void RayTracingDevice::enable_ray_queries() {
  extensions_.push_back(VK_KHR_RAY_QUERY_EXTENSION_NAME);
  queries_.rayQuery = VK_TRUE;
  queries_.pNext = structures_.pNext;
  structures_.pNext = &queries_;
}

void RayTracingDevice::enable_library_handles() {
  extensions_.push_back(VK_EXT_PIPELINE_LIBRARY_GROUP_HANDLES_EXTENSION_NAME);
  library_handles_ = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_LIBRARY_GROUP_HANDLES_FEATURES_EXT,
                      structures_.pNext, VK_TRUE};
  structures_.pNext = &library_handles_;
}

ContextOptions RayTracingDevice::options(ContextOptions options) {
  options.device_extensions.insert(options.device_extensions.end(), extensions_.begin(),
                                   extensions_.end());
  options.device_next = &pipeline_;
  return options;
}

AccelerationStructure::AccelerationStructure(
    Context& context, VkAccelerationStructureTypeKHR type,
    std::span<const VkAccelerationStructureGeometryKHR> geometries,
    std::span<const uint32_t> primitives)
    : context_(context) {
  VkAccelerationStructureBuildGeometryInfoKHR build = {
      VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_BUILD_GEOMETRY_INFO_KHR};
  build.type = type;
  build.geometryCount = static_cast<uint32_t>(geometries.size());
  build.pGeometries = geometries.data();
  VkAccelerationStructureBuildSizesInfoKHR sizes = {
      VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_BUILD_SIZES_INFO_KHR};
  context.function<PFN_vkGetAccelerationStructureBuildSizesKHR>(
      "vkGetAccelerationStructureBuildSizesKHR")(context.device(),
                                                 VK_ACCELERATION_STRUCTURE_BUILD_TYPE_DEVICE_KHR,
                                                 &build, primitives.data(), &sizes);
  buffer_ = Buffer(context, sizes.accelerationStructureSize,
                   VK_BUFFER_USAGE_ACCELERATION_STRUCTURE_STORAGE_BIT_KHR |
                       VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT);
  VkAccelerationStructureCreateInfoKHR info = {
      VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_CREATE_INFO_KHR};
  info.buffer = buffer_;
  info.size = sizes.accelerationStructureSize;
  info.type = type;
  check(context.function<PFN_vkCreateAccelerationStructureKHR>("vkCreateAccelerationStructureKHR")(
      context.device(), &info, nullptr, &handle_));
  const VkDeviceSize alignment = scratch_alignment(context);
  const Buffer scratch(
      context, sizes.buildScratchSize + alignment,
      VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT);
  build.dstAccelerationStructure = handle_;
  build.scratchData.deviceAddress = aligned(scratch, alignment);
  std::vector<VkAccelerationStructureBuildRangeInfoKHR> ranges;
  for (const uint32_t count : primitives) ranges.push_back({count, 0, 0, 0});
  const VkAccelerationStructureBuildRangeInfoKHR* all_ranges = ranges.data();
  const auto record = context.function<PFN_vkCmdBuildAccelerationStructuresKHR>(
      "vkCmdBuildAccelerationStructuresKHR");
  context.run([&](VkCommandBuffer commands) {
    record(commands, 1, &build, &all_ranges);
    full_barrier(commands);
  });
  VkAccelerationStructureDeviceAddressInfoKHR address = {
      VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_DEVICE_ADDRESS_INFO_KHR};
  address.accelerationStructure = handle_;
  address_ = context.function<PFN_vkGetAccelerationStructureDeviceAddressKHR>(
      "vkGetAccelerationStructureDeviceAddressKHR")(context.device(), &address);
}

AccelerationStructure::~AccelerationStructure() {
  context_.function<PFN_vkDestroyAccelerationStructureKHR>("vkDestroyAccelerationStructureKHR")(
      context_.device(), handle_, nullptr);
}

RayScene::RayScene(Context& context, std::span<const Rectangle> rectangles,
                   std::span<const VkAabbPositionsKHR> boxes)
    : vertices_(context, rectangles.size() * 18 * sizeof(float), kBuildInput),
      boxes_(context, boxes.size_bytes(), kBuildInput),
      instances_(context, 2 * sizeof(VkAccelerationStructureInstanceKHR), kBuildInput) {
  std::vector<VkAccelerationStructureGeometryKHR> geometries;
  const auto vertices = vertices_.as<std::array<float, 3>>();
  for (size_t i = 0; i < rectangles.size(); ++i) {
    const Rectangle& r = rectangles[i];
    const std::array<float, 3> corners[4] = {{r.left, r.top, r.z},
                                             {r.right, r.top, r.z},
                                             {r.left, r.bottom, r.z},
                                             {r.right, r.bottom, r.z}};
    const size_t order[6] = {0, 1, 2, 2, 1, 3};
    for (size_t v = 0; v < 6; ++v) vertices[i * 6 + v] = corners[order[v]];
    VkAccelerationStructureGeometryKHR geometry = {
        VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_GEOMETRY_KHR};
    geometry.geometryType = VK_GEOMETRY_TYPE_TRIANGLES_KHR;
    geometry.flags =
        r.opaque ? VK_GEOMETRY_OPAQUE_BIT_KHR : VK_GEOMETRY_NO_DUPLICATE_ANY_HIT_INVOCATION_BIT_KHR;
    VkAccelerationStructureGeometryTrianglesDataKHR& triangles = geometry.geometry.triangles;
    triangles = {VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_GEOMETRY_TRIANGLES_DATA_KHR};
    triangles.vertexFormat = VK_FORMAT_R32G32B32_SFLOAT;
    triangles.vertexData.deviceAddress = vertices_.address() + i * 18 * sizeof(float);
    triangles.vertexStride = 3 * sizeof(float);
    triangles.maxVertex = 5;
    triangles.indexType = VK_INDEX_TYPE_NONE_KHR;
    geometries.push_back(geometry);
  }
  const std::vector<uint32_t> two(rectangles.size(), 2);
  triangles_.emplace(context, VK_ACCELERATION_STRUCTURE_TYPE_BOTTOM_LEVEL_KHR, geometries, two);

  std::ranges::copy(boxes, boxes_.as<VkAabbPositionsKHR>().begin());
  VkAccelerationStructureGeometryKHR geometry = {
      VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_GEOMETRY_KHR};
  geometry.geometryType = VK_GEOMETRY_TYPE_AABBS_KHR;
  geometry.flags = VK_GEOMETRY_NO_DUPLICATE_ANY_HIT_INVOCATION_BIT_KHR;
  geometry.geometry.aabbs = {VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_GEOMETRY_AABBS_DATA_KHR};
  geometry.geometry.aabbs.data.deviceAddress = boxes_.address();
  geometry.geometry.aabbs.stride = sizeof(VkAabbPositionsKHR);
  const uint32_t box_count = static_cast<uint32_t>(boxes.size());
  aabbs_.emplace(context, VK_ACCELERATION_STRUCTURE_TYPE_BOTTOM_LEVEL_KHR, std::span(&geometry, 1),
                 std::span(&box_count, 1));

  const auto instances = instances_.as<VkAccelerationStructureInstanceKHR>();
  instances[0] = instance_of(*triangles_, 0);
  instances[1] = instance_of(*aabbs_, static_cast<uint32_t>(rectangles.size()));
  geometry = {VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_GEOMETRY_KHR};
  geometry.geometryType = VK_GEOMETRY_TYPE_INSTANCES_KHR;
  geometry.geometry.instances = {
      VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_GEOMETRY_INSTANCES_DATA_KHR};
  geometry.geometry.instances.data.deviceAddress = instances_.address();
  const uint32_t instance_count = 2;
  top_.emplace(context, VK_ACCELERATION_STRUCTURE_TYPE_TOP_LEVEL_KHR, std::span(&geometry, 1),
               std::span(&instance_count, 1));
}

constexpr VkDescriptorSetLayoutBinding kRayBindings[] = {
    {0, VK_DESCRIPTOR_TYPE_ACCELERATION_STRUCTURE_KHR, 1, VK_SHADER_STAGE_ALL, nullptr},
    {1, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_ALL, nullptr}};

RaySet::RaySet(const Context& context, const RayScene& scene, VkBuffer buffer)
    : DescriptorSet(context, kRayBindings) {
  VkWriteDescriptorSetAccelerationStructureKHR structure = {
      VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET_ACCELERATION_STRUCTURE_KHR};
  structure.accelerationStructureCount = 1;
  structure.pAccelerationStructures = scene.handle();
  write(0, VkWriteDescriptorSet{VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET, &structure});
  const VkDescriptorBufferInfo whole = {buffer, 0, VK_WHOLE_SIZE};
  write(1, &whole);
}

Pipeline make_ray_pipeline(const Context& context, const RayPipelineInfo& info) {
  std::vector<ShaderModule> modules;
  std::vector<VkPipelineShaderStageCreateInfo> stages;
  for (const Stage& stage : info.stages) {
    modules.push_back(make_shader_module(context, stage.code));
    VkPipelineShaderStageCreateInfo create = {VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO};
    create.stage = stage.stage;
    create.module = modules.back();
    create.pName = stage.entry;
    create.pSpecializationInfo = stage.specialization;
    create.pNext = stage.next;
    stages.push_back(create);
  }
  std::vector<VkRayTracingShaderGroupCreateInfoKHR> groups;
  for (const RayGroup& group : info.groups) {
    VkRayTracingShaderGroupCreateInfoKHR create = {
        VK_STRUCTURE_TYPE_RAY_TRACING_SHADER_GROUP_CREATE_INFO_KHR};
    create.type = VK_RAY_TRACING_SHADER_GROUP_TYPE_TRIANGLES_HIT_GROUP_KHR;
    if (group.general != VK_SHADER_UNUSED_KHR) {
      create.type = VK_RAY_TRACING_SHADER_GROUP_TYPE_GENERAL_KHR;
    } else if (group.intersection != VK_SHADER_UNUSED_KHR) {
      create.type = VK_RAY_TRACING_SHADER_GROUP_TYPE_PROCEDURAL_HIT_GROUP_KHR;
    }
    create.generalShader = group.general;
    create.closestHitShader = group.closest_hit;
    create.anyHitShader = group.any_hit;
    create.intersectionShader = group.intersection;
    create.pShaderGroupCaptureReplayHandle = group.replay_handle;
    groups.push_back(create);
  }
  VkPipelineCreateFlags2CreateInfoKHR flags = {
      VK_STRUCTURE_TYPE_PIPELINE_CREATE_FLAGS_2_CREATE_INFO_KHR, nullptr,
      info.flags | VK_PIPELINE_CREATE_2_INSTRUMENT_SHADERS_BIT_ARM};
  VkPipelineLibraryCreateInfoKHR libraries = {VK_STRUCTURE_TYPE_PIPELINE_LIBRARY_CREATE_INFO_KHR};
  libraries.libraryCount = static_cast<uint32_t>(info.libraries.size());
  libraries.pLibraries = info.libraries.data();
  const VkRayTracingPipelineInterfaceCreateInfoKHR interface = {
      VK_STRUCTURE_TYPE_RAY_TRACING_PIPELINE_INTERFACE_CREATE_INFO_KHR, nullptr, 16, 8};
  VkRayTracingPipelineCreateInfoKHR create = {
      VK_STRUCTURE_TYPE_RAY_TRACING_PIPELINE_CREATE_INFO_KHR, info.instrumented ? &flags : nullptr,
      static_cast<VkPipelineCreateFlags>(info.flags)};
  create.stageCount = static_cast<uint32_t>(stages.size());
  create.pStages = stages.data();
  create.groupCount = static_cast<uint32_t>(groups.size());
  create.pGroups = groups.data();
  create.maxPipelineRayRecursionDepth = 2;
  if (!info.libraries.empty()) create.pLibraryInfo = &libraries;
  if (info.interface) create.pLibraryInterface = &interface;
  create.layout = info.layout;

  VkDeferredOperationKHR operation = VK_NULL_HANDLE;
  if (info.deferred) {
    check(context.function<PFN_vkCreateDeferredOperationKHR>("vkCreateDeferredOperationKHR")(
        context.device(), nullptr, &operation));
  }
  VkPipeline handle = VK_NULL_HANDLE;
  VkResult result =
      context.function<PFN_vkCreateRayTracingPipelinesKHR>("vkCreateRayTracingPipelinesKHR")(
          context.device(), operation, VK_NULL_HANDLE, 1, &create, nullptr, &handle);
  if (result == VK_OPERATION_DEFERRED_KHR) {
    const auto join =
        context.function<PFN_vkDeferredOperationJoinKHR>("vkDeferredOperationJoinKHR");
    do {
      result = join(context.device(), operation);
    } while (result == VK_THREAD_IDLE_KHR);
    check(result);
    result = context.function<PFN_vkGetDeferredOperationResultKHR>(
        "vkGetDeferredOperationResultKHR")(context.device(), operation);
  }
  if (result == VK_OPERATION_NOT_DEFERRED_KHR) result = VK_SUCCESS;
  if (operation != VK_NULL_HANDLE) {
    context.function<PFN_vkDestroyDeferredOperationKHR>("vkDestroyDeferredOperationKHR")(
        context.device(), operation, nullptr);
  }
  check(result);
  return Pipeline(context.device(), handle);
}

std::vector<std::byte> group_handles(const Context& context, VkPipeline pipeline, uint32_t groups,
                                     const char* function) {
  const auto properties = pipeline_properties(context);
  const bool replay = std::strstr(function, "CaptureReplay") != nullptr;
  const uint32_t size =
      replay ? properties.shaderGroupHandleCaptureReplaySize : properties.shaderGroupHandleSize;
  std::vector<std::byte> handles(size_t{groups} * size);
  check(context.function<PFN_vkGetRayTracingShaderGroupHandlesKHR>(function)(
      context.device(), pipeline, 0, groups, handles.size(), handles.data()));
  return handles;
}

BindingTable::BindingTable(const Context& context, VkPipeline pipeline, uint32_t groups,
                           const Parts& parts) {
  const auto properties = pipeline_properties(context);
  const std::vector<std::byte> handles = group_handles(context, pipeline, groups);
  const size_t size = properties.shaderGroupHandleSize;
  const auto align = [](VkDeviceSize value, VkDeviceSize to) { return (value + to - 1) / to * to; };
  const size_t record_bytes = parts.record_words * sizeof(uint32_t);
  const VkDeviceSize stride = align(size + record_bytes, properties.shaderGroupHandleAlignment);
  const VkDeviceSize base = properties.shaderGroupBaseAlignment;
  const std::vector<uint32_t> all[4] = {
      {parts.ray_generation}, parts.miss, parts.hit, parts.callable};
  VkDeviceSize total = base;
  for (const auto& part : all) total += align(stride * part.size(), base);
  buffer_ = Buffer(
      context, total,
      VK_BUFFER_USAGE_SHADER_BINDING_TABLE_BIT_KHR | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT);
  VkDeviceSize offset = aligned(buffer_, base) - buffer_.address();
  const uint32_t* record = parts.records.data();
  for (size_t i = 0; i < regions_.size(); ++i) {
    if (all[i].empty()) continue;
    regions_[i] = {buffer_.address() + offset, stride, stride * all[i].size()};
    for (size_t entry = 0; entry < all[i].size(); ++entry) {
      std::byte* const target = buffer_.as<std::byte>().data() + offset + entry * stride;
      if (record_bytes != 0) std::memcpy(target + size, record, record_bytes);
      record += parts.record_words;
      if (all[i][entry] == VK_SHADER_UNUSED_KHR) continue;
      std::memcpy(target, handles.data() + all[i][entry] * size, size);
    }
    offset += align(stride * all[i].size(), base);
  }
}

void trace_rays(const Context& context, VkCommandBuffer commands, const BindingTable& table,
                uint32_t width, uint32_t height, uint32_t depth) {
  const auto& regions = table.regions();
  context.function<PFN_vkCmdTraceRaysKHR>("vkCmdTraceRaysKHR")(
      commands, &regions[0], &regions[1], &regions[2], &regions[3], width, height, depth);
}

}  // namespace tally::test
