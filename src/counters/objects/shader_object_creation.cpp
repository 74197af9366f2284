#include "counters/objects/shader_object_creation.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>

#include <tally/vulkan_arm.h>
#include <tally/vulkan_newest.h>

#include "counters/objects/object_state.h"
#include "counters/objects/shader_layouts.h"
#include "counters/objects/stage_code.h"
#include "counters/shader/specialization.h"
#include "vk/boundary.h"

namespace tally::counters {
namespace {

bool wants_instrumentation(const VkShaderCreateInfoEXT& info) {
  return (info.flags & VK_SHADER_CREATE_INSTRUMENT_SHADER_BIT_ARM) != 0;
}
// VK_SHADER_CREATE_INDIRECT_BINDABLE_BIT_EXT, newer than the headers of Debian 12.
bool may_be_in_sets(const VkShaderCreateInfoEXT& info) { return (info.flags & 0x80) != 0; }
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
  return origin;
}

// Of a shader with descriptor heaps. Of a binary of unknown origin, nothing is known.
std::shared_ptr<PipelineLayout> heap_layout_of(ObjectState& state,
                                               const VkShaderCreateInfoEXT& info) {
  const auto origin = origin_of(state, info);
  return state.heap_layouts.find(origin ? push_data_end(*origin->code, info.pNext) : 0);
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
      if ((info.flags & VK_SHADER_CREATE_DESCRIPTOR_HEAP_BIT_EXT) != 0) {
        layout.known = heap_layout_of(state, info);
        continue;
      }
      const VkPipelineLayoutCreateInfo asked = layout_info_of(info);
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

  // `counts`: the layer's commands need a handle of it. Null if there is none.
  std::shared_ptr<PipelineLayout> layout(const ObjectState& state, size_t i, bool counts) const {
    const Layout& layout = layouts_[i];
    if (layout.known && layout.known->has_heaps()) return layout.known;
    if (!layout.extended) return nullptr;
    if (!counts && !layout.known->covers_reserved()) return layout.known;
    const VkResult result = layout.known->create_own(state.device.handle, state.device.next,
                                                     layout_info_of(infos_[i]), *layout.extended);
    return result == VK_SUCCESS ? layout.known : nullptr;
  }

 private:
  struct Layout {
    std::shared_ptr<PipelineLayout> known;
    std::optional<PipelineLayout::Extended> extended;
  };
  std::vector<VkShaderCreateInfoEXT> infos_;
  std::deque<Layout> layouts_;
};

// One shader, or all shaders that are linked: the variants of each. `alpha_to_coverage`: for draws
// that may enable it.
class ShaderGroup {
 public:
  struct Member {
    const VkShaderCreateInfoEXT* info = nullptr;  // without the layer's flag
    std::shared_ptr<ShaderObject> shader;
  };

  ShaderGroup(ObjectState& state, std::vector<Member> members, bool alpha_to_coverage)
      : state_(state), members_(std::move(members)), alpha_to_coverage_(alpha_to_coverage) {}

  void create_variants() {
    const bool blocks =
        state_.needs.query_counters || any([](const Member& m) { return m.shader->instrumented; });
    const bool regions = state_.needs.regions && any([](const Member& member) {
                           return member.shader->stage == VK_SHADER_STAGE_FRAGMENT_BIT;
                         });
    if ((!blocks && !regions) || !all_known()) return;
    describe_stages();
    if (blocks) create(Variant::Blocks);
    if (regions) create(Variant::Regions);
    if (blocks && regions) create(Variant::Both);
  }
  // Whether a variant has fragment tests before its shader.
  bool tests_early() const { return tests_early_; }

 private:
  template <typename Condition>
  bool any(Condition condition) const {
    return std::ranges::any_of(members_, condition);
  }

  bool all_known() const {
    for (const Member& member : members_) {
      if (member.shader->origin) continue;
      refuse(member, "it was created from a binary whose SPIR-V is not known");
      return false;
    }
    return true;
  }

  void refuse(const Member& member, const std::string& reason) const {
    const auto& origin = member.shader->origin;
    state_.device.messages.notice(
        kUninstrumentedNotice, VK_OBJECT_TYPE_SHADER_EXT,
        vk::handle_bits(member.shader->variant(Variant::Plain)),
        fmt::format("a {} shader ({}) runs uninstrumented: {}", stage_name(member.shader->stage),
                    to_string(origin ? origin->code->hash : Hash128{}), reason));
  }

