#include "lanterns.h"

#include "blur.comp.h"
#include "composite.frag.h"
#include "fireflies.frag.h"
#include "fireflies.vert.h"
#include "labels.h"
#include "scene.frag.h"
#include "scene.vert.h"

namespace lanterns {
namespace {

constexpr VkFormat kLight = VK_FORMAT_R16G16B16A16_SFLOAT;
constexpr VkFormat kScreen = VK_FORMAT_R8G8B8A8_UNORM;
constexpr uint32_t kFireflies = 400;
constexpr uint32_t kWorkgroup = 64;  // local_size_x of blur.comp

struct Frame {
  float aspect;
  float time;
};

struct BlurStep {
  int32_t direction[2];
  float threshold;
};

}  // namespace

Lanterns::Lanterns(Context& context, VkExtent2D extent) : context_(context), extent_(extent) {
  const VkImageUsageFlags storage = VK_IMAGE_USAGE_STORAGE_BIT;
  scene_ = Image(context, {extent, kLight, storage | VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT});
  row_blurred_ = Image(context, {extent, kLight, storage});
  bloom_ = Image(context, {extent, kLight, storage});
  frame_ = Image(context, {extent, kScreen});
  create_sets();
  create_pipelines();
}

void Lanterns::create_sets() {
  VkDescriptorSetLayoutBinding bindings[2] = {};
  for (uint32_t i = 0; i < 2; ++i) {
    bindings[i] = {i, VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, 1,
                   VK_SHADER_STAGE_FRAGMENT_BIT | VK_SHADER_STAGE_COMPUTE_BIT, nullptr};
  }
  VkDescriptorSetLayoutCreateInfo layout = {VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO};
  layout.bindingCount = 2;
  layout.pBindings = bindings;
  VkDescriptorSetLayout layout_handle = VK_NULL_HANDLE;
  check(vkCreateDescriptorSetLayout(context_.device(), &layout, nullptr, &layout_handle));
  set_layout_ = {context_.device(), layout_handle};

  const VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, 6};
  VkDescriptorPoolCreateInfo pool = {VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO};
  pool.maxSets = 3;
  pool.poolSizeCount = 1;
  pool.pPoolSizes = &size;
  VkDescriptorPool pool_handle = VK_NULL_HANDLE;
  check(vkCreateDescriptorPool(context_.device(), &pool, nullptr, &pool_handle));
  pool_ = {context_.device(), pool_handle};

  blur_rows_ = make_image_set(scene_, row_blurred_);
  blur_columns_ = make_image_set(row_blurred_, bloom_);
  final_set_ = make_image_set(scene_, bloom_);
}

VkDescriptorSet Lanterns::make_image_set(const Image& first, const Image& second) const {
  VkDescriptorSetAllocateInfo allocate = {VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO};
  allocate.descriptorPool = pool_;
  allocate.descriptorSetCount = 1;
  allocate.pSetLayouts = set_layout_.address();
  VkDescriptorSet set = VK_NULL_HANDLE;
  check(vkAllocateDescriptorSets(context_.device(), &allocate, &set));
  const VkDescriptorImageInfo images[2] = {
      {VK_NULL_HANDLE, first.view(), VK_IMAGE_LAYOUT_GENERAL},
      {VK_NULL_HANDLE, second.view(), VK_IMAGE_LAYOUT_GENERAL}};
  VkWriteDescriptorSet write = {VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET};
  write.dstSet = set;
  write.descriptorCount = 2;  // continues into binding 1
  write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_IMAGE;
  write.pImageInfo = images;
  vkUpdateDescriptorSets(context_.device(), 1, &write, 0, nullptr);
  return set;
}

