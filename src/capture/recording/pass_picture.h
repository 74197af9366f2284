// The final image of a recorded render pass: selects the attachment to show, and records its copy
// into host memory after the pass.
#pragma once

#include <vulkan/vulkan_core.h>

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "capture/readback/host_memory.h"
#include "capture/recording/images.h"

namespace tally::capture {

// The attachment for the picture of a pass. Determined when the pass begins.
struct FinalImage {
  std::shared_ptr<const ImageView> view;             // null: none
  VkImageLayout layout = VK_IMAGE_LAYOUT_UNDEFINED;  // at the end of the pass
  uint32_t attachment = 0;                           // in the capture's list of attachments
  std::string missing = "it stores no attachment";   // why there is no view
};

// The index of the final attachment of a VkRenderPass. Nullopt if no attachment can be shown.
struct FinalAttachment {
  uint32_t index = 0;
  VkImageLayout layout = VK_IMAGE_LAYOUT_UNDEFINED;
};
std::optional<FinalAttachment> final_attachment(const VkRenderPassCreateInfo& info);
std::optional<FinalAttachment> final_attachment(const VkRenderPassCreateInfo2& info);

FinalImage final_image(const Images& images, const VkRenderingInfo& info);

// Texels in host memory, available after the pass has been executed. The layers follow each other,
// each row by row.
struct RecordedPicture {
  VkFormat format = VK_FORMAT_UNDEFINED;
  uint32_t attachment = 0;
  VkExtent2D extent{};
  uint32_t layers = 0;
  HostPiece texels;

  std::span<const std::byte> layer(uint32_t index) const;
  size_t row_bytes() const;
};

// Records the copy of `area` and of at most `layers` layers, after the pass. If that is not
// possible, returns nullopt and sets `reason`.
std::optional<RecordedPicture> copy_picture(const DeviceTable& table, VkCommandBuffer commands,
                                            const FinalImage& image, const VkRect2D& area,
                                            uint32_t layers, HostPieces& pieces,
                                            std::string& reason);

}  // namespace tally::capture
