// The final image of a recorded render pass: which of its attachments shows it, and the copy of it
// into host memory behind the pass.
#pragma once

#include <vulkan/vulkan_core.h>

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "capture/readback/host_memory.h"
#include "capture/recording/images.h"

namespace tally::capture {

// The attachment that a pass's picture is taken of, known when it begins.
struct FinalImage {
  std::shared_ptr<const ImageView> view;             // null: none
  VkImageLayout layout = VK_IMAGE_LAYOUT_UNDEFINED;  // when the pass has ended
  uint32_t attachment = 0;                           // in the capture's list of attachments
  std::string missing = "nothing of it is stored";   // why there is no view
};

// Of a VkRenderPass: its place among the attachments, none where nothing can be shown.
struct FinalAttachment {
  uint32_t index = 0;
  VkImageLayout layout = VK_IMAGE_LAYOUT_UNDEFINED;
};
std::optional<FinalAttachment> final_attachment(const VkRenderPassCreateInfo& info);
std::optional<FinalAttachment> final_attachment(const VkRenderPassCreateInfo2& info);

FinalImage final_image(const Images& images, const VkRenderingInfo& info);

// Texels in host memory, once the pass has been executed: layer after layer, row after row.
struct RecordedPicture {
  VkFormat format = VK_FORMAT_UNDEFINED;
  uint32_t attachment = 0;
  VkExtent2D extent{};
  uint32_t layers = 0;
  HostPiece texels;

  std::span<const std::byte> layer(uint32_t index) const;
  size_t row_bytes() const;
};

// Records the copy of `area` and at most `layers` layers, after the pass. None, and why in
// `reason`, where that cannot be.
std::optional<RecordedPicture> copy_picture(const DeviceTable& table, VkCommandBuffer commands,
                                            const FinalImage& image, const VkRect2D& area,
                                            uint32_t layers, HostPieces& pieces,
                                            std::string& reason);

}  // namespace tally::capture
