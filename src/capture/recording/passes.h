// Render passes and framebuffers, as the capture describes them.
#pragma once

#include <vulkan/vulkan_core.h>

#include <memory>
#include <string>
#include <vector>

#include "capture/emit/stream_connection.h"
#include "capture/recording/images.h"
#include "capture/recording/pass_picture.h"
#include "vk/handle_map.h"

namespace tally::capture {

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
  std::optional<FinalAttachment> final_attachment;
};

struct Framebuffer : Object {
  using Object::Object;
  uint32_t width = 0;
  uint32_t height = 0;
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
