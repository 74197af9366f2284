// VK_EXT_shader_object. Shaders are created with the flag that instruments them.

#include <algorithm>

#include "capture/entry/entry.h"
#include "vk/own_call.h"

namespace tally::capture {
namespace {

// A shader described like a stage of a pipeline.
class StageOf {
 public:
  explicit StageOf(const VkShaderCreateInfoEXT& info) {
    module_.codeSize = info.codeSize;
    module_.pCode = static_cast<const uint32_t*>(info.pCode);
    stage_.stage = info.stage;
    stage_.pName = info.pName;
    stage_.pSpecializationInfo = info.pSpecializationInfo;
    if (info.codeType == VK_SHADER_CODE_TYPE_SPIRV_EXT) stage_.pNext = &module_;
  }
  StageOf(const StageOf&) = delete;
  StageOf& operator=(const StageOf&) = delete;

  const VkPipelineShaderStageCreateInfo& get() const { return stage_; }

 private:
  VkShaderModuleCreateInfo module_{VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
  VkPipelineShaderStageCreateInfo stage_{VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO};
};

std::shared_ptr<const ShaderObject> origin_of_binary(Device& device,
                                                     const VkShaderCreateInfoEXT& info) {
  if (info.codeType == VK_SHADER_CODE_TYPE_SPIRV_EXT) return nullptr;
  return device.shader_objects().find_binary(
      {static_cast<const std::byte*>(info.pCode), info.codeSize});
}

PipelineDraft draft_of(Device& device, const VkShaderCreateInfoEXT& info) {
  if (const auto known = origin_of_binary(device, info)) return known->draft;
  const StageOf stage(info);
  const bool compute = info.stage == VK_SHADER_STAGE_COMPUTE_BIT;
  return device.shaders().draft(
      compute ? VK_PIPELINE_BIND_POINT_COMPUTE : VK_PIPELINE_BIND_POINT_GRAPHICS, {&stage.get(), 1},
      {});
}

// Create infos whose code is replaced as `tally run --replace` says.
class ReplacedShaders {
 public:
  ReplacedShaders(Device& device, std::span<const VkShaderCreateInfoEXT> infos)
      : device_(device),
        infos_(infos.begin(), infos.end()),
        originals_(infos),
        words_(infos.size()) {
    if (!device.connection().replacements().any()) return;
    for (size_t i = 0; i < infos_.size(); ++i) replace(i);
  }

  std::span<const VkShaderCreateInfoEXT> get() const { return infos_; }
  bool has(size_t i) const { return words_[i] != nullptr; }
  bool any() const {
    return std::ranges::any_of(words_, [](const auto& one) { return !!one; });
  }
  void refuse(const std::string& reason) {
    for (size_t i = 0; i < infos_.size(); ++i) {
      if (!words_[i]) continue;
      device_.shaders().refuse_replacement(StageOf(originals_[i]).get(), reason);
      words_[i] = nullptr;
    }
  }

 private:
  void replace(size_t i) {
    const StageOf stage(originals_[i]);
    words_[i] = device_.shaders().replacement_of(stage.get(), device_.max_spirv_version());
    if (!words_[i]) return;
    infos_[i].codeSize = words_[i]->size() * sizeof(uint32_t);
    infos_[i].pCode = words_[i]->data();
    device_.shaders().name_replacement(*words_[i], stage.get());
  }

  Device& device_;
  std::vector<VkShaderCreateInfoEXT> infos_;
  const std::span<const VkShaderCreateInfoEXT> originals_;
  std::vector<Replacements::Words> words_;
};

// Decides about the flag, and whether the shader is counted.
void decide(Device& device, ShaderObject& object) {
  if (device.frames().over()) {
    object.not_instrumented = "it was created after the captured frames";
    return;
  }
  const CaptureSettings& settings = device.connection().settings();
  object.not_instrumented = object.draft.why_not_counted(settings);
  // A shader gets its name after its creation.
  object.has_flag = settings.counts && (object.not_instrumented.empty() || device.sets_names());
}

VkResult create_counted_shaders(Device* device, std::span<const VkShaderCreateInfoEXT> originals,
                                const ReplacedShaders& replaced,
                                const VkAllocationCallbacks* allocator, VkShaderEXT* shaders) {
  const VkDevice handle = device->handle();
  std::vector<VkShaderCreateInfoEXT> infos(originals.begin(), originals.end());
  std::vector<ShaderObject> objects;
  bool any = false;
  for (size_t i = 0; i < infos.size(); ++i) {
    VkShaderCreateInfoEXT& info = infos[i];
    ShaderObject& object = objects.emplace_back();
    object.draft = draft_of(*device, info);
    object.is_replacement = replaced.has(i);
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
      if (object.not_instrumented.empty()) object.not_instrumented = refusal_text(result);
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

VkResult create(VkDevice handle, std::span<const VkShaderCreateInfoEXT> originals,
                const VkAllocationCallbacks* allocator, VkShaderEXT* shaders) {
  const auto device = Device::find(handle);
  ReplacedShaders replaced(*device, originals);
  VkResult result =
      create_counted_shaders(device.get(), replaced.get(), replaced, allocator, shaders);
  if (!replaced.any() || result >= 0 || result == VK_ERROR_DEVICE_LOST) return result;
  for (size_t i = 0; i < originals.size(); ++i) {
    if (shaders[i] == VK_NULL_HANDLE) continue;
    device->shader_objects().remove(shaders[i]);
    device->table().DestroyShaderEXT(handle, shaders[i], allocator);
  }
  replaced.refuse(refusal_text(result));
  return create_counted_shaders(device.get(), originals, replaced, allocator, shaders);
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
      const auto object = device->shader_objects().find(shader);
      if (object && object->is_replacement) {
        device->connection().message(
            store::Severity::Warning,
            "the application has read the binary of a shader that is replaced: if it stores "
            "binaries, remove them, or its next run has the replacement, too");
      }
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