  // What StageVariants knows of the stages of a pipeline.
  void describe_stages() {
    for (const Member& member : members_) {
      VkPipelineShaderStageCreateInfo& info = stage_infos_.emplace_back(
          VkPipelineShaderStageCreateInfo{VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO});
      info.stage = member.shader->stage;
      info.pName = member.shader->origin->entry_point.c_str();
      stages_.emplace_back(&info, member.shader->origin->code);
    }
  }

  // What the stage counts in this variant.
  Variant wanted(const Member& member, Variant variant) const {
    const bool blocks =
        counts_blocks(variant) && (member.shader->instrumented || state_.needs.query_counters);
    const bool regions =
        counts_regions(variant) && member.shader->stage == VK_SHADER_STAGE_FRAGMENT_BIT;
    return make_variant(blocks, regions);
  }

  struct Counted {
    std::shared_ptr<const InstrumentedShader> code;  // null: the application's code
    Variant variant = Variant::Plain;
  };

  Result<std::shared_ptr<const InstrumentedShader>> instrument(size_t i, Variant variant) const {
    const ShaderObject& shader = *members_[i].shader;
    if (!shader.layout || shader.layout->path() == AddressPath::None) {
      return Error{"its push constants leave no room for the record pointer"};
    }
    const auto addressing = shader.layout->shader_addressing(shader.stage);
    if (!addressing) {
      return Error{"shader objects need space for record pointers in the push constants"};
    }
    StageVariants::Request request;
    request.variant = variant;
    request.addressing = *addressing;
    request.alpha_to_coverage = alpha_to_coverage_;
    request.primitive_ids = has_primitive_ids(stages_);
    request.tessellation = tessellation_of(stages_);
    const auto options = StageVariants::make_options(state_.instrumenter, stages_[i], request,
                                                     variant, std::nullopt);
    if (!options) return options.error();
    return state_.instrumenter.instrument(stages_[i], *options);
  }

  // Counts as much of `variant` as possible.
  Counted count(size_t i, Variant variant) const {
    variant = wanted(members_[i], variant);
    while (variant != Variant::Plain) {
      const auto made = instrument(i, variant);
      if (made) return {*made, variant};
      refuse(members_[i], made.error().message);
      variant = variant == Variant::Both ? Variant::Blocks : Variant::Plain;
    }
    return {};
  }

  void create(Variant variant) {
    std::vector<Counted> counted;
    for (size_t i = 0; i < members_.size(); ++i) {
      const auto& code = counted.emplace_back(count(i, variant)).code;
      tests_early_ = tests_early_ || (code && code->info->tests_early);
    }
    if (std::ranges::none_of(counted, [](const Counted& one) { return one.code != nullptr; })) {
      return;
    }
    std::vector<VkShaderCreateInfoEXT> infos;
    std::deque<Specialization> constants;
    std::deque<VkSpecializationInfo> specializations;
    for (size_t i = 0; i < members_.size(); ++i) {
      const ShaderOrigin& origin = *members_[i].shader->origin;
      const VkSpecializationInfo original = origin.specialization();
      constants.emplace_back(&original);
      const bool moved = place_counters(i, variant, counted[i], constants.back());
      specializations.push_back(constants.back().info());
      infos.push_back(variant_info(i, counted[i]));
      if (moved || !origin.entries.empty())
        infos.back().pSpecializationInfo = &specializations.back();
    }
    std::vector<VkShaderEXT> handles(members_.size());
    const VkResult result = state_.device.next.CreateShadersEXT(
        state_.device.handle, static_cast<uint32_t>(infos.size()), infos.data(), nullptr,
        handles.data());
    for (size_t i = 0; i < members_.size(); ++i) {
      ShaderObject& shader = *members_[i].shader;
      if (result != VK_SUCCESS) {
        if (handles[i] != VK_NULL_HANDLE) {
          state_.device.next.DestroyShaderEXT(state_.device.handle, handles[i], nullptr);
        }
        if (counted[i].code) {
          refuse(members_[i],
                 fmt::format("the driver rejected its instrumented variant with error {}",
                             static_cast<int>(result)));
        }
        continue;
      }
      shader.variant(variant) = handles[i];
      if (counted[i].code && counts_blocks(counted[i].variant)) {
        shader.infos[static_cast<size_t>(variant)] = counted[i].code->info;
      }
    }
  }

