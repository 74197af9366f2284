// Objects that the capture describes: shader modules, shader objects, render passes, framebuffers,
// views, swapchains and names.
#include <algorithm>

#include "capture/entry/entry.h"
#include "capture/submit/live_totals.h"
#include "vk/own_call.h"

namespace tally::capture {
namespace {

// Calls the next layer, then records the created object.
template <auto Member, typename Info, typename Handle, typename Note>
VkResult create(VkDevice handle, const Info* info, const VkAllocationCallbacks* allocator,
                Handle* object, Note note) noexcept {
  return vk::guarded([&] {
    const auto device = Device::find(handle);
    const VkResult result = (device->table().*Member)(handle, info, allocator, object);
    if (result == VK_SUCCESS) vk::guarded_void([&] { note(*device); });
    return result;
  });
}

// Removes the object, then calls the next layer. After that call, another object may get the same
// handle.
template <auto Member, typename Handle, typename Forget>
void destroy(VkDevice handle, Handle object, const VkAllocationCallbacks* allocator,
             Forget forget) noexcept {
  vk::guarded_void([&] {
    const auto device = Device::find(handle);
    if (object != VK_NULL_HANDLE) forget(*device);
    (device->table().*Member)(handle, object, allocator);
  });
}

VKAPI_ATTR VkResult VKAPI_CALL CreateShaderModule(VkDevice d, const VkShaderModuleCreateInfo* info,
                                                  const VkAllocationCallbacks* a,
                                                  VkShaderModule* module) {
  return create<&DeviceTable::CreateShaderModule>(d, info, a, module, [&](Device& device) {
    device.shaders().add_module(*module, {info->pCode, info->codeSize / sizeof(uint32_t)});
  });
}

VKAPI_ATTR void VKAPI_CALL DestroyShaderModule(VkDevice d, VkShaderModule module,
                                               const VkAllocationCallbacks* a) {
  destroy<&DeviceTable::DestroyShaderModule>(
      d, module, a, [&](Device& device) { device.shaders().remove_module(module); });
}

VKAPI_ATTR VkResult VKAPI_CALL CreateRenderPass(VkDevice d, const VkRenderPassCreateInfo* info,
                                                const VkAllocationCallbacks* a,
                                                VkRenderPass* pass) {
  return create<&DeviceTable::CreateRenderPass>(
      d, info, a, pass, [&](Device& device) { device.passes().add(*pass, *info); });
}

VKAPI_ATTR VkResult VKAPI_CALL CreateRenderPass2(VkDevice d, const VkRenderPassCreateInfo2* info,
                                                 const VkAllocationCallbacks* a,
                                                 VkRenderPass* pass) {
  return create<&DeviceTable::CreateRenderPass2>(
      d, info, a, pass, [&](Device& device) { device.passes().add(*pass, *info); });
}

VKAPI_ATTR void VKAPI_CALL DestroyRenderPass(VkDevice d, VkRenderPass pass,
                                             const VkAllocationCallbacks* a) {
  destroy<&DeviceTable::DestroyRenderPass>(d, pass, a,
                                           [&](Device& device) { device.passes().remove(pass); });
}

VKAPI_ATTR VkResult VKAPI_CALL CreateFramebuffer(VkDevice d, const VkFramebufferCreateInfo* info,
                                                 const VkAllocationCallbacks* a,
                                                 VkFramebuffer* framebuffer) {
  const auto create_with = [&](const VkFramebufferCreateInfo* used) {
    return create<&DeviceTable::CreateFramebuffer>(d, used, a, framebuffer, [&](Device& device) {
      device.passes().add(*framebuffer, *used, device.images());
    });
  };
  std::optional<ReadableFramebuffer> readable;
  vk::guarded_void([&] {
    const auto device = Device::find(d);
    if (device->images()) readable.emplace(*info);
  });
  const VkResult result = create_with(readable ? readable->get() : info);
  const bool changed = readable && (info->flags & VK_FRAMEBUFFER_CREATE_IMAGELESS_BIT) != 0;
  return changed && worth_another_try(result) ? create_with(info) : result;
}

VKAPI_ATTR void VKAPI_CALL DestroyFramebuffer(VkDevice d, VkFramebuffer framebuffer,
                                              const VkAllocationCallbacks* a) {
  destroy<&DeviceTable::DestroyFramebuffer>(
      d, framebuffer, a, [&](Device& device) { device.passes().remove(framebuffer); });
}

VKAPI_ATTR VkResult VKAPI_CALL CreateImageView(VkDevice d, const VkImageViewCreateInfo* info,
                                               const VkAllocationCallbacks* a, VkImageView* view) {
  return create<&DeviceTable::CreateImageView>(d, info, a, view, [&](Device& device) {
    device.passes().add(*view, *info);
    if (device.images()) device.images()->add(*view, *info);
    if (DescriptorSizes* sizes = device.descriptor_sizes()) sizes->add(*view, *info);
  });
}

VKAPI_ATTR void VKAPI_CALL DestroyImageView(VkDevice d, VkImageView view,
                                            const VkAllocationCallbacks* a) {
  destroy<&DeviceTable::DestroyImageView>(d, view, a, [&](Device& device) {
    device.passes().remove(view);
    if (device.images()) device.images()->remove(view);
    if (DescriptorSizes* sizes = device.descriptor_sizes()) sizes->remove(view);
  });
}

VKAPI_ATTR VkResult VKAPI_CALL CreateSwapchainKHR(VkDevice d, const VkSwapchainCreateInfoKHR* info,
                                                  const VkAllocationCallbacks* a,
                                                  VkSwapchainKHR* swapchain) {
  const auto create_with = [&](const VkSwapchainCreateInfoKHR* used) {
    return create<&DeviceTable::CreateSwapchainKHR>(d, used, a, swapchain, [&](Device& device) {
      device.frames().swapchain_created();
      LiveTotals::instance().swapchain_created();
      if (device.images()) device.images()->add(*swapchain, *used);
    });
  };
  std::optional<ReadableSwapchain> readable;
  vk::guarded_void([&] {
    const auto device = Device::find(d);
    if (device->images()) readable.emplace(*device->images(), *info);
  });
  const VkResult result = create_with(readable ? readable->get() : info);
  const bool changed =
      readable && readable->get()->imageUsage != stated_usage(info->pNext, info->imageUsage);
  if (!changed || !worth_another_try(result)) return result;
  VkSwapchainCreateInfoKHR plain = *info;
  plain.oldSwapchain = VK_NULL_HANDLE;  // the attempt has retired it
  return create_with(&plain);
}

VKAPI_ATTR void VKAPI_CALL DestroySwapchainKHR(VkDevice d, VkSwapchainKHR swapchain,
                                               const VkAllocationCallbacks* a) {
  destroy<&DeviceTable::DestroySwapchainKHR>(d, swapchain, a, [&](Device& device) {
    device.frames().swapchain_destroyed();
    if (device.images()) device.images()->remove(swapchain);
  });
}

// VK_EXT_debug_report and VkObjectType use the same numbers for the objects of Vulkan 1.0.
VKAPI_ATTR VkResult VKAPI_CALL
DebugMarkerSetObjectNameEXT(VkDevice d, const VkDebugMarkerObjectNameInfoEXT* info) {
  return vk::guarded([&] {
    const auto device = Device::find(d);
    vk::guarded_void([&] {
      device->set_name(static_cast<VkObjectType>(info->objectType), info->object,
                       info->pObjectName);
    });
    return device->table().DebugMarkerSetObjectNameEXT(d, info);
  });
}

}  // namespace

std::span<const DeviceHook> object_hooks() {
#define TALLY_ROW(name) device_hook<&DeviceTable::name>("vk" #name, name)
  static const DeviceHook rows[] = {
      TALLY_ROW(CreateShaderModule),
      TALLY_ROW(DestroyShaderModule),
      TALLY_ROW(CreateRenderPass),
      TALLY_ROW(CreateRenderPass2),
      device_hook<&DeviceTable::CreateRenderPass2>("vkCreateRenderPass2KHR", CreateRenderPass2),
      TALLY_ROW(DestroyRenderPass),
      TALLY_ROW(CreateFramebuffer),
      TALLY_ROW(DestroyFramebuffer),
      TALLY_ROW(CreateImageView),
      TALLY_ROW(DestroyImageView),
      TALLY_ROW(CreateSwapchainKHR),
      TALLY_ROW(DestroySwapchainKHR),
      TALLY_ROW(DebugMarkerSetObjectNameEXT),
  };
#undef TALLY_ROW
  return rows;
}

// Images. If the final images of render passes are captured, those that passes draw into are
// created readable, and queries about them are answered for the changed usage.

namespace {

VkResult create_readable(Device& device, const VkImageCreateInfo& info,
                         const VkAllocationCallbacks* allocator, VkImage* image) {
  const ReadableImage readable(*device.images(), info);
  const VkImageCreateInfo* used = readable.get();
  VkResult result = device.table().CreateImage(device.handle(), used, allocator, image);
  if (result < 0 && used->usage != stated_usage(info.pNext, info.usage)) {
    used = &info;
    result = device.table().CreateImage(device.handle(), used, allocator, image);
  }
  if (result == VK_SUCCESS) vk::guarded_void([&] { device.images()->add(*image, *used); });
  return result;
}

VKAPI_ATTR VkResult VKAPI_CALL CreateImage(VkDevice handle, const VkImageCreateInfo* info,
                                           const VkAllocationCallbacks* allocator, VkImage* image) {
  return vk::guarded([&] {
    const auto device = Device::find(handle);
    const VkResult result = device->images()
                                ? create_readable(*device, *info, allocator, image)
                                : device->table().CreateImage(handle, info, allocator, image);
    DescriptorSizes* const sizes = device->descriptor_sizes();
    if (result == VK_SUCCESS && sizes) vk::guarded_void([&] { sizes->add(*image, *info); });
    return result;
  });
}

VKAPI_ATTR void VKAPI_CALL DestroyImage(VkDevice handle, VkImage image,
                                        const VkAllocationCallbacks* allocator) {
  vk::guarded_void([&] {
    const auto device = Device::find(handle);
    if (image != VK_NULL_HANDLE) {
      if (device->images()) device->images()->remove(image);
      if (DescriptorSizes* sizes = device->descriptor_sizes()) sizes->remove(image);
    }
    device->table().DestroyImage(handle, image, allocator);
  });
}

// Calls `next(device, info)` with the usage that the layer would give to such an image.
template <typename Next>
void ask(VkDevice handle, const VkDeviceImageMemoryRequirements& info, Next next) noexcept {
  vk::guarded_void([&] {
    const auto device = Device::find(handle);
    const ReadableImage image(*device->images(), *info.pCreateInfo);
    VkDeviceImageMemoryRequirements changed = info;
    changed.pCreateInfo = image.get();
    next(device->table(), &changed);
  });
}

VKAPI_ATTR void VKAPI_CALL GetDeviceImageMemoryRequirements(
    VkDevice handle, const VkDeviceImageMemoryRequirements* info, VkMemoryRequirements2* needs) {
  ask(handle, *info, [&](const DeviceTable& next, const VkDeviceImageMemoryRequirements* changed) {
    next.GetDeviceImageMemoryRequirements(handle, changed, needs);
  });
}

VKAPI_ATTR void VKAPI_CALL
GetDeviceImageSparseMemoryRequirements(VkDevice handle, const VkDeviceImageMemoryRequirements* info,
                                       uint32_t* count, VkSparseImageMemoryRequirements2* needs) {
  ask(handle, *info, [&](const DeviceTable& next, const VkDeviceImageMemoryRequirements* changed) {
    next.GetDeviceImageSparseMemoryRequirements(handle, changed, count, needs);
  });
}

VKAPI_ATTR VkResult VKAPI_CALL GetSwapchainImagesKHR(VkDevice handle, VkSwapchainKHR swapchain,
                                                     uint32_t* count, VkImage* images) {
  return vk::guarded([&] {
    const auto device = Device::find(handle);
    const VkResult result = device->table().GetSwapchainImagesKHR(handle, swapchain, count, images);
    if (result >= 0 && images) {
      vk::guarded_void([&] { device->images()->add_images(swapchain, *count, images); });
    }
    return result;
  });
}

}  // namespace

std::span<const DeviceHook> image_hooks() {
  constexpr uint32_t kAny = DeviceCondition::kPictures | DeviceCondition::kSizes;
#define TALLY_ROW(name, suffix) \
  device_hook<&DeviceTable::name>("vk" #name suffix, name, DeviceCondition::kPictures)
  static const DeviceHook rows[] = {
      device_hook<&DeviceTable::CreateImage>("vkCreateImage", CreateImage, kAny),
      device_hook<&DeviceTable::DestroyImage>("vkDestroyImage", DestroyImage, kAny),
      TALLY_ROW(GetDeviceImageMemoryRequirements, ""),
      TALLY_ROW(GetDeviceImageMemoryRequirements, "KHR"),
      TALLY_ROW(GetDeviceImageSparseMemoryRequirements, ""),
      TALLY_ROW(GetDeviceImageSparseMemoryRequirements, "KHR"),
      TALLY_ROW(GetSwapchainImagesKHR, ""),
  };
#undef TALLY_ROW
  return rows;
}

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
            "the application has read the binary of a replaced shader: if it stores binaries, "
            "delete them, or its next run uses the replacement, too");
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
