#include "counters/layouts/pipeline_layout.h"

#include <array>

#include "counters/memory/device_memory.h"
#include "counters/shaders/instrumenter.h"

namespace tally::counters {

PipelineLayout::PipelineLayout(const VkPipelineLayoutCreateInfo& info, const LayoutRules& rules)
    : rules_(rules) {
  application_ranges_.assign(info.pPushConstantRanges,
                             info.pPushConstantRanges + info.pushConstantRangeCount);
  for (const VkPushConstantRange& range : application_ranges_) {
    application_end_ = std::max(application_end_, range.offset + range.size);
  }
  path_ = choose_path(info);
}

PipelineLayout::PipelineLayout(const PushReads& reads, uint32_t end, bool moves_blocks,
                               const LayoutRules& rules, const DeviceTable& next)
    : rules_(rules.with_heaps()),
      application_end_(end == 0 ? UINT32_MAX : 0),
      path_(end == 0 ? AddressPath::None : AddressPath::PushConstant),
      next_(&next),
      heaps_(true),
      moves_blocks_(moves_blocks),
      reads_(reads) {
  if (end != 0) rules_.push_constant_size = end;
}

uint64_t PushReads::mask(uint64_t begin, uint64_t end) {
  constexpr uint64_t kUnit = 8;
  if (begin >= end || begin >= kBytes) return 0;
  const uint64_t first = begin / kUnit;
  const uint64_t count = (std::min<uint64_t>(end, kBytes) + kUnit - 1) / kUnit - first;
  const uint64_t ones = count >= 64 ? UINT64_MAX : (uint64_t{1} << count) - 1;
  return ones << first;
}

PipelineLayout::~PipelineLayout() {
  if (own_ != VK_NULL_HANDLE) next_->DestroyPipelineLayout(device_, own_, nullptr);
}

AddressPath PipelineLayout::choose_path(const VkPipelineLayoutCreateInfo& info) const {
  const bool constants = rules_.record_address != RecordAddress::Descriptor && !covers_slot();
  const bool descriptor = rules_.record_address != RecordAddress::PushConstant &&
                          info.setLayoutCount < rules_.descriptor_sets;
  if (constants && !(descriptor && rules_.prefer_descriptor)) return AddressPath::PushConstant;
  return descriptor ? AddressPath::Descriptor : AddressPath::None;
}

std::vector<VkPushConstantRange> PipelineLayout::extended_ranges() const {
  std::vector<VkPushConstantRange> ranges = application_ranges_;
  if (path_ != AddressPath::PushConstant) return ranges;
  VkShaderStageFlags others = rules_.stages;
  for (VkPushConstantRange& range : ranges) {
    others &= ~range.stageFlags;
    range.size = rules_.push_constant_size - range.offset;
  }
  // An update by the application never overlaps this range.
  const uint32_t begin =
      std::clamp(application_end_, rules_.reserved_offset(), rules_.slot_offset());
  if (others != 0) ranges.push_back({others, begin, rules_.push_constant_size - begin});
  return ranges;
}

std::optional<PipelineLayout::Extended> PipelineLayout::extend(
    WordPool& words, std::span<const VkDescriptorSetLayout> sets) const {
  Extended extended{{sets.begin(), sets.end()}, extended_ranges()};
  if (path_ != AddressPath::Descriptor) return extended;
  const VkDescriptorSetLayout empty = words.empty_layout();
  const VkDescriptorSetLayout reserved = words.set_layout();
  if (empty == VK_NULL_HANDLE || reserved == VK_NULL_HANDLE || words.prepare() != VK_SUCCESS) {
    return std::nullopt;
  }
  extended.sets.resize(reserved_set(), empty);
  extended.sets.push_back(reserved);
  return extended;
}

VkResult PipelineLayout::create_extended(const VkPipelineLayoutCreateInfo& info,
                                         const Extended& extended, VkPipelineLayout* handle,
                                         const VkAllocationCallbacks* allocator) const {
  VkPipelineLayoutCreateInfo changed = info;
  changed.setLayoutCount = static_cast<uint32_t>(extended.sets.size());
  changed.pSetLayouts = extended.sets.data();
  changed.pushConstantRangeCount = static_cast<uint32_t>(extended.ranges.size());
  changed.pPushConstantRanges = extended.ranges.data();
  return vk::own("vkCreatePipelineLayout",
                 next_->CreatePipelineLayout(device_, &changed, allocator, handle), *handle);
}

VkResult PipelineLayout::create(VkDevice device, const DeviceTable& next, WordPool& words,
                                const VkPipelineLayoutCreateInfo& info,
                                const VkAllocationCallbacks* allocator, VkPipelineLayout* handle) {
  device_ = device;
  next_ = &next;
  const std::optional<Extended> extended = extend(words, {info.pSetLayouts, info.setLayoutCount});
  VkResult result = VK_ERROR_OUT_OF_DEVICE_MEMORY;
  if (extended) result = create_own(device, next, info, *extended);
  if (result == VK_SUCCESS) result = create_extended(info, *extended, handle, allocator);
  if (result == VK_SUCCESS) return result;
  // Without the extension the application still gets its own layout.
  path_ = AddressPath::None;
  failure_ = vk::take_own_failure();
  if (own_ != VK_NULL_HANDLE) next.DestroyPipelineLayout(device, own_, nullptr);
  own_ = VK_NULL_HANDLE;
  return next.CreatePipelineLayout(device, &info, allocator, handle);
}

VkResult PipelineLayout::create_own(VkDevice device, const DeviceTable& next,
                                    const VkPipelineLayoutCreateInfo& info,
                                    const Extended& extended) {
  device_ = device;
  next_ = &next;
  for (const VkPushConstantRange& range : extended.ranges) slot_stages_ |= range.stageFlags;
  return create_extended(info, extended, &own_, nullptr);
}

void PipelineLayout::create_own_later(VkDevice device, const DeviceTable& next,
                                      VkPipelineLayoutCreateFlags flags, Extended extended,
                                      KeptSetLayouts sets) {
  device_ = device;
  next_ = &next;
  later_ = std::make_unique<Later>(Later{flags, std::move(extended), std::move(sets)});
}

bool PipelineLayout::make_own() {
  const std::lock_guard lock(mutex_);
  if (const auto later = std::exchange(later_, nullptr)) {
    const VkPipelineLayoutCreateInfo info{VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO, nullptr,
                                          later->flags};
    create_own(device_, *next_, info, later->extended);
  }
  return heaps_ || own_ != VK_NULL_HANDLE;
}

StageAddressing PipelineLayout::addressing(bool separate_fragment) const {
  StageAddressing addressing;
  addressing.main.kind = path_ == AddressPath::Descriptor
                             ? spirv::AddressSource::Kind::UniformBuffer
                             : spirv::AddressSource::Kind::PushConstant;
  addressing.main.push_constant_offset = slot_offset();
  if (moves_blocks_) addressing.main.block_address = block_address_offset();
  addressing.main.set = reserved_set();
  addressing.main.binding = 0;
  addressing.fragment = addressing.main;
  addressing.fragment.push_constant_offset = slot_offset() + 8;
  addressing.separate_fragment = separate_fragment && path_ == AddressPath::PushConstant;
  return addressing;
}

std::optional<StageAddressing> PipelineLayout::shader_addressing(
    VkShaderStageFlagBits stage) const {
  StageAddressing result = addressing(false);
  const auto slot = static_cast<uint32_t>(slot_of_shader(stage));
  if (path_ != AddressPath::PushConstant) {
    const bool alone = stage == VK_SHADER_STAGE_COMPUTE_BIT && path_ == AddressPath::Descriptor;
    return alone ? std::optional(result) : std::nullopt;
  }
  if (slot < kPipelineSlots) {
    result.main.push_constant_offset = slot_offset() + 8 * slot;
  } else if (covers_reserved()) {
    return std::nullopt;
  } else {
    result.main.push_constant_offset = block_address_offset() - 8 * (slot - kPipelineSlots + 1);
  }
  return result;
}

// Extended ranges contain every byte after their begin. All ranges that a valid update overlaps
// begin at or before its first byte, so checking that byte is sufficient.
VkShaderStageFlags PipelineLayout::widen(VkShaderStageFlags stages, uint32_t offset) const {
  if (!widens()) return stages;
  for (const VkPushConstantRange& range : application_ranges_) {
    if (range.offset <= offset) stages |= range.stageFlags;
  }
  return stages;
}

// The stages of the application's ranges that contain the byte.
VkShaderStageFlags PipelineLayout::application_stages(uint32_t offset) const {
  VkShaderStageFlags stages = 0;
  for (const VkPushConstantRange& range : application_ranges_) {
    if (range.offset <= offset && offset < range.offset + range.size) stages |= range.stageFlags;
  }
  return stages;
}

void PipelineLayout::push_data(VkCommandBuffer commands, uint32_t offset, const void* values,
                               size_t size) const {
  const VkPushDataInfoEXT info{
      VK_STRUCTURE_TYPE_PUSH_DATA_INFO_EXT, nullptr, offset, {values, size}};
  next_->CmdPushDataEXT(commands, &info);
}

void PipelineLayout::push_pointers(VkCommandBuffer commands, uint32_t offset,
                                   std::span<const uint64_t> pointers) const {
  if (heaps_) {
    push_data(commands, offset, pointers.data(), pointers.size_bytes());
  } else {
    next_->CmdPushConstants(commands, own_, slot_stages_, offset,
                            static_cast<uint32_t>(pointers.size_bytes()), pointers.data());
  }
}

void PipelineLayout::push_application_bytes(VkCommandBuffer commands, uint32_t begin, uint32_t end,
                                            const std::byte* values) const {
  if (heaps_) {
    push_data(commands, begin, values, end - begin);
    return;
  }
  constexpr uint32_t kStep = 4;  // alignment of offsets and sizes
  for (uint32_t offset = begin; offset + kStep <= end; offset += kStep) {
    const VkShaderStageFlags stages = application_stages(offset);
    if (stages == 0 || own_ == VK_NULL_HANDLE) continue;
    next_->CmdPushConstants(commands, own_, stages, offset, kStep, values + (offset - begin));
  }
}

namespace {

constexpr std::array<float, 2> kAboveOne = {2, 2};
constexpr VkShaderStageFlags kStage = VK_SHADER_STAGE_FRAGMENT_BIT;
constexpr int kAttempts = 3;

}  // namespace

PushGuard::PushGuard(VkDevice device, const DeviceTable& next, const LayoutRules& rules)
    : device_(device), next_(next), offset_(rules.guard_offset()) {
  if (!rules.guard) return;
  const VkPushConstantRange range = {kStage, offset_, sizeof kAboveOne};
  VkPipelineLayoutCreateInfo info{VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
  info.pushConstantRangeCount = 1;
  info.pPushConstantRanges = &range;
  // Without the guard llvmpipe may crash, so one refusal is not the end. A driver that refuses them
  // all refuses the application's layouts too.
  for (int left = kAttempts; left > 0 && layout_ == VK_NULL_HANDLE; --left) {
    vk::own("vkCreatePipelineLayout", next.CreatePipelineLayout(device, &info, nullptr, &layout_),
            layout_);
  }
}

PushGuard::~PushGuard() {
  if (layout_ != VK_NULL_HANDLE) next_.DestroyPipelineLayout(device_, layout_, nullptr);
}

void PushGuard::push(VkCommandBuffer commands) const {
  if (layout_ == VK_NULL_HANDLE) return;
  next_.CmdPushConstants(commands, layout_, kStage, offset_, sizeof kAboveOne, kAboveOne.data());
}

HeapLayouts::HeapLayouts(const LayoutRules& rules, const DeviceTable& next)
    : rules_(rules), next_(next), enabled_(rules.push_data_size != 0 && next.CmdPushDataEXT) {}

std::shared_ptr<PipelineLayout> HeapLayouts::find(PushReads reads, bool all_slots) const {
  if (!enabled_) return nullptr;
  LayoutRules rules = rules_.with_heaps();
  const auto begin = [&] {
    return all_slots ? rules.reserved_offset() : rules.block_address_offset();
  };
  const uint32_t bytes = rules.push_data_size - begin();
  uint32_t end = rules.push_data_size;
  while (end >= bytes && (reads.fixed & PushReads::mask(end - bytes, end)) != 0) end -= 8;
  bool moves_blocks = false;
  if (end < bytes) {
    end = 0;
  } else {
    rules.push_constant_size = end;
    moves_blocks = reads.block_end > begin();
  }
  // Whatever else those shaders read that have the usual place makes no difference.
  if (end == rules.push_data_size) reads = {moves_blocks ? UINT32_MAX : 0, 0};
  const std::lock_guard lock(mutex_);
  std::shared_ptr<PipelineLayout>& layout = layouts_[{reads, all_slots}];
  if (!layout) {
    layout = std::make_shared<PipelineLayout>(reads, end, moves_blocks, rules_, next_);
  }
  return layout;
}

}  // namespace tally::counters