  VkShaderCreateInfoEXT variant_info(size_t i, const Counted& counted) const {
    const ShaderOrigin& origin = *members_[i].shader->origin;
    const std::vector<uint32_t>& words = counted.code ? counted.code->words : origin.code->words;
    VkShaderCreateInfoEXT info = *members_[i].info;
    info.codeType = VK_SHADER_CODE_TYPE_SPIRV_EXT;
    info.codeSize = words.size() * sizeof(uint32_t);
    info.pCode = words.data();
    info.pName = origin.entry_point.c_str();
    info.pSpecializationInfo = nullptr;
    return info;
  }

  // The shaders of a stage that are in one execution set count into one record. Returns whether
  // constants were added.
  bool place_counters(size_t i, Variant variant, const Counted& counted,
                      Specialization& constants) const {
    ShaderObject& shader = *members_[i].shader;
    if (!counts_blocks(counted.variant) || !may_be_in_sets(*members_[i].info) ||
        !counted.code->record_spec_ids) {
      return false;
    }
    const uint32_t capacity = probe::stage_capacity(counted.code->info->plan.counter_count);
    const auto range = state_.counter_ranges.take(capacity);
    shader.ranges[static_cast<size_t>(variant)] = range;
    if (range->first == 0) return false;
    const spirv::RecordSpecIds& ids = *counted.code->record_spec_ids;
    constants.add(ids.first_byte, probe::counter_bytes(range->first));
    constants.add(ids.stride_bytes,
                  probe::counter_bytes(probe::shard_stride(range->first + capacity)));
    return true;
  }

  ObjectState& state_;
  std::vector<Member> members_;
  const bool alpha_to_coverage_;
  bool tests_early_ = false;
  std::deque<VkPipelineShaderStageCreateInfo> stage_infos_;
  std::vector<Stage> stages_;
};

// Alpha to coverage is dynamic state. All draws of an execution set have the same variants.
void create_variants(ObjectState& state, std::vector<ShaderGroup::Member> members) {
  const bool in_sets = std::ranges::any_of(
      members, [](const ShaderGroup::Member& member) { return may_be_in_sets(*member.info); });
  ShaderGroup group(state, members, in_sets);
  group.create_variants();
  if (in_sets || !group.tests_early()) return;
  for (ShaderGroup::Member& member : members) {
    ShaderObject& shader = *member.shader;
    member.shader = shader.covering =
        std::make_shared<ShaderObject>(shader.device, shader.next, shader.stage);
    shader.covering->variant(Variant::Plain) = shader.variant(Variant::Plain);
    shader.covering->instrumented = shader.instrumented;
    shader.covering->origin = shader.origin;
    shader.covering->layout = shader.layout;
  }
  ShaderGroup(state, std::move(members), true).create_variants();
}

void adopt(ObjectState& state, std::span<const VkShaderCreateInfoEXT> originals,
           const PlainShaders& plain, std::span<const VkShaderEXT> handles) {
  std::vector<ShaderGroup::Member> linked;
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
    shader->origin = origin_of(state, originals[i]);
    const bool counts = shader->instrumented || state.needs.query_counters || state.needs.regions;
    shader->layout = plain.layout(state, i, counts);
    const ShaderGroup::Member member{&plain.infos()[i], shader};
    if (is_linked(originals[i])) {
      linked.push_back(member);
    } else {
      create_variants(state, {member});
    }
    state.shaders.insert(handles[i], std::move(shader));
  }
  if (!linked.empty() && linked_complete) create_variants(state, std::move(linked));
}

}  // namespace

VkResult create_shader_objects(ObjectState& state, WordPool& words,
                               std::span<const VkShaderCreateInfoEXT> infos,
                               const VkAllocationCallbacks* allocator, VkShaderEXT* shaders) {
  PlainShaders plain(state, words, infos);
  const VkResult result =
      state.device.next.CreateShadersEXT(state.device.handle, static_cast<uint32_t>(infos.size()),
                                         plain.infos().data(), allocator, shaders);
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
