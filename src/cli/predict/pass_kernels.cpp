#include "cli/predict/pass_kernels.h"

#include <array>

#include "calibrate.vert.h"

namespace tally::cli {

Status PassKernels::create(const DeviceFunctions& vk, VkDevice device, VkImageView view,
                           VkPipelineLayout layout) {
  vk_ = &vk;
  device_ = device;
  layout_ = layout;
  VkAttachmentDescription attachment{};
  attachment.format = kFormat;
  attachment.samples = VK_SAMPLE_COUNT_1_BIT;
  attachment.loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR;
  attachment.storeOp = VK_ATTACHMENT_STORE_OP_STORE;
  attachment.stencilLoadOp = VK_ATTACHMENT_LOAD_OP_DONT_CARE;
  attachment.stencilStoreOp = VK_ATTACHMENT_STORE_OP_DONT_CARE;
  attachment.finalLayout = VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL;
  const VkAttachmentReference color{0, VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL};
  VkSubpassDescription subpass{};
  subpass.pipelineBindPoint = VK_PIPELINE_BIND_POINT_GRAPHICS;
  subpass.colorAttachmentCount = 1;
  subpass.pColorAttachments = &color;
  VkRenderPassCreateInfo pass{VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO};
  pass.attachmentCount = 1;
  pass.pAttachments = &attachment;
  pass.subpassCount = 1;
  pass.pSubpasses = &subpass;
  TALLY_TRY(status_of("vkCreateRenderPass", vk.CreateRenderPass(device, &pass, nullptr, &pass_)));
  VkFramebufferCreateInfo framebuffer{VK_STRUCTURE_TYPE_FRAMEBUFFER_CREATE_INFO};
  framebuffer.renderPass = pass_;
  framebuffer.attachmentCount = 1;
  framebuffer.pAttachments = &view;
  framebuffer.width = framebuffer.height = kSize;
  framebuffer.layers = 1;
  return status_of("vkCreateFramebuffer",
                   vk.CreateFramebuffer(device, &framebuffer, nullptr, &framebuffer_));
}

void PassKernels::destroy() {
  if (vk_ == nullptr) return;
  for (const VkPipeline pipeline : pipelines_) vk_->DestroyPipeline(device_, pipeline, nullptr);
  vk_->DestroyFramebuffer(device_, framebuffer_, nullptr);
  vk_->DestroyRenderPass(device_, pass_, nullptr);
}

Result<VkPipeline> PassKernels::make(std::span<const uint32_t> words) {
  const auto vertex = TALLY_TRY(make_module(*vk_, device_, calibrate_vert));
  const auto fragment = make_module(*vk_, device_, words);
  if (!fragment) {
    vk_->DestroyShaderModule(device_, vertex, nullptr);
    return fragment.error();
  }
  std::array<VkPipelineShaderStageCreateInfo, 2> stages{};
  for (VkPipelineShaderStageCreateInfo& stage : stages) {
    stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
    stage.pName = "main";
  }
  stages[0].stage = VK_SHADER_STAGE_VERTEX_BIT;
  stages[0].module = vertex;
  stages[1].stage = VK_SHADER_STAGE_FRAGMENT_BIT;
  stages[1].module = *fragment;
  const VkPipelineVertexInputStateCreateInfo input{
      VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO};
  VkPipelineInputAssemblyStateCreateInfo assembly{
      VK_STRUCTURE_TYPE_PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO};
  assembly.topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST;
  const VkViewport area{0, 0, kSize, kSize, 0, 1};
  const VkRect2D scissor{{0, 0}, {kSize, kSize}};
  VkPipelineViewportStateCreateInfo viewport{VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_STATE_CREATE_INFO};
  viewport.viewportCount = viewport.scissorCount = 1;
  viewport.pViewports = &area;
  viewport.pScissors = &scissor;
  VkPipelineRasterizationStateCreateInfo raster{
      VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_STATE_CREATE_INFO};
  raster.cullMode = VK_CULL_MODE_NONE;
  raster.lineWidth = 1;
  VkPipelineMultisampleStateCreateInfo samples{
      VK_STRUCTURE_TYPE_PIPELINE_MULTISAMPLE_STATE_CREATE_INFO};
  samples.rasterizationSamples = VK_SAMPLE_COUNT_1_BIT;
  VkPipelineColorBlendAttachmentState opaque{};
  opaque.colorWriteMask = VK_COLOR_COMPONENT_R_BIT | VK_COLOR_COMPONENT_G_BIT |
                          VK_COLOR_COMPONENT_B_BIT | VK_COLOR_COMPONENT_A_BIT;
  VkPipelineColorBlendStateCreateInfo blend{
      VK_STRUCTURE_TYPE_PIPELINE_COLOR_BLEND_STATE_CREATE_INFO};
  blend.attachmentCount = 1;
  blend.pAttachments = &opaque;
  VkGraphicsPipelineCreateInfo info{VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO};
  info.stageCount = static_cast<uint32_t>(stages.size());
  info.pStages = stages.data();
  info.pVertexInputState = &input;
  info.pInputAssemblyState = &assembly;
  info.pViewportState = &viewport;
  info.pRasterizationState = &raster;
  info.pMultisampleState = &samples;
  info.pColorBlendState = &blend;
  info.layout = layout_;
  info.renderPass = pass_;
  VkPipeline pipeline = VK_NULL_HANDLE;
  const VkResult result =
      vk_->CreateGraphicsPipelines(device_, VK_NULL_HANDLE, 1, &info, nullptr, &pipeline);
  vk_->DestroyShaderModule(device_, vertex, nullptr);
  vk_->DestroyShaderModule(device_, *fragment, nullptr);
  TALLY_TRY(status_of("vkCreateGraphicsPipelines", result));
  pipelines_.push_back(pipeline);
  return pipeline;
}

void PassKernels::record(VkCommandBuffer commands, VkPipeline pipeline,
                         const KernelPass& pass) const {
  const VkClearValue grey{{{0.5F, 0.5F, 0.5F, 1}}};
  VkRenderPassBeginInfo info{VK_STRUCTURE_TYPE_RENDER_PASS_BEGIN_INFO};
  info.renderPass = pass_;
  info.framebuffer = framebuffer_;
  info.renderArea = {{0, 0}, {pass.size, pass.size}};
  info.clearValueCount = 1;
  info.pClearValues = &grey;
  vk_->CmdBeginRenderPass(commands, &info, VK_SUBPASS_CONTENTS_INLINE);
  if (pass.draws != 0) vk_->CmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, pipeline);
  for (uint32_t draw = 0; draw < pass.draws; ++draw)
    vk_->CmdDraw(commands, pass.vertices, 1, pass.first_vertex, 0);
  vk_->CmdEndRenderPass(commands);
}

}  // namespace tally::cli
