// VK_EXT_shader_object. Shaders are created with the flag that instruments them.
#include <fmt/format.h>

#include <algorithm>

#include "capture/entry/entry.h"
#include "vk/boundary.h"
#include "vk/own_call.h"

namespace tally::capture {
namespace {

// Described like a stage of a pipeline.
PipelineDraft draft_of(Device& device, const VkShaderCreateInfoEXT& info) {
  VkShaderModuleCreateInfo module{VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
  module.codeSize = info.codeSize;
  module.pCode = static_cast<const uint32_t*>(info.pCode);
  VkPipelineShaderStageCreateInfo stage{VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO};
  stage.stage = info.stage;
  stage.pName = info.pName;
  stage.pSpecializationInfo = info.pSpecializationInfo;
  if (info.codeType == VK_SHADER_CODE_TYPE_SPIRV_EXT) {
    stage.pNext = &module;
  } else {
    const auto known = device.shader_objects().find_binary(
        {static_cast<const std::byte*>(info.pCode), info.codeSize});
    if (known) return known->draft;
  }
  const bool compute = info.stage == VK_SHADER_STAGE_COMPUTE_BIT;
  return device.shaders().draft(
      compute ? VK_PIPELINE_BIND_POINT_COMPUTE : VK_PIPELINE_BIND_POINT_GRAPHICS, {&stage, 1}, {});
}

// Decides about the flag, and whether the shader is counted.
void decide(Device& device, ShaderObject& object) {
  if (device.frames().over()) {
    object.not_instrumented = "it was created after the captured frames";
    return;
  }
  const bool is_selected = object.draft.selected_by(device.connection().settings().shader_pattern);
  if (!is_selected) object.not_instrumented = "the shader pattern does not select it";
  // A shader gets its name after its creation.
  object.has_flag = is_selected || device.sets_names();
}

VkResult create(VkDevice handle, std::span<const VkShaderCreateInfoEXT> originals,
                const VkAllocationCallbacks* allocator, VkShaderEXT* shaders) {
  const auto device = Device::find(handle);
  std::vector<VkShaderCreateInfoEXT> infos(originals.begin(), originals.end());
  std::vector<ShaderObject> objects;
  bool any = false;
  for (VkShaderCreateInfoEXT& info : infos) {
    ShaderObject& object = objects.emplace_back();
    object.draft = draft_of(*device, info);
    decide(*device, object);
    if (!object.has_flag) continue;
    info.flags |= VK_SHADER_CREATE_INSTRUMENT_SHADER_BIT_ARM;
    any = true;
  }
  const auto call = [&](const VkShaderCreateInfoEXT* chosen) {
    std::fill_n(shaders, infos.size(), VkShaderEXT{VK_NULL_HANDLE});
    return device->table().CreateShadersEXT(handle, static_cast<uint32_t>(infos.size()), chosen,
                                            allocator, shaders);
  };
  std::string diagnostics;
  VkResult result = VK_SUCCESS;
  {
    const ReasonCollector reasons(ReasonCollector::kInstrumentation);
    result = call(infos.data());
    diagnostics = reasons.text();
  }
  if (result < 0 && result != VK_ERROR_DEVICE_LOST && any) {
    for (size_t i = 0; i < infos.size(); ++i) {
      if (shaders[i] == VK_NULL_HANDLE) continue;
      device->table().DestroyShaderEXT(handle, shaders[i], allocator);
    }
    for (ShaderObject& object : objects) {
      object.has_flag = false;
      if (object.not_instrumented.empty())
        object.not_instrumented =
            fmt::format("the driver refused it ({})", vk::result_name(result));
    }
    result = call(originals.data());
  }
  for (size_t i = 0; i < objects.size(); ++i) {
    if (shaders[i] == VK_NULL_HANDLE) continue;
    objects[i].diagnostics = diagnostics;
    device->shader_objects().add(shaders[i], std::move(objects[i]));
  }
  if (!diagnostics.empty()) device->connection().message(store::Severity::Warning, diagnostics);
  return result;
}

VKAPI_ATTR VkResult VKAPI_CALL CreateShadersEXT(VkDevice d, uint32_t count,
                                                const VkShaderCreateInfoEXT* infos,
                                                const VkAllocationCallbacks* a,
                                                VkShaderEXT* shaders) {
  return vk::guarded([&] { return create(d, {infos, count}, a, shaders); });
}

VKAPI_ATTR void VKAPI_CALL DestroyShaderEXT(VkDevice d, VkShaderEXT shader,
                                            const VkAllocationCallbacks* a) {
  vk::guarded_void([&] {
    const auto device = Device::find(d);
    if (shader != VK_NULL_HANDLE) device->shader_objects().remove(shader);
    device->table().DestroyShaderEXT(d, shader, a);
  });
}

VKAPI_ATTR VkResult VKAPI_CALL GetShaderBinaryDataEXT(VkDevice d, VkShaderEXT shader, size_t* size,
                                                      void* data) {
  return vk::guarded([&] {
    const auto device = Device::find(d);
    const VkResult result = device->table().GetShaderBinaryDataEXT(d, shader, size, data);
    if (result == VK_SUCCESS && data) {
      device->shader_objects().add_binary(shader, {static_cast<const std::byte*>(data), *size});
    }
    return result;
  });
}

VKAPI_ATTR void VKAPI_CALL CmdBindShadersEXT(VkCommandBuffer b, uint32_t count,
                                             const VkShaderStageFlagBits* stages,
                                             const VkShaderEXT* shaders) {
  CommandBuffer* state = find_command_buffer(b);
  if (!state) return;
  state->record([&](VkCommandBuffer to, bool) {
    state->table().CmdBindShadersEXT(to, count, stages, shaders);
  });
  if (!state->bound()) return;
  vk::guarded_void([&] { state->bound()->bind_shaders(count, stages, shaders); });
}

}  // namespace

std::span<const DeviceHook> shader_object_hooks() {
#define TALLY_ROW(name) device_hook<&DeviceTable::name>("vk" #name, name)
  static const DeviceHook rows[] = {
      TALLY_ROW(CreateShadersEXT),
      TALLY_ROW(DestroyShaderEXT),
      TALLY_ROW(GetShaderBinaryDataEXT),
      TALLY_ROW(CmdBindShadersEXT),
  };
#undef TALLY_ROW
  return rows;
}

}  // namespace tally::capture
