// The final image of a recorded render pass: selects the attachment to show, and records its copy
// into host memory after the pass.
#pragma once

#include <vulkan/vulkan_core.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "capture/base/sender.h"
#include "capture/record/host_memory.h"
#include "capture/record/images.h"
#include "vk/handles.h"

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

// True if the rendering resolves attachments when it ends.
bool resolves(const VkRenderingInfo& info);

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

// Render passes and framebuffers, as the capture describes them.

// A Vulkan object that the capture refers to: a command buffer, a render pass, a framebuffer.
struct Object : InternedObject {
  Object(StreamConnection& to, const char* vulkan_type, uint64_t vulkan_handle)
      : InternedObject(stream::Named::Object, to.new_id()),
        type(vulkan_type),
        handle(vulkan_handle),
        connection(to) {}
  ~Object() {
    if (defined) connection.object_gone(id());
  }
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;

  const char* const type;
  const uint64_t handle;
  StreamConnection& connection;  // of the device that owns the object
};

struct RenderPass : Object {
  using Object::Object;
  std::string attachments;  // JSON
  uint32_t subpasses = 1;
  uint32_t view_mask = 0;  // union over all subpasses
  bool resolves = false;   // attachments, in any subpass
  std::optional<FinalAttachment> final_attachment;
};

struct Framebuffer : Object {
  using Object::Object;
  uint32_t layers = 0;
  bool imageless = false;
  std::vector<std::shared_ptr<const ImageView>> views;  // null if unknown
};

// The picture of a pass that begins. `framebuffer` may be null.
FinalImage final_image(const RenderPass& pass, const Framebuffer* framebuffer, const Images& images,
                       const VkRenderPassBeginInfo& info);

class PassRegistry {
 public:
  explicit PassRegistry(StreamConnection& connection) : connection_(connection) {}

  void add(VkRenderPass handle, const VkRenderPassCreateInfo& info);
  void add(VkRenderPass handle, const VkRenderPassCreateInfo2& info);
  // `images` is null if images are not tracked.
  void add(VkFramebuffer handle, const VkFramebufferCreateInfo& info, const Images* images);
  void add(VkImageView handle, const VkImageViewCreateInfo& info) {
    views_.insert(handle, info.format);
  }
  void remove(VkRenderPass handle) { render_passes_.take(handle); }
  void remove(VkFramebuffer handle) { framebuffers_.take(handle); }
  void remove(VkImageView handle) { views_.take(handle); }

  std::shared_ptr<RenderPass> find(VkRenderPass handle) const {
    return render_passes_.find(handle);
  }
  std::shared_ptr<Framebuffer> find(VkFramebuffer handle) const {
    return framebuffers_.find(handle);
  }

  // Returns the attachments of a dynamic rendering as JSON.
  std::string attachments(const VkRenderingInfo& info) const;

 private:
  StreamConnection& connection_;
  vk::HandleMap<VkRenderPass, std::shared_ptr<RenderPass>> render_passes_;
  vk::HandleMap<VkFramebuffer, std::shared_ptr<Framebuffer>> framebuffers_;
  vk::HandleMap<VkImageView, VkFormat> views_;
};

}  // namespace tally::capture
