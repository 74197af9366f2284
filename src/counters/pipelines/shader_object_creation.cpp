#include <fmt/format.h>
#include <tally/vulkan_arm.h>
#include <tally/vulkan_newest.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "counters/layouts/pipeline_layout.h"
#include "counters/pipelines/kept_create_info.h"
#include "counters/pipelines/object_state.h"
#include "counters/pipelines/pipeline_creation.h"
#include "counters/pipelines/pipeline_variants.h"
#include "counters/pipelines/shader_layouts.h"
#include "counters/pipelines/shader_set.h"
#include "counters/shaders/instrumenter.h"
#include "vk/own_call.h"

namespace tally::counters {

namespace {

// The variants of shader objects: made when a recording first wants them, or all at once where the
// layer cannot keep what they are made of.
//
// Linked shaders have variants that are linked too, made in one call, with the stages that count
// nothing created again: the driver may bind linked shaders only together.

// A shader object whose variants are wanted.
struct NewShader {
  VkShaderCreateInfoEXT info{};  // without the layer's flag, with the layer's constants and sets
  std::optional<KeptSetLayouts> sets;  // of the application; nothing if one cannot be kept
  std::shared_ptr<ShaderObject> shader;
};

// Call while the shaders are created: of one shader, or of all that are linked.
void set_up_variants(ObjectState& state, std::vector<NewShader> shaders);

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
  const auto linked_lock = std::make_shared<std::mutex>();
  bool linked_complete = true;
  for (size_t i = 0; i < originals.size(); ++i) {
    if (handles[i] == VK_NULL_HANDLE) {
      linked_complete = linked_complete && !is_linked(originals[i]);
      continue;
    }
    auto shader = std::make_shared<ShaderObject>(
        state.device.handle, state.device.next, originals[i].stage, handles[i],
        is_linked(originals[i]) ? linked_lock : std::make_shared<std::mutex>());
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

namespace {

// VK_SHADER_CREATE_INDIRECT_BINDABLE_BIT_EXT, newer than the headers of Debian 12.
bool may_be_in_sets(const VkShaderCreateInfoEXT& info) { return (info.flags & 0x80) != 0; }

void notice_refusal(const ObjectState& state, const ShaderObject& shader,
                    const std::string& reason) {
  state.device.messages.notice(
      kUninstrumentedNotice, VK_OBJECT_TYPE_SHADER_EXT, vk::handle_bits(shader.handle),
      fmt::format("a {} shader ({}) runs uninstrumented: {}", stage_name(shader.stage),
                  to_string(shader.origin ? shader.origin->code->hash : Hash128{}), reason));
}

// One shader, or all shaders that are linked: creates variants of each. `alpha_to_coverage`: for
// draws that may enable it, whatever the variant.
class ShaderGroup {
 public:
  ShaderGroup(ObjectState& state, std::span<const NewShader> members, bool alpha_to_coverage)
      : state_(state), members_(members), alpha_to_coverage_(alpha_to_coverage) {
    describe_stages();
  }

  void create(Variant variant) {
    alpha_to_coverage_ = alpha_to_coverage_ || variant.alpha_to_coverage;
    std::vector<Counted> counted;
    for (size_t i = 0; i < members_.size(); ++i) {
      const auto& code = counted.emplace_back(count(i, variant)).code;
      tests_early_ = tests_early_ || (code && code->info->tests_early);
    }
    const auto counts = [](const Counted& one) { return one.variant != Variant::Plain; };
    if (std::ranges::none_of(counted, counts)) return;
    for (size_t i = 0; i < members_.size(); ++i) {
      if (counted[i].variant == Variant::Plain && !move_push_constants(i, counted[i])) return;
    }
    std::vector<VkShaderCreateInfoEXT> infos;
    std::deque<ExtendedSpecialization> constants;
    std::deque<VkSpecializationInfo> specializations;
    std::vector<std::shared_ptr<const CounterRanges::Range>> ranges;
    for (size_t i = 0; i < members_.size(); ++i) {
      const ShaderOrigin& origin = *members_[i].shader->origin;
      const VkSpecializationInfo original = origin.specialization();
      constants.emplace_back(&original);
      ranges.push_back(place_counters(i, counted[i], constants.back()));
      const bool moved = ranges.back() && ranges.back()->first != 0;
      specializations.push_back(constants.back().info());
      infos.push_back(variant_info(i, counted[i]));
      if (moved || !origin.entries.empty())
        infos.back().pSpecializationInfo = &specializations.back();
    }
    std::vector<VkShaderEXT> handles(members_.size());
    const VkResult result =
        vk::own("vkCreateShadersEXT", state_.device.next.CreateShadersEXT(
                                          state_.device.handle, static_cast<uint32_t>(infos.size()),
                                          infos.data(), nullptr, handles.data()));
    for (size_t i = 0; i < members_.size(); ++i) {
      ShaderObject& shader = *members_[i].shader;
      if (result != VK_SUCCESS) {
        if (handles[i] != VK_NULL_HANDLE) {
          state_.device.next.DestroyShaderEXT(state_.device.handle, handles[i], nullptr);
        }
        if (counted[i].code) {
          refuse(members_[i], "the driver rejected its instrumented variant: " +
                                  vk::OwnFailure{result, "vkCreateShadersEXT"}.text());
        }
        continue;
      }
      ShaderVariant made{handles[i], nullptr, ranges[i]};
      if (counted[i].code && counted[i].variant.blocks) made.info = counted[i].code->info;
      shader.variants.keep(variant, std::move(made));
    }
  }
  // True if a variant that was created has fragment tests before its shader.
  bool tests_early() const { return tests_early_; }

 private:
  void refuse(const NewShader& member, const std::string& reason) const {
    notice_refusal(state_, *member.shader, reason);
  }

  // What StageVariants knows of the stages of a pipeline.
  void describe_stages() {
    for (const NewShader& member : members_) {
      VkPipelineShaderStageCreateInfo& info = stage_infos_.emplace_back(
          VkPipelineShaderStageCreateInfo{VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO});
      info.stage = member.shader->stage;
      info.pName = member.shader->origin->entry_point.c_str();
      info.pSpecializationInfo =
          &specializations_.emplace_back(member.shader->origin->specialization());
      stages_.emplace_back(&info, member.shader->origin->code);
    }
  }

  // The counters of the stage in this variant.
  Variant wanted(const NewShader& member, Variant variant) const {
    const bool blocks =
        variant.blocks && (member.shader->instrumented || state_.needs.query_counters);
    const bool regions = variant.regions && member.shader->stage == VK_SHADER_STAGE_FRAGMENT_BIT;
    return {.blocks = blocks, .regions = regions};
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
    const auto options = TALLY_TRY(StageVariants::make_options(state_.instrumenter, stages_[i],
                                                               request, variant, std::nullopt));
    return state_.instrumenter.instrument(stages_[i], options);
  }

  // For a shader that counts nothing but is linked with others that do.
  bool move_push_constants(size_t i, Counted& counted) const {
    const auto& layout = members_[i].shader->layout;
    if (!layout || !layout->moves_blocks()) return true;
    const auto made = instrument(i, Variant::Plain);
    if (!made) {
      refuse(members_[i], made.error().message);
      return false;
    }
    counted.code = *made;
    return true;
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

  VkShaderCreateInfoEXT variant_info(size_t i, const Counted& counted) const {
    const ShaderOrigin& origin = *members_[i].shader->origin;
    const std::vector<uint32_t>& words = counted.code ? *counted.code->words : origin.code->words;
    VkShaderCreateInfoEXT info = members_[i].info;
    info.codeType = VK_SHADER_CODE_TYPE_SPIRV_EXT;
    info.codeSize = words.size() * sizeof(uint32_t);
    info.pCode = words.data();
    info.pName = origin.entry_point.c_str();
    info.pSpecializationInfo = nullptr;
    return info;
  }

  // The shaders of a stage that are in one execution set count into one record. Adds constants
  // where their counters do not begin it.
  std::shared_ptr<const CounterRanges::Range> place_counters(
      size_t i, const Counted& counted, ExtendedSpecialization& constants) const {
    if (!counted.variant.blocks || !may_be_in_sets(members_[i].info) ||
        !counted.code->record_spec_ids) {
      return nullptr;
    }
    const uint32_t capacity = probe::stage_capacity(counted.code->info->plan.record_counters());
    auto range = state_.counter_ranges.take(capacity);
    if (range->first == 0) return range;
    const spirv::RecordSpecIds& ids = *counted.code->record_spec_ids;
    constants.add(ids.first_byte, probe::counter_bytes(range->first));
    constants.add(ids.stride_bytes,
                  probe::counter_bytes(probe::shard_stride(range->first + capacity)));
    return range;
  }

  ObjectState& state_;
  std::span<const NewShader> members_;
  bool alpha_to_coverage_;
  bool tests_early_ = false;
  std::deque<VkSpecializationInfo> specializations_;
  std::deque<VkPipelineShaderStageCreateInfo> stage_infos_;
  std::vector<Stage> stages_;
};

// The kept parts of the create infos of one shader, or of all that are linked.
struct KeptShaders {
  vk::CopyMemory memory;
  std::vector<VkShaderCreateInfoEXT> infos;
  KeptSetLayouts set_layouts;
};

// Null if it cannot keep all of them.
std::shared_ptr<const KeptShaders> keep_shaders(std::span<const NewShader> shaders) {
  auto kept = std::make_shared<KeptShaders>();
  for (const NewShader& shader : shaders) {
    if (!shader.sets) return nullptr;
    kept->set_layouts.insert(kept->set_layouts.end(), shader.sets->begin(), shader.sets->end());
    if (!keep(kept->memory, kept->infos.emplace_back(shader.info))) return nullptr;
  }
  return kept;
}

// Null if variants can be made.
const char* reason_against_variants(const NewShader& shader) {
  const ShaderOrigin* origin = shader.shader->origin.get();
  if (!origin) return "it was created from a binary whose SPIR-V is not known";
  const bool binary = shader.info.codeType == VK_SHADER_CODE_TYPE_BINARY_EXT;
  return binary && !origin->keeps_chain
             ? "it was created from a binary, and the layer does not know all structs that its "
               "SPIR-V was created with"
             : nullptr;
}

bool is_instrumented(const NewShader& shader) { return shader.shader->instrumented; }
bool is_fragment(const NewShader& shader) {
  return shader.shader->stage == VK_SHADER_STAGE_FRAGMENT_BIT;
}

class GroupMaker : public ShaderVariantMaker {
 public:
  // `kept`: null if the infos are valid for this call of the application alone.
  GroupMaker(ObjectState& state, VariantChoice choice, std::span<const NewShader> shaders,
             std::shared_ptr<const KeptShaders> kept, bool alpha_to_coverage)
      : state_(state),
        choice_(choice),
        kept_(std::move(kept)),
        alpha_to_coverage_(alpha_to_coverage) {
    for (size_t i = 0; i < shaders.size(); ++i) {
      members_.push_back({kept_ ? kept_->infos[i] : shaders[i].info, shaders[i].shader});
    }
  }

  bool tests_early() const { return tests_early_; }

  void make(Variant variant) override {
    if (variant != variant.full()) return;
    if (!choice_.has(variant)) return;
    std::vector<NewShader> shaders;
    for (const Member& member : members_) {
      shaders.push_back({member.info, {}, member.shader.lock()});
      if (!shaders.back().shader) return;  // linked shaders are of no use without all others
    }
    ShaderGroup group(state_, shaders, alpha_to_coverage_);
    group.create(variant);
    tests_early_ = tests_early_ || group.tests_early();
  }

 private:
  struct Member {
    VkShaderCreateInfoEXT info;
    std::weak_ptr<ShaderObject> shader;
  };

  ObjectState& state_;
  const VariantChoice choice_;
  const std::shared_ptr<const KeptShaders> kept_;
  const bool alpha_to_coverage_;
  std::vector<Member> members_;
  bool tests_early_ = false;
};

// Makes all variants, where they cannot be made later.
void make_all(const NewShader& shader, bool alpha_to_coverage) {
  for (const Variant variant : kFullVariants) {
    shader.shader->make(variant.with_alpha_to_coverage(alpha_to_coverage));
  }
}

void set_up_variants(ObjectState& state, std::vector<NewShader> shaders) {
  const bool instrumented = std::ranges::any_of(shaders, is_instrumented);
  const bool fragments = std::ranges::any_of(shaders, is_fragment);
  const VariantChoice choice{instrumented || state.needs.query_counters,
                             state.needs.regions && fragments};
  if (!choice.blocks && !choice.regions) return;
  for (const NewShader& shader : shaders) {
    if (const char* reason = reason_against_variants(shader)) {
      notice_refusal(state, *shader.shader, reason);
      return;
    }
  }
  const auto kept = keep_shaders(shaders);
  // Alpha to coverage is dynamic state. All draws of an execution set have the same variants.
  const bool in_sets = std::ranges::any_of(
      shaders, [](const NewShader& shader) { return may_be_in_sets(shader.info); });
  if (in_sets && fragments) {
    notice_late_tests(state.device.messages, VK_OBJECT_TYPE_SHADER_EXT,
                      vk::handle_bits(shaders.front().shader->handle));
  }
  const auto maker = std::make_shared<GroupMaker>(state, choice, shaders, kept, in_sets);
  for (const NewShader& shader : shaders) shader.shader->maker = maker;
  if (!kept) make_all(shaders.front(), false);
  if (in_sets || !fragments || (!kept && !maker->tests_early())) return;
  for (const NewShader& shader : shaders) shader.shader->by_alpha_to_coverage = true;
  if (!kept) make_all(shaders.front(), true);
}

}  // namespace

}  // namespace tally::counters
