// Properties of acceleration structures: the layer passes these driver queries through while it
// emulates all other types.
#include <array>

#include "api/queries/scenes.h"

namespace tally::test {
namespace {

struct PropertyType {
  const char* name;
  VkQueryType type;
  bool maintenance;  // of VK_KHR_ray_tracing_maintenance1
};
constexpr PropertyType kTypes[] = {
    {"compacted size", VK_QUERY_TYPE_ACCELERATION_STRUCTURE_COMPACTED_SIZE_KHR, false},
    {"serialization size", VK_QUERY_TYPE_ACCELERATION_STRUCTURE_SERIALIZATION_SIZE_KHR, false},
    {"size", VK_QUERY_TYPE_ACCELERATION_STRUCTURE_SIZE_KHR, true},
    {"bottom level pointers",
     VK_QUERY_TYPE_ACCELERATION_STRUCTURE_SERIALIZATION_BOTTOM_LEVEL_POINTERS_KHR, true}};

// A property of one structure, read on the host and copied on the GPU; and whether it could be read
// before it was written (true on lavapipe).
struct Property {
  std::string name;
  uint64_t read, copied;
  VkResult before;
  bool operator==(const Property&) const = default;
};

// A bottom-level structure of one triangle.
class Structure {
 public:
  explicit Structure(Context& context);
  ~Structure() {
    context_.function<PFN_vkDestroyAccelerationStructureKHR>("vkDestroyAccelerationStructureKHR")(
        context_.device(), structure_, nullptr);
  }
  Structure(const Structure&) = delete;
  Structure& operator=(const Structure&) = delete;
  VkAccelerationStructureKHR handle() const { return structure_; }

 private:
  Context& context_;
  Buffer vertices_, storage_, scratch_;
  VkAccelerationStructureKHR structure_ = VK_NULL_HANDLE;
};

Structure::Structure(Context& context) : context_(context) {
  constexpr VkBufferUsageFlags kAddress = VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;
  vertices_ = Buffer(
      context, 36, kAddress | VK_BUFFER_USAGE_ACCELERATION_STRUCTURE_BUILD_INPUT_READ_ONLY_BIT_KHR);
  std::ranges::copy(std::array{0.f, 0.f, 0.f, 1.f, 0.f, 0.f, 0.f, 1.f, 0.f},
                    vertices_.as<float>().begin());
  VkAccelerationStructureGeometryKHR geometry{
      VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_GEOMETRY_KHR};
  geometry.geometryType = VK_GEOMETRY_TYPE_TRIANGLES_KHR;
  auto& triangles = geometry.geometry.triangles;
  triangles = {VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_GEOMETRY_TRIANGLES_DATA_KHR};
  triangles.vertexFormat = VK_FORMAT_R32G32B32_SFLOAT;
  triangles.vertexData.deviceAddress = vertices_.address();
  triangles.vertexStride = 12;
  triangles.maxVertex = 2;
  triangles.indexType = VK_INDEX_TYPE_NONE_KHR;
  VkAccelerationStructureBuildGeometryInfoKHR build{
      VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_BUILD_GEOMETRY_INFO_KHR};
  build.type = VK_ACCELERATION_STRUCTURE_TYPE_BOTTOM_LEVEL_KHR;
  build.flags = VK_BUILD_ACCELERATION_STRUCTURE_ALLOW_COMPACTION_BIT_KHR;
  build.mode = VK_BUILD_ACCELERATION_STRUCTURE_MODE_BUILD_KHR;
  build.geometryCount = 1;
  build.pGeometries = &geometry;
  const uint32_t count = 1;
  VkAccelerationStructureBuildSizesInfoKHR sizes{
      VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_BUILD_SIZES_INFO_KHR};
  context.function<PFN_vkGetAccelerationStructureBuildSizesKHR>(
      "vkGetAccelerationStructureBuildSizesKHR")(
      context.device(), VK_ACCELERATION_STRUCTURE_BUILD_TYPE_DEVICE_KHR, &build, &count, &sizes);
  storage_ = Buffer(context, sizes.accelerationStructureSize,
                    kAddress | VK_BUFFER_USAGE_ACCELERATION_STRUCTURE_STORAGE_BIT_KHR);
  // Space to align the address.
  constexpr VkDeviceSize kAlignment = 256;
  scratch_ = Buffer(context, sizes.buildScratchSize + kAlignment,
                    kAddress | VK_BUFFER_USAGE_STORAGE_BUFFER_BIT);
  const VkAccelerationStructureCreateInfoKHR info{
      VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_CREATE_INFO_KHR,
      nullptr,
      0,
      storage_,
      0,
      sizes.accelerationStructureSize,
      VK_ACCELERATION_STRUCTURE_TYPE_BOTTOM_LEVEL_KHR,
      0};
  check(context.function<PFN_vkCreateAccelerationStructureKHR>("vkCreateAccelerationStructureKHR")(
      context.device(), &info, nullptr, &structure_));
  build.dstAccelerationStructure = structure_;
  build.scratchData.deviceAddress = (scratch_.address() + kAlignment - 1) / kAlignment * kAlignment;
  const VkAccelerationStructureBuildRangeInfoKHR range{1, 0, 0, 0};
  const VkAccelerationStructureBuildRangeInfoKHR* ranges = &range;
  context.run([&](VkCommandBuffer commands) {
    context.function<PFN_vkCmdBuildAccelerationStructuresKHR>(
        "vkCmdBuildAccelerationStructuresKHR")(commands, 1, &build, &ranges);
    full_barrier(commands);
  });
}

class AccelerationStructureProperties : public QueryTypes {
 protected:
  bool has_structures() {
    start(false);
    maintenance_ = context().has_extension(VK_KHR_RAY_TRACING_MAINTENANCE_1_EXTENSION_NAME);
    return context().has_extension(VK_KHR_ACCELERATION_STRUCTURE_EXTENSION_NAME);
  }

