#include "support/memory.h"

namespace tally::test {
namespace {

DeviceMemory allocate(const Context& context, const VkMemoryRequirements& needs,
                      VkMemoryPropertyFlags wanted, bool with_address) {
  VkPhysicalDeviceMemoryProperties memory;
  vkGetPhysicalDeviceMemoryProperties(context.gpu(), &memory);
  VkMemoryAllocateFlagsInfo flags = {VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO};
  flags.flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT;
  for (uint32_t type = 0; type < memory.memoryTypeCount; ++type) {
    if (!(needs.memoryTypeBits >> type & 1)) continue;
    if ((memory.memoryTypes[type].propertyFlags & wanted) != wanted) continue;
    VkMemoryAllocateInfo info = {VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                 with_address ? &flags : nullptr};
    info.allocationSize = needs.size;
    info.memoryTypeIndex = type;
    VkDeviceMemory handle = VK_NULL_HANDLE;
    check(vkAllocateMemory(context.device(), &info, nullptr, &handle));
    return DeviceMemory(context.device(), handle);
  }
  throw std::runtime_error("no fitting memory type");
}

bool is_depth(VkFormat format) {
  return format == VK_FORMAT_D16_UNORM || format == VK_FORMAT_D32_SFLOAT ||
         format == VK_FORMAT_X8_D24_UNORM_PACK32;
}

void image_barrier(VkCommandBuffer commands, VkImage image, VkImageAspectFlags aspect,
                   VkImageLayout from, VkImageLayout to) {
  VkImageMemoryBarrier barrier = {VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER};
  barrier.srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT;
  barrier.dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT;
  barrier.oldLayout = from;
  barrier.newLayout = to;
  barrier.srcQueueFamilyIndex = barrier.dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED;
  barrier.image = image;
  barrier.subresourceRange = {aspect, 0, 1, 0, VK_REMAINING_ARRAY_LAYERS};
  vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                       VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 0, nullptr, 0, nullptr, 1, &barrier);
}

}  // namespace

Buffer::Buffer(const Context& context, VkDeviceSize size, VkBufferUsageFlags usage,
               const void* next)
    : size_(size) {
  VkBufferCreateInfo info = {VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, next};
  info.size = size;
  info.usage = usage;
  VkBuffer handle = VK_NULL_HANDLE;
  check(vkCreateBuffer(context.device(), &info, nullptr, &handle));
  buffer_ = {context.device(), handle};
  VkMemoryRequirements needs;
  vkGetBufferMemoryRequirements(context.device(), handle, &needs);
  const bool with_address = usage & VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;
  memory_ = allocate(context, needs,
                     VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT,
                     with_address);
  check(vkBindBufferMemory(context.device(), handle, memory_, 0));
  check(vkMapMemory(context.device(), memory_, 0, VK_WHOLE_SIZE, 0, &data_));
  clear();
  if (with_address) {
    VkBufferDeviceAddressInfo address = {VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO};
    address.buffer = handle;
    address_ = vkGetBufferDeviceAddress(context.device(), &address);
  }
}

Image::Image(const Context& context, const ImageInfo& info) : info_(info) {
  VkImageCreateInfo create = {VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO};
  create.imageType = VK_IMAGE_TYPE_2D;
  create.format = info.format;
  create.extent = {info.extent.width, info.extent.height, 1};
  create.mipLevels = 1;
  create.arrayLayers = info.layers;
  create.samples = info.samples;
  create.usage = info.usage;
  VkImage handle = VK_NULL_HANDLE;
  check(vkCreateImage(context.device(), &create, nullptr, &handle));
  image_ = {context.device(), handle};
  VkMemoryRequirements needs;
  vkGetImageMemoryRequirements(context.device(), handle, &needs);
  memory_ = allocate(context, needs, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, false);
  check(vkBindImageMemory(context.device(), handle, memory_, 0));

  VkImageViewCreateInfo view = {VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO};
  view.image = handle;
  view.viewType = info.layers > 1 ? VK_IMAGE_VIEW_TYPE_2D_ARRAY : VK_IMAGE_VIEW_TYPE_2D;
  view.format = info.format;
  view.subresourceRange = {aspect(), 0, 1, 0, info.layers};
  VkImageView view_handle = VK_NULL_HANDLE;
  check(vkCreateImageView(context.device(), &view, nullptr, &view_handle));
  view_ = {context.device(), view_handle};
}

VkImageAspectFlags Image::aspect() const {
  if (has_stencil(info_.format)) {
    return VK_IMAGE_ASPECT_DEPTH_BIT | VK_IMAGE_ASPECT_STENCIL_BIT;
  }
  return is_depth(info_.format) ? VK_IMAGE_ASPECT_DEPTH_BIT : VK_IMAGE_ASPECT_COLOR_BIT;
}

void full_barrier(VkCommandBuffer commands) {
  VkMemoryBarrier barrier = {VK_STRUCTURE_TYPE_MEMORY_BARRIER};
  barrier.srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT;
  barrier.dstAccessMask =
      VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT | VK_ACCESS_HOST_READ_BIT;
  vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                       VK_PIPELINE_STAGE_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_HOST_BIT, 0, 1,
                       &barrier, 0, nullptr, 0, nullptr);
}

void change_layout(VkCommandBuffer commands, const Image& image, VkImageLayout from,
                   VkImageLayout to) {
  image_barrier(commands, image, image.aspect(), from, to);
}

std::vector<uint32_t> read_texels(Context& context, const Image& image) {
  const ImageInfo& info = image.info();
  const Buffer buffer(context,
                      VkDeviceSize{4} * info.extent.width * info.extent.height * info.layers,
                      VK_BUFFER_USAGE_TRANSFER_DST_BIT);
  context.run([&](VkCommandBuffer commands) {
    VkBufferImageCopy region = {};
    region.imageSubresource = {image.aspect(), 0, 0, info.layers};
    region.imageExtent = {info.extent.width, info.extent.height, 1};
    full_barrier(commands);
    vkCmdCopyImageToBuffer(commands, image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, buffer, 1,
                           &region);
    full_barrier(commands);
  });
  const auto texels = buffer.as<uint32_t>();
  return {texels.begin(), texels.end()};
}

}  // namespace tally::test
