#include "support/shader_objects.h"

#include <array>

namespace tally::test {
namespace {

constexpr std::array kGraphicsStages = {VK_SHADER_STAGE_VERTEX_BIT,
                                        VK_SHADER_STAGE_TESSELLATION_CONTROL_BIT,
                                        VK_SHADER_STAGE_TESSELLATION_EVALUATION_BIT,
                                        VK_SHADER_STAGE_GEOMETRY_BIT,
                                        VK_SHADER_STAGE_FRAGMENT_BIT,
                                        VK_SHADER_STAGE_TASK_BIT_EXT,
                                        VK_SHADER_STAGE_MESH_BIT_EXT};

bool has_mesh_shaders(const Context& context) {
  return context.has_extension(VK_EXT_MESH_SHADER_EXTENSION_NAME);
}

// Calls a device function by name.
template <typename Function, typename... Arguments>
void call(const Context& context, const char* name, Arguments... arguments) {
  context.function<Function>(name)(arguments...);
}

}  // namespace

ShaderObjects::ShaderObjects(const Context& context, const std::vector<ShaderObjectInfo>& infos)
    : context_(context) {
  std::vector<VkShaderCreateInfoEXT> created;
  std::vector<VkPushConstantRange> ranges(infos.size());
  for (size_t i = 0; i < infos.size(); ++i) {
    const ShaderObjectInfo& asked = infos[i];
    VkShaderCreateInfoEXT& info = created.emplace_back();
    info = {VK_STRUCTURE_TYPE_SHADER_CREATE_INFO_EXT, asked.shader.next};
    info.flags = asked.flags;
    info.stage = asked.shader.stage;
    info.nextStage = asked.next_stage;
    info.codeType = VK_SHADER_CODE_TYPE_SPIRV_EXT;
    info.codeSize = asked.shader.code.size_bytes();
    info.pCode = asked.shader.code.data();
    if (!asked.binary.empty()) {
      info.codeType = VK_SHADER_CODE_TYPE_BINARY_EXT;
      info.codeSize = asked.binary.size();
      info.pCode = asked.binary.data();
    }
    info.pName = asked.shader.entry;
    info.pSpecializationInfo = asked.shader.specialization;
    info.setLayoutCount = static_cast<uint32_t>(asked.sets.size());
    info.pSetLayouts = asked.sets.data();
    ranges[i] = {VK_SHADER_STAGE_ALL, 0, asked.push_bytes};
    info.pushConstantRangeCount = asked.push_bytes != 0 ? 1 : 0;
    if (asked.push_bytes != 0) info.pPushConstantRanges = &ranges[i];
    stages_.push_back(asked.shader.stage);
  }
  handles_.resize(infos.size());
  check(context.function<PFN_vkCreateShadersEXT>("vkCreateShadersEXT")(
      context.device(), static_cast<uint32_t>(created.size()), created.data(), nullptr,
      handles_.data()));
}

ShaderObjects::~ShaderObjects() {
  for (const VkShaderEXT handle : handles_) {
    call<PFN_vkDestroyShaderEXT>(context_, "vkDestroyShaderEXT", context_.device(), handle,
                                 nullptr);
  }
}

void ShaderObjects::bind(VkCommandBuffer commands) const {
  call<PFN_vkCmdBindShadersEXT>(context_, "vkCmdBindShadersEXT", commands,
                                static_cast<uint32_t>(handles_.size()), stages_.data(),
                                handles_.data());
}

std::vector<std::byte> ShaderObjects::binary(size_t i) const {
  const auto get = context_.function<PFN_vkGetShaderBinaryDataEXT>("vkGetShaderBinaryDataEXT");
  size_t size = 0;
  check(get(context_.device(), handles_.at(i), &size, nullptr));
  std::vector<std::byte> data(size);
  check(get(context_.device(), handles_.at(i), &size, data.data()));
  data.resize(size);
  return data;
}

void bind_shader(const Context& context, VkCommandBuffer commands, VkShaderStageFlagBits stage,
                 VkShaderEXT shader) {
  call<PFN_vkCmdBindShadersEXT>(context, "vkCmdBindShadersEXT", commands, 1u, &stage, &shader);
}

void unbind_graphics_shaders(const Context& context, VkCommandBuffer commands) {
  const auto count = static_cast<uint32_t>(kGraphicsStages.size());
  call<PFN_vkCmdBindShadersEXT>(context, "vkCmdBindShadersEXT", commands,
                                has_mesh_shaders(context) ? count : count - 2,
                                kGraphicsStages.data(), nullptr);
}

void set_draw_state(const Context& context, VkCommandBuffer commands, const DrawState& state) {
  const VkViewport viewport = {
      0, 0, static_cast<float>(state.extent.width), static_cast<float>(state.extent.height), 0, 1};
  const VkRect2D scissor = {{0, 0}, state.extent};
  const VkSampleMask mask = ~0u;
  const VkBool32 off = VK_FALSE;
  const VkColorComponentFlags all = 0xf;
  const VkColorBlendEquationEXT equation{};
  const auto set = [&]<typename... Arguments>(auto function, const char* name,
                                              Arguments... arguments) {
    call<decltype(function)>(context, name, commands, arguments...);
  };
  vkCmdSetViewportWithCount(commands, 1, &viewport);
  vkCmdSetScissorWithCount(commands, 1, &scissor);
  vkCmdSetRasterizerDiscardEnable(commands, state.rasterizer_discard);
  vkCmdSetPrimitiveTopology(commands, state.topology);
  vkCmdSetPrimitiveRestartEnable(commands, VK_FALSE);
  vkCmdSetCullMode(commands, VK_CULL_MODE_NONE);
  vkCmdSetFrontFace(commands, VK_FRONT_FACE_COUNTER_CLOCKWISE);
  vkCmdSetDepthTestEnable(commands, VK_FALSE);
  vkCmdSetDepthWriteEnable(commands, VK_FALSE);
  vkCmdSetDepthCompareOp(commands, VK_COMPARE_OP_ALWAYS);
  vkCmdSetDepthBiasEnable(commands, VK_FALSE);
  vkCmdSetDepthBoundsTestEnable(commands, VK_FALSE);
  vkCmdSetStencilTestEnable(commands, VK_FALSE);
  set(PFN_vkCmdSetVertexInputEXT{}, "vkCmdSetVertexInputEXT", 0u, nullptr, 0u, nullptr);
  set(PFN_vkCmdSetPatchControlPointsEXT{}, "vkCmdSetPatchControlPointsEXT",
      state.patch_control_points);
  set(PFN_vkCmdSetRasterizationSamplesEXT{}, "vkCmdSetRasterizationSamplesEXT",
      VK_SAMPLE_COUNT_1_BIT);
  set(PFN_vkCmdSetSampleMaskEXT{}, "vkCmdSetSampleMaskEXT", VK_SAMPLE_COUNT_1_BIT, &mask);
  set(PFN_vkCmdSetAlphaToCoverageEnableEXT{}, "vkCmdSetAlphaToCoverageEnableEXT", VK_FALSE);
  set(PFN_vkCmdSetPolygonModeEXT{}, "vkCmdSetPolygonModeEXT", VK_POLYGON_MODE_FILL);
  set(PFN_vkCmdSetTessellationDomainOriginEXT{}, "vkCmdSetTessellationDomainOriginEXT",
      VK_TESSELLATION_DOMAIN_ORIGIN_UPPER_LEFT);
  set(PFN_vkCmdSetLogicOpEnableEXT{}, "vkCmdSetLogicOpEnableEXT", VK_FALSE);
  set(PFN_vkCmdSetColorBlendEnableEXT{}, "vkCmdSetColorBlendEnableEXT", 0u, 1u, &off);
  set(PFN_vkCmdSetColorBlendEquationEXT{}, "vkCmdSetColorBlendEquationEXT", 0u, 1u, &equation);
  set(PFN_vkCmdSetColorWriteMaskEXT{}, "vkCmdSetColorWriteMaskEXT", 0u, 1u, &all);
  if (context.features().depthClamp) {
    set(PFN_vkCmdSetDepthClampEnableEXT{}, "vkCmdSetDepthClampEnableEXT", VK_FALSE);
  }
  if (context.features().alphaToOne) {
    set(PFN_vkCmdSetAlphaToOneEnableEXT{}, "vkCmdSetAlphaToOneEnableEXT", VK_FALSE);
  }
}

std::unique_ptr<Context> make_shader_object_context(bool instrumented) {
  bool mesh_shaders = false;
  {
    const Context driver;
    if (!driver.has_extension(VK_EXT_SHADER_OBJECT_EXTENSION_NAME)) return nullptr;
    mesh_shaders = has_mesh_shaders(driver);
  }
  VkPhysicalDeviceMeshShaderFeaturesEXT mesh = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MESH_SHADER_FEATURES_EXT};
  mesh.taskShader = mesh.meshShader = VK_TRUE;
  VkPhysicalDeviceShaderObjectFeaturesEXT objects = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_OBJECT_FEATURES_EXT, nullptr, VK_TRUE};
  VkPhysicalDeviceShaderInstrumentationFeaturesARM instrumentation = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INSTRUMENTATION_FEATURES_ARM, &objects, VK_TRUE};
  ContextOptions options;
  options.device_extensions = {VK_EXT_SHADER_OBJECT_EXTENSION_NAME};
  if (mesh_shaders) {
    options.device_extensions.push_back(VK_EXT_MESH_SHADER_EXTENSION_NAME);
    objects.pNext = &mesh;
  }
  options.device_next = &objects;
  if (instrumented) {
    options.layers = {"VK_LAYER_TALLY_counters"};
    options.device_extensions.push_back(VK_ARM_SHADER_INSTRUMENTATION_EXTENSION_NAME);
    options.device_next = &instrumentation;
  }
  return std::make_unique<Context>(options);
}

}  // namespace tally::test
