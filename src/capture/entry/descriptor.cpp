// Descriptor sets, the layouts and buffers that they are made of, and what binds them: for
// dispatches that depend on the sizes of what is bound (record/descriptor_sizes.h).
#include "capture/entry/entry.h"
#include "vk/own_call.h"

namespace tally::capture {
namespace {

// The create and destroy functions of an object that is always known.
template <auto Create, auto Destroy, typename Info, typename Handle>
struct Known {
  static VKAPI_ATTR VkResult VKAPI_CALL create(VkDevice d, const Info* info,
                                               const VkAllocationCallbacks* a, Handle* object) {
    return vk::guarded([&] {
      const auto device = Device::find(d);
      const VkResult result = (device->table().*Create)(d, info, a, object);
      if (result == VK_SUCCESS)
        vk::guarded_void([&] { device->descriptor_sizes()->add(*object, *info); });
      return result;
    });
  }

  static VKAPI_ATTR void VKAPI_CALL destroy(VkDevice d, Handle object,
                                            const VkAllocationCallbacks* a) {
    vk::guarded_void([&] {
      const auto device = Device::find(d);
      if (object != VK_NULL_HANDLE) device->descriptor_sizes()->remove(object);
      (device->table().*Destroy)(d, object, a);
    });
  }
};

using Buffers =
    Known<&DeviceTable::CreateBuffer, &DeviceTable::DestroyBuffer, VkBufferCreateInfo, VkBuffer>;
using SetLayouts =
    Known<&DeviceTable::CreateDescriptorSetLayout, &DeviceTable::DestroyDescriptorSetLayout,
          VkDescriptorSetLayoutCreateInfo, VkDescriptorSetLayout>;
using PipelineLayouts =
    Known<&DeviceTable::CreatePipelineLayout, &DeviceTable::DestroyPipelineLayout,
          VkPipelineLayoutCreateInfo, VkPipelineLayout>;
using Templates = Known<&DeviceTable::CreateDescriptorUpdateTemplate,
                        &DeviceTable::DestroyDescriptorUpdateTemplate,
                        VkDescriptorUpdateTemplateCreateInfo, VkDescriptorUpdateTemplate>;

// Runs body(sizes) if the device's sets are followed. Programs call the functions below often.
template <typename Body>
void with_sets(Device& device, Body body) noexcept {
  if (device.context().follows_sets()) vk::guarded_void([&] { body(*device.descriptor_sizes()); });
}

VKAPI_ATTR VkResult VKAPI_CALL AllocateDescriptorSets(VkDevice d,
                                                      const VkDescriptorSetAllocateInfo* info,
                                                      VkDescriptorSet* sets) {
  Device* const device = find_device(d);
  const VkResult result = device->table().AllocateDescriptorSets(d, info, sets);
  if (result == VK_SUCCESS)
    with_sets(*device, [&](DescriptorSizes& sizes) { sizes.add_sets(*info, sets); });
  return result;
}

VKAPI_ATTR VkResult VKAPI_CALL FreeDescriptorSets(VkDevice d, VkDescriptorPool pool, uint32_t count,
                                                  const VkDescriptorSet* sets) {
  Device* const device = find_device(d);
  with_sets(*device, [&](DescriptorSizes& sizes) { sizes.remove_sets(pool, {sets, count}); });
  return device->table().FreeDescriptorSets(d, pool, count, sets);
}

VKAPI_ATTR VkResult VKAPI_CALL ResetDescriptorPool(VkDevice d, VkDescriptorPool pool,
                                                   VkDescriptorPoolResetFlags flags) {
  Device* const device = find_device(d);
  with_sets(*device, [&](DescriptorSizes& sizes) { sizes.remove_pool(pool); });
  return device->table().ResetDescriptorPool(d, pool, flags);
}

VKAPI_ATTR void VKAPI_CALL DestroyDescriptorPool(VkDevice d, VkDescriptorPool pool,
                                                 const VkAllocationCallbacks* a) {
  Device* const device = find_device(d);
  with_sets(*device, [&](DescriptorSizes& sizes) { sizes.remove_pool(pool); });
  device->table().DestroyDescriptorPool(d, pool, a);
}

VKAPI_ATTR void VKAPI_CALL UpdateDescriptorSets(VkDevice d, uint32_t write_count,
                                                const VkWriteDescriptorSet* writes,
                                                uint32_t copy_count,
                                                const VkCopyDescriptorSet* copies) {
  Device* const device = find_device(d);
  with_sets(*device, [&](DescriptorSizes& sizes) {
    sizes.update({writes, write_count}, {copies, copy_count});
  });
  device->table().UpdateDescriptorSets(d, write_count, writes, copy_count, copies);
}

VKAPI_ATTR void VKAPI_CALL UpdateDescriptorSetWithTemplate(VkDevice d, VkDescriptorSet set,
                                                           VkDescriptorUpdateTemplate by,
                                                           const void* data) {
  Device* const device = find_device(d);
  with_sets(*device, [&](DescriptorSizes& sizes) { sizes.update(set, by, data); });
  device->table().UpdateDescriptorSetWithTemplate(d, set, by, data);
}

// The hook of a command: note(bound sets, sizes, arguments) where they matter, then the command.
template <auto Member, auto Note, typename... Args>
VKAPI_ATTR void VKAPI_CALL command(VkCommandBuffer b, Args... args) {
  CommandBuffer* const state = find_command_buffer(b);
  if (!state) return;
  if (BoundSets* const sets = state->sets())
    vk::guarded_void([&] { Note(*sets, state->context().descriptor_sizes(), args...); });
  state->record([&](VkCommandBuffer to, bool) { (state->table().*Member)(to, args...); });
}

constexpr bool is_compute(VkShaderStageFlags stages) {
  return (stages & VK_SHADER_STAGE_COMPUTE_BIT) != 0;
}

void bind(BoundSets& bound, const DescriptorSizes&, VkPipelineBindPoint point, VkPipelineLayout,
          uint32_t first, uint32_t count, const VkDescriptorSet* sets, uint32_t, const uint32_t*) {
  if (point == VK_PIPELINE_BIND_POINT_COMPUTE) bound.bind(first, {sets, count});
}

void bind_2(BoundSets& bound, const DescriptorSizes&, const VkBindDescriptorSetsInfo* info) {
  if (is_compute(info->stageFlags))
    bound.bind(info->firstSet, {info->pDescriptorSets, info->descriptorSetCount});
}

void push(BoundSets& bound, const DescriptorSizes& sizes, VkPipelineBindPoint point,
          VkPipelineLayout layout, uint32_t set, uint32_t count,
          const VkWriteDescriptorSet* writes) {
  if (point != VK_PIPELINE_BIND_POINT_COMPUTE) return;
  if (SizedSet* to = bound.push(set, sizes.find(layout, set))) sizes.write(*to, {writes, count});
}

void push_2(BoundSets& bound, const DescriptorSizes& sizes, const VkPushDescriptorSetInfo* info) {
  if (!is_compute(info->stageFlags)) return;
  push(bound, sizes, VK_PIPELINE_BIND_POINT_COMPUTE, info->layout, info->set,
       info->descriptorWriteCount, info->pDescriptorWrites);
}

void push_by(BoundSets& bound, const DescriptorSizes& sizes, VkDescriptorUpdateTemplate by,
             VkPipelineLayout layout, uint32_t set, const void* data) {
  const auto point = sizes.bind_point_of(by);
  if (point && point != VK_PIPELINE_BIND_POINT_COMPUTE) return;
  if (SizedSet* to = bound.push(set, sizes.find(layout, set))) sizes.write(*to, by, data);
}

void push_by_2(BoundSets& bound, const DescriptorSizes& sizes,
               const VkPushDescriptorSetWithTemplateInfo* info) {
  push_by(bound, sizes, info->descriptorUpdateTemplate, info->layout, info->set, info->pData);
}

// Descriptors in buffers and heaps have no sizes.
template <typename... Args>
void forget(BoundSets& bound, const DescriptorSizes&, Args...) {
  bound.reset();
}

template <auto Member, auto Note, typename... Args>
DeviceHook row(std::string_view name, void (VKAPI_PTR* DeviceTable::*)(VkCommandBuffer, Args...)) {
  return device_hook<Member>(name, command<Member, Note, Args...>, DeviceCondition::kSizes);
}

template <auto Member, typename... Args>
DeviceHook forgets(std::string_view name,
                   void (VKAPI_PTR* DeviceTable::*)(VkCommandBuffer, Args...)) {
  return device_hook<Member>(name, command<Member, forget<Args...>, Args...>,
                             DeviceCondition::kSizes);
}

}  // namespace

std::span<const DeviceHook> descriptor_hooks() {
#define TALLY_ROW(name, suffix) \
  device_hook<&DeviceTable::name>("vk" #name suffix, name, DeviceCondition::kSizes)
#define TALLY_KNOWN(type, name, suffix)                                                 \
  device_hook<&DeviceTable::Create##name>("vkCreate" #name suffix, type::create,        \
                                          DeviceCondition::kSizes),                     \
      device_hook<&DeviceTable::Destroy##name>("vkDestroy" #name suffix, type::destroy, \
                                               DeviceCondition::kSizes)
#define TALLY_COMMAND(name, suffix, note) \
  row<&DeviceTable::name, note>("vk" #name suffix, &DeviceTable::name)
#define TALLY_FORGETS(name) forgets<&DeviceTable::name>("vk" #name, &DeviceTable::name)
  static const DeviceHook rows[] = {
      TALLY_KNOWN(Buffers, Buffer, ""),
      TALLY_KNOWN(SetLayouts, DescriptorSetLayout, ""),
      TALLY_KNOWN(PipelineLayouts, PipelineLayout, ""),
      TALLY_KNOWN(Templates, DescriptorUpdateTemplate, ""),
      TALLY_KNOWN(Templates, DescriptorUpdateTemplate, "KHR"),
      TALLY_ROW(AllocateDescriptorSets, ""),
      TALLY_ROW(FreeDescriptorSets, ""),
      TALLY_ROW(ResetDescriptorPool, ""),
      TALLY_ROW(DestroyDescriptorPool, ""),
      TALLY_ROW(UpdateDescriptorSets, ""),
      TALLY_ROW(UpdateDescriptorSetWithTemplate, ""),
      TALLY_ROW(UpdateDescriptorSetWithTemplate, "KHR"),
      TALLY_COMMAND(CmdBindDescriptorSets, "", bind),
      TALLY_COMMAND(CmdBindDescriptorSets2, "", bind_2),
      TALLY_COMMAND(CmdBindDescriptorSets2, "KHR", bind_2),
      TALLY_COMMAND(CmdPushDescriptorSet, "", push),
      TALLY_COMMAND(CmdPushDescriptorSet, "KHR", push),
      TALLY_COMMAND(CmdPushDescriptorSet2, "", push_2),
      TALLY_COMMAND(CmdPushDescriptorSet2, "KHR", push_2),
      TALLY_COMMAND(CmdPushDescriptorSetWithTemplate, "", push_by),
      TALLY_COMMAND(CmdPushDescriptorSetWithTemplate, "KHR", push_by),
      TALLY_COMMAND(CmdPushDescriptorSetWithTemplate2, "", push_by_2),
      TALLY_COMMAND(CmdPushDescriptorSetWithTemplate2, "KHR", push_by_2),
      TALLY_FORGETS(CmdBindDescriptorBufferEmbeddedSamplersEXT),
      TALLY_FORGETS(CmdBindDescriptorBufferEmbeddedSamplers2EXT),
      TALLY_FORGETS(CmdBindResourceHeapEXT),
      TALLY_FORGETS(CmdSetDescriptorBufferOffsetsEXT),
      TALLY_FORGETS(CmdSetDescriptorBufferOffsets2EXT),
  };
#undef TALLY_ROW
#undef TALLY_KNOWN
#undef TALLY_COMMAND
#undef TALLY_FORGETS
  return rows;
}

}  // namespace tally::capture