void Lanterns::create_pipelines() {
  const VkDescriptorSetLayout sets[] = {set_layout_};
  layout_ = make_pipeline_layout(context_, sets, 16);
  const Stage full_screen = {VK_SHADER_STAGE_VERTEX_BIT, scene_vert};
  scene_pipeline_ = make_graphics_pipeline(
      context_, {.stages = {full_screen, {VK_SHADER_STAGE_FRAGMENT_BIT, scene_frag}},
                 .layout = layout_,
                 .color_format = kLight});
  firefly_pipeline_ =
      make_graphics_pipeline(context_, {.stages = {{VK_SHADER_STAGE_VERTEX_BIT, fireflies_vert},
                                                   {VK_SHADER_STAGE_FRAGMENT_BIT, fireflies_frag}},
                                        .layout = layout_,
                                        .color_format = kLight,
                                        .topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP,
                                        .additive_blend = true});
  composite_pipeline_ = make_graphics_pipeline(
      context_, {.stages = {full_screen, {VK_SHADER_STAGE_FRAGMENT_BIT, composite_frag}},
                 .layout = layout_,
                 .color_format = kScreen});
  blur_pipeline_ =
      make_compute_pipeline(context_, {{VK_SHADER_STAGE_COMPUTE_BIT, blur_comp}, layout_});
  set_name(context_, VK_OBJECT_TYPE_PIPELINE, scene_pipeline_.get(), "street");
  set_name(context_, VK_OBJECT_TYPE_PIPELINE, firefly_pipeline_.get(), "fireflies");
  set_name(context_, VK_OBJECT_TYPE_PIPELINE, blur_pipeline_.get(), "blur");
  set_name(context_, VK_OBJECT_TYPE_PIPELINE, composite_pipeline_.get(), "composite");
  set_name(context_, VK_OBJECT_TYPE_IMAGE, static_cast<VkImage>(scene_), "scene light");
  set_name(context_, VK_OBJECT_TYPE_IMAGE, static_cast<VkImage>(frame_), "frame");
}

void Lanterns::draw_frame(float time) {
  context_.run([&](VkCommandBuffer commands) {
    for (const Image* image : {&row_blurred_, &bloom_}) {
      change_layout(commands, *image, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_GENERAL);
    }
    draw_scene(commands, time);
    blur(commands);
    composite(commands);
    change_layout(commands, frame_, VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL,
                  VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
  });
}

void Lanterns::begin_pass(VkCommandBuffer commands, const Image& target,
                          VkImageLayout layout) const {
  change_layout(commands, target, VK_IMAGE_LAYOUT_UNDEFINED, layout);
  VkRenderingAttachmentInfo color = {VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO};
  color.imageView = target.view();
  color.imageLayout = layout;
  color.loadOp = VK_ATTACHMENT_LOAD_OP_DONT_CARE;
  color.storeOp = VK_ATTACHMENT_STORE_OP_STORE;
  VkRenderingInfo rendering = {VK_STRUCTURE_TYPE_RENDERING_INFO};
  rendering.renderArea = {{0, 0}, extent_};
  rendering.layerCount = 1;
  rendering.colorAttachmentCount = 1;
  rendering.pColorAttachments = &color;
  vkCmdBeginRendering(commands, &rendering);
  const VkViewport viewport = {
      0, 0, static_cast<float>(extent_.width), static_cast<float>(extent_.height), 0, 1};
  const VkRect2D scissor = {{0, 0}, extent_};
  vkCmdSetViewport(commands, 0, 1, &viewport);
  vkCmdSetScissor(commands, 0, 1, &scissor);
}

void Lanterns::draw_scene(VkCommandBuffer commands, float time) const {
  const Label pass(context_, commands, "scene");
  const Frame frame = {static_cast<float>(extent_.width) / static_cast<float>(extent_.height),
                       time};
  begin_pass(commands, scene_, VK_IMAGE_LAYOUT_GENERAL);
  vkCmdPushConstants(commands, layout_, VK_SHADER_STAGE_ALL, 0, sizeof(frame), &frame);
  {
    const Label label(context_, commands, "street");
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, scene_pipeline_);
    vkCmdDraw(commands, 3, 1, 0, 0);
  }
  {
    const Label label(context_, commands, "fireflies");
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, firefly_pipeline_);
    vkCmdDraw(commands, 4, kFireflies, 0, 0);
  }
  vkCmdEndRendering(commands);
  full_barrier(commands);
}

void Lanterns::blur(VkCommandBuffer commands) const {
  const Label label(context_, commands, "bloom");
  vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, blur_pipeline_);
  const auto step = [&](VkDescriptorSet images, const BlurStep& constants, uint32_t length,
                        uint32_t lines) {
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, layout_, 0, 1, &images, 0,
                            nullptr);
    vkCmdPushConstants(commands, layout_, VK_SHADER_STAGE_ALL, 0, sizeof(constants), &constants);
    vkCmdDispatch(commands, (length + kWorkgroup - 1) / kWorkgroup, lines, 1);
    full_barrier(commands);
  };
  step(blur_rows_, {{1, 0}, 0.6f}, extent_.width, extent_.height);
  step(blur_columns_, {{0, 1}, 0.0f}, extent_.height, extent_.width);
}

void Lanterns::composite(VkCommandBuffer commands) const {
  const Label label(context_, commands, "composite");
  begin_pass(commands, frame_, VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL);
  vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, composite_pipeline_);
  vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, layout_, 0, 1, &final_set_, 0,
                          nullptr);
  vkCmdDraw(commands, 3, 1, 0, 0);
  vkCmdEndRendering(commands);
}

}  // namespace lanterns