  std::vector<Property> properties(bool with_layer) {
    VkPhysicalDeviceRayTracingMaintenance1FeaturesKHR maintenance{
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_RAY_TRACING_MAINTENANCE_1_FEATURES_KHR, nullptr, VK_TRUE};
    VkPhysicalDeviceAccelerationStructureFeaturesKHR structures{
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ACCELERATION_STRUCTURE_FEATURES_KHR,
        maintenance_ ? &maintenance : nullptr, VK_TRUE};
    ContextOptions options{.device_extensions = {VK_KHR_ACCELERATION_STRUCTURE_EXTENSION_NAME,
                                                 VK_KHR_DEFERRED_HOST_OPERATIONS_EXTENSION_NAME},
                           .device_next = &structures};
    if (maintenance_) {
      options.device_extensions.push_back(VK_KHR_RAY_TRACING_MAINTENANCE_1_EXTENSION_NAME);
    }
    start(with_layer, options);
    const Structure structure(context());
    std::vector<Property> all;
    for (const PropertyType& type : kTypes) {
      if (!type.maintenance || maintenance_) all.push_back(property(type, structure));
    }
    return all;
  }

 private:
  // Uses the second of three queries, among queries of the layer.
  Property property(const PropertyType& type, const Structure& structure) {
    const auto write = context().function<PFN_vkCmdWriteAccelerationStructuresPropertiesKHR>(
        "vkCmdWriteAccelerationStructuresPropertiesKHR");
    const Queries queries(context(), type.type, 3);
    const Queries samples(context(), VK_QUERY_TYPE_OCCLUSION);
    const Buffer buffer(context(), 8, VK_BUFFER_USAGE_TRANSFER_DST_BIT);
    const auto handle = structure.handle();
    Property result{type.name, 0, 0, VK_SUCCESS};
    context().run([&](VkCommandBuffer commands) { queries.reset(commands); });
    uint64_t number = 0;
    result.before = vkGetQueryPoolResults(context().device(), queries, 1, 1, sizeof number, &number,
                                          8, VK_QUERY_RESULT_64_BIT);
    context().run([&](VkCommandBuffer commands) {
      samples.reset(commands);
      samples.begin(commands);
      write(commands, 1, &handle, type.type, queries, 1);
      samples.end(commands);
      vkCmdCopyQueryPoolResults(commands, queries, 1, 1, buffer, 0, 8,
                                VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT);
      full_barrier(commands);
    });
    EXPECT_EQ(samples.read()[0], 0u);
    result.read = queries.read(1)[0];
    result.copied = buffer.as<uint64_t>()[0];
    return result;
  }

  bool maintenance_ = false;
};

void PrintTo(const Property& property, std::ostream* out) {
  *out << property.name << ": " << property.read << ", copied " << property.copied << ", before "
       << property.before;
}

TEST_F(AccelerationStructureProperties, are_the_drivers_with_all_other_types_emulated) {
  if (!has_structures()) GTEST_SKIP() << "no acceleration structures";
  const auto drivers = properties(false);
  const auto through_layer = properties(true);
  EXPECT_EQ(through_layer, drivers);
  for (const Property& property : through_layer) {
    EXPECT_EQ(property.read, property.copied) << property.name;
    if (property.name != "bottom level pointers") {
      EXPECT_GT(property.read, 0u) << property.name;
    }
  }
}

}  // namespace
}  // namespace tally::test
