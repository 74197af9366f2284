#include "counters/objects/shader_object_creation.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <utility>

#include <tally/vulkan_arm.h>
#include <tally/vulkan_newest.h>

#include "counters/objects/object_state.h"
#include "counters/objects/shader_layouts.h"
#include "counters/objects/shader_object_variants.h"
#include "counters/objects/stage_code.h"
#include "counters/shader/specialization.h"
#include "vk/boundary.h"
#include "vk/own_call.h"

namespace tally::counters {
namespace {

bool wants_instrumentation(const VkShaderCreateInfoEXT& info) {
  return (info.flags & VK_SHADER_CREATE_INSTRUMENT_SHADER_BIT_ARM) != 0;
}
bool is_linked(const VkShaderCreateInfoEXT& info) {
  return (info.flags & VK_SHADER_CREATE_LINK_STAGE_BIT_EXT) != 0;
}

VkPipelineLayoutCreateInfo layout_info_of(const VkShaderCreateInfoEXT& info) {
  // VK_SHADER_CREATE_INDEPENDENT_SETS_BIT_KHR, newer than the headers of Debian 12.
  constexpr VkShaderCreateFlagsEXT kIndependentSets = 0x40000;
  VkPipelineLayoutCreateInfo layout{VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
  if ((info.flags & kIndependentSets) != 0) {
    layout.flags = VK_PIPELINE_LAYOUT_CREATE_INDEPENDENT_SETS_BIT_EXT;
  }
  layout.setLayoutCount = info.setLayoutCount;
  layout.pSetLayouts = info.pSetLayouts;
  layout.pushConstantRangeCount = info.pushConstantRangeCount;
  layout.pPushConstantRanges = info.pPushConstantRanges;
  return layout;
}

std::span<const std::byte> code_of(const VkShaderCreateInfoEXT& info) {
  return {static_cast<const std::byte*>(info.pCode), info.codeSize};
}

std::shared_ptr<const ShaderOrigin> origin_of(ObjectState& state,
                                              const VkShaderCreateInfoEXT& info) {
  if (info.codeType != VK_SHADER_CODE_TYPE_SPIRV_EXT) {
    return state.shader_binaries.find(code_of(info));
  }
  auto origin = std::make_shared<ShaderOrigin>();
  origin->code =
      state.codes.add({static_cast<const uint32_t*>(info.pCode), info.codeSize / sizeof(uint32_t)});
  origin->entry_point = info.pName;
  if (const VkSpecializationInfo* values = info.pSpecializationInfo) {
    origin->entries.assign(values->pMapEntries, values->pMapEntries + values->mapEntryCount);
    const auto* bytes = static_cast<const std::byte*>(values->pData);
    origin->data.assign(bytes, bytes + values->dataSize);
  }
  origin->chain = info.pNext;
  origin->keeps_chain = keep_shader_chain(origin->memory, origin->chain);
  return origin;
}

bool is_binary(const VkShaderCreateInfoEXT& info) {
  return info.codeType == VK_SHADER_CODE_TYPE_BINARY_EXT;
}

// The push data of a shader with descriptor heaps. Nothing is known about a binary of unknown
// origin.
std::shared_ptr<PipelineLayout> heap_layout_of(ObjectState& state,
                                               const VkShaderCreateInfoEXT& info,
                                               const ShaderOrigin* origin) {
  const auto find = [&](const PushReads& reads) { return state.heap_layouts.find(reads, true); };
  if (!origin || (is_binary(info) && !origin->keeps_chain)) return find(PushReads::everything());
  const void* chain = is_binary(info) ? origin->chain : info.pNext;
  return find(push_reads(origin->code.get(), info.stage, origin->entry_point.c_str(), chain));
}

// The application's create infos with the layer's push constants and sets, and without
// VK_SHADER_CREATE_INSTRUMENT_SHADER_BIT_ARM. Shaders with descriptor heaps have neither.
class PlainShaders {
 public:
  PlainShaders(ObjectState& state, WordPool& words,
               std::span<const VkShaderCreateInfoEXT> originals)
      : infos_(originals.begin(), originals.end()) {
    for (VkShaderCreateInfoEXT& info : infos_) {
      info.flags &= ~VK_SHADER_CREATE_INSTRUMENT_SHADER_BIT_ARM;
      Layout& layout = layouts_.emplace_back();
      layout.origin = origin_of(state, info);
      if ((info.flags & VK_SHADER_CREATE_DESCRIPTOR_HEAP_BIT_EXT) != 0) {
        layout.known = heap_layout_of(state, info, layout.origin.get());
        layout.sets.emplace();
        continue;
      }
      const VkPipelineLayoutCreateInfo asked = layout_info_of(info);
      layout.sets = state.set_layouts.find({info.pSetLayouts, info.setLayoutCount});
      layout.known = std::make_shared<PipelineLayout>(asked, state.layout_rules);
      layout.extended = layout.known->extend(words, {info.pSetLayouts, info.setLayoutCount});
      if (!layout.extended) continue;
      info.setLayoutCount = static_cast<uint32_t>(layout.extended->sets.size());
      info.pSetLayouts = layout.extended->sets.data();
      info.pushConstantRangeCount = static_cast<uint32_t>(layout.extended->ranges.size());
      info.pPushConstantRanges = layout.extended->ranges.data();
    }
  }

  std::span<const VkShaderCreateInfoEXT> infos() const { return infos_; }
  // The application's, without the flag alone.
  std::span<const VkShaderCreateInfoEXT> unextended(
      std::span<const VkShaderCreateInfoEXT> originals) {
    infos_.assign(originals.begin(), originals.end());
    for (VkShaderCreateInfoEXT& info : infos_) {
      info.flags &= ~VK_SHADER_CREATE_INSTRUMENT_SHADER_BIT_ARM;
    }
    return infos_;
  }

  // Null for a binary of unknown origin.
  const std::shared_ptr<const ShaderOrigin>& origin(size_t i) const { return layouts_[i].origin; }

  // Nothing if one of the application's set layouts cannot be kept.
  const std::optional<KeptSetLayouts>& sets(size_t i) const { return layouts_[i].sets; }

  // `counts`: the layer's commands need a handle of it. Null if there is none.
  std::shared_ptr<PipelineLayout> layout(const ObjectState& state, size_t i, bool counts) const {
    const Layout& layout = layouts_[i];
    if (layout.known && layout.known->has_heaps()) return layout.known;
    if (!layout.extended) return nullptr;
    if (!counts && !layout.known->covers_reserved()) return layout.known;
    if (layout.sets) {
      layout.known->create_own_later(state.device.handle, state.device.next,
                                     layout_info_of(infos_[i]).flags, *layout.extended,
                                     *layout.sets);
      return layout.known;
    }
    const VkResult result = layout.known->create_own(state.device.handle, state.device.next,
                                                     layout_info_of(infos_[i]), *layout.extended);
    return result == VK_SUCCESS ? layout.known : nullptr;
  }

 private:
  struct Layout {
    std::shared_ptr<const ShaderOrigin> origin;
    std::shared_ptr<PipelineLayout> known;
    std::optional<PipelineLayout::Extended> extended;
    std::optional<KeptSetLayouts> sets;
  };
  std::vector<VkShaderCreateInfoEXT> infos_;
  std::deque<Layout> layouts_;
};

void adopt(ObjectState& state, std::span<const VkShaderCreateInfoEXT> originals,
           const PlainShaders& plain, std::span<const VkShaderEXT> handles) {
  std::vector<NewShader> linked;
  bool linked_complete = true;
  for (size_t i = 0; i < originals.size(); ++i) {
    if (handles[i] == VK_NULL_HANDLE) {
      linked_complete = linked_complete && !is_linked(originals[i]);
      continue;
    }
    auto shader =
        std::make_shared<ShaderObject>(state.device.handle, state.device.next, originals[i].stage);
    shader->variant(Variant::Plain) = handles[i];
    shader->instrumented = state.needs.instrumentation && wants_instrumentation(originals[i]);
    shader->origin = plain.origin(i);
    const bool counts = shader->instrumented || state.needs.query_counters || state.needs.regions;
    shader->layout = plain.layout(state, i, counts);
    NewShader added{plain.infos()[i], plain.sets(i), shader};
    if (is_binary(added.info) && shader->origin) added.info.pNext = shader->origin->chain;
    if (is_linked(originals[i])) {
      linked.push_back(added);
    } else {
      set_up_variants(state, {added});
    }
    state.shaders.insert(handles[i], std::move(shader));
  }
  if (!linked.empty() && linked_complete) set_up_variants(state, std::move(linked));
}

}  // namespace

VkResult create_shader_objects(ObjectState& state, WordPool& words,
                               std::span<const VkShaderCreateInfoEXT> infos,
                               const VkAllocationCallbacks* allocator, VkShaderEXT* shaders) {
  PlainShaders plain(state, words, infos);
  const auto create = [&](std::span<const VkShaderCreateInfoEXT> used) {
    return state.device.next.CreateShadersEXT(
        state.device.handle, static_cast<uint32_t>(used.size()), used.data(), allocator, shaders);
  };
  VkResult result = create(plain.infos());
  if (result < 0) {
    // With the layer's push constants and sets, they may be more than the driver has room for.
    for (size_t i = 0; i < infos.size(); ++i) {
      if (shaders[i] == VK_NULL_HANDLE) continue;
      state.device.next.DestroyShaderEXT(state.device.handle, shaders[i], allocator);
    }
    const VkResult refusal = std::exchange(result, create(plain.unextended(infos)));
    if (result < 0) return result;
    state.device.messages.notice(kUninstrumentedNotice, VK_OBJECT_TYPE_DEVICE,
                                 state.device.handle_bits(),
                                 "shader objects run uninstrumented: " +
                                     vk::OwnFailure{refusal, "vkCreateShadersEXT"}.text());
    return result;
  }
  // After an error or VK_INCOMPATIBLE_SHADER_BINARY_EXT, handles that are not null are valid.
  vk::guarded_void(
      [&] {
        adopt(state, infos, plain, {shaders, infos.size()});
      },
      [&](VkResult error) {
        state.device.messages.notice(
            kUninstrumentedNotice, VK_OBJECT_TYPE_DEVICE, state.device.handle_bits(),
            fmt::format("shader objects run uninstrumented: error {}", static_cast<int>(error)));
      });
  return result;
}

void destroy_shader_object(ObjectState& state, VkShaderEXT shader,
                           const VkAllocationCallbacks* allocator) {
  if (shader != VK_NULL_HANDLE) {
    state.shader_sets.remove(shader);
    if (const auto known = state.shaders.take(shader)) known->destroy_variants();
  }
  state.device.next.DestroyShaderEXT(state.device.handle, shader, allocator);
}

void note_shader_binary(ObjectState& state, VkShaderEXT shader, std::span<const std::byte> binary) {
  const auto known = state.shaders.find(shader);
  if (known && known->origin) state.shader_binaries.add(binary, known->origin);
}

}  // namespace tally::counters
