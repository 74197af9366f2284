#include "api/instrumentation/shader_object_run.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <span>

#include "alone_object.mesh.h"
#include "depth_object.frag.h"
#include "equal_object.tese.h"
#include "flat_object.comp.h"
#include "line_object.comp.h"
#include "object.geom.h"
#include "object.task.h"
#include "object.tesc.h"
#include "object.vert.h"
#include "odd_object.tese.h"
#include "plain_object.frag.h"
#include "support/instrumentation.h"
#include "support/queries.h"
#include "support/render_target.h"
#include "support/shader_objects.h"
#include "support/stages.h"
#include "tasked_object.mesh.h"

namespace tally::test {
namespace {

using ObjectCode = std::span<const uint32_t>;

constexpr uint32_t kSceneQueries = 32, kObjectSums = 128, kObjectVertices = 4096,
                   kObjectIndices = 1024, kSceneStatistics = 11;
constexpr VkFormat kObjectColor = VK_FORMAT_R8G8B8A8_UNORM, kObjectDepth = VK_FORMAT_D32_SFLOAT;
constexpr VkImageUsageFlags kObjectCopied =
    VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT;
// Nothing was bound to the stage, not even null.
constexpr int kUnset = -2;

size_t stage_slot(VkShaderStageFlagBits stage) {
  return static_cast<size_t>(std::countr_zero(static_cast<uint32_t>(stage)));
}
bool is_of_mesh(VkShaderStageFlagBits stage) { return stage == kTask || stage == kMesh; }

ObjectCode object_code(const SceneShader& shader) {
  const bool other = shader.variant != 0;
  switch (shader.stage) {
    case kVertex:
      return object_vert;
    case kControl:
      return object_tesc;
    case kEvaluation:
      return other ? ObjectCode(odd_object_tese) : equal_object_tese;
    case kGeometry:
      return object_geom;
    case kFragment:
      return other ? ObjectCode(depth_object_frag) : plain_object_frag;
    case kTask:
      return object_task;
    case kMesh:
      return other ? ObjectCode(tasked_object_mesh) : alone_object_mesh;
    default:
      return other ? ObjectCode(flat_object_comp) : line_object_comp;
  }
}

VkShaderStageFlags next_stages(VkShaderStageFlagBits stage) {
  switch (stage) {
    case kVertex:
      return kControl | kGeometry | kFragment;
    case kControl:
      return kEvaluation;
    case kEvaluation:
      return kGeometry | kFragment;
    case kTask:
      return kMesh;
    case kGeometry:
    case kMesh:
      return kFragment;
    default:
      return 0;
  }
}

struct ObjectConstants {
  uint32_t seed;
  float spread, level;
  uint32_t copies;
};

class ObjectSceneRun {
 public:
  ObjectSceneRun(Context& context, const ObjectScene& scene, const ObjectRun& run);
  ObjectOutcome run();

 private:
  // One at a time.
  struct Queries {
    QueryPool pool;
    VkQueryControlFlags flags = 0;
    uint32_t begun = 0;
    bool active = false;
  };

  void create_images();
  void create_buffers();
  void create_shaders();
  ShaderObjectInfo shader_info(size_t i, const VkSpecializationInfo& constants) const;

  void record(VkCommandBuffer commands);
  void record_secondary(std::span<const SceneStep> steps);
  void begin_state(VkCommandBuffer commands);
  void begin_pass(VkRenderingFlags flags = 0);
  void end_pass();
  void play(const SceneStep& step);
  void bind(const std::vector<std::pair<VkShaderStageFlagBits, int>>& binds);
  void push(const ObjectConstants& values);
  void set_state(uint32_t state, uint32_t value);
  void set_viewport(uint32_t value);
  void set_vertex_input(uint32_t kind);
  bool may_draw(bool mesh) const;
  bool keeps_groups() const;
  void repeat(std::span<const VkShaderStageFlagBits> stages);
  void prepare_draw(uint32_t topology);
  void draw(const SceneStep& step);
  void dispatch(uint32_t groups);
  void begin_query(Queries& queries);
  void end_query(Queries& queries);
  void toggle_query(Queries& queries);
  void begin_range(uint32_t object);
  void end_range();

  std::vector<std::byte> read(const Image& image);
  std::vector<uint64_t> read(const Queries& queries, uint32_t numbers) const;

  int bound(VkShaderStageFlagBits stage) const { return bound_[stage_slot(stage)]; }
  const SceneShader& shader(int i) const { return scene_.shaders[static_cast<size_t>(i)]; }
  VkShaderEXT handle(int i) const {
    return i < 0 ? VK_NULL_HANDLE : handles_[static_cast<size_t>(i)];
  }
  template <typename Function, typename... Arguments>
  void call(const char* name, Arguments... arguments) const {
    context_.function<Function>(name)(commands_, arguments...);
  }

  Context& context_;
  const ObjectScene& scene_;
  const ObjectRun options_;
  const bool mesh_;
  Image color_, depth_;
  Buffer vertices_, indices_, arguments_, sums_;
  DescriptorSet set_;
  PipelineLayout layout_;
  std::vector<std::unique_ptr<ShaderObjects>> shaders_;
  std::vector<VkShaderEXT> handles_;
  Queries occlusion_, statistics_;
  QueryPool timestamps_;
  std::optional<Instrumentation> objects_[2];

  // --- of the recording
  VkCommandBuffer commands_ = VK_NULL_HANDLE;
  std::array<int, 8> bound_{};
  ObjectConstants pushed_{};
  VkColorComponentFlags color_mask_ = 0xf;
  bool in_pass_ = false, in_secondary_ = false;
  const Instrumentation* range_ = nullptr;
  uint32_t timestamp_ = 0;
};

ObjectSceneRun::ObjectSceneRun(Context& context, const ObjectScene& scene, const ObjectRun& run)
    : context_(context),
      scene_(scene),
      options_(run),
      mesh_(context.has_extension(VK_EXT_MESH_SHADER_EXTENSION_NAME)) {
  create_images();
  create_buffers();
  create_shaders();
  occlusion_ = {make_query_pool(context, VK_QUERY_TYPE_OCCLUSION, kSceneQueries),
                VK_QUERY_CONTROL_PRECISE_BIT};
  timestamps_ = make_query_pool(context, VK_QUERY_TYPE_TIMESTAMP, kSceneQueries);
  if (context.features().pipelineStatisticsQuery) {
    statistics_ = {make_query_pool(context, VK_QUERY_TYPE_PIPELINE_STATISTICS, kSceneQueries,
                                   (1u << kSceneStatistics) - 1)};
  }
  if (!run.ranges) return;
  for (auto& object : objects_) object.emplace(context);
}

// --- objects

void ObjectSceneRun::create_images() {
  color_ = Image(
      context_, {scene_.extent, kObjectColor, VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT | kObjectCopied});
  depth_ = Image(context_, {scene_.extent, kObjectDepth,
                            VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT | kObjectCopied});
  context_.run([&](VkCommandBuffer commands) {
    const VkImageSubresourceRange colors{VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
    const VkImageSubresourceRange depths{VK_IMAGE_ASPECT_DEPTH_BIT, 0, 1, 0, 1};
    const VkClearColorValue black{};
    const VkClearDepthStencilValue far{1, 0};
    for (const Image* image : {&color_, &depth_}) {
      change_layout(commands, *image, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_GENERAL);
    }
    vkCmdClearColorImage(commands, color_, VK_IMAGE_LAYOUT_GENERAL, &black, 1, &colors);
    vkCmdClearDepthStencilImage(commands, depth_, VK_IMAGE_LAYOUT_GENERAL, &far, 1, &depths);
    full_barrier(commands);
  });
}

void ObjectSceneRun::create_buffers() {
  uint32_t number = 1;
  const auto below = [&](uint32_t limit) {
    return (number = number * 1664525 + 1013904223) / 65536 % limit;
  };
  vertices_ = Buffer(context_, kObjectVertices * 8, VK_BUFFER_USAGE_VERTEX_BUFFER_BIT);
  for (uint32_t& vertex : vertices_.as<uint32_t>()) vertex = below(64);
  indices_ = Buffer(context_, kObjectIndices * 4, VK_BUFFER_USAGE_INDEX_BUFFER_BIT);
  for (uint32_t& index : indices_.as<uint32_t>()) index = below(40);
  arguments_ = Buffer(context_, 1024, VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT);
  for (VkDrawIndirectCommand& draw : arguments_.as<VkDrawIndirectCommand>()) {
    draw = {below(40), 1 + below(2), below(5), below(3)};
  }
  sums_ = Buffer(context_, kObjectSums * 4);
  sums_.clear();
  set_ = StorageSet(context_, {sums_});
  const VkDescriptorSetLayout layout = set_.layout();
  layout_ = make_pipeline_layout(context_, {&layout, 1}, sizeof(ObjectConstants));
}

ShaderObjectInfo ObjectSceneRun::shader_info(size_t i,
                                             const VkSpecializationInfo& constants) const {
  const SceneShader& made = scene_.shaders[i];
  ShaderObjectInfo info;
  info.shader = {made.stage, object_code(made), "main", &constants};
  info.next_stage = next_stages(made.stage);
  info.flags = 0;
  if (options_.ranges && made.instrumented) {
    info.flags |= VK_SHADER_CREATE_INSTRUMENT_SHADER_BIT_ARM;
  }
  if (made.stage == kMesh && made.variant == 0) {
    info.flags |= VK_SHADER_CREATE_NO_TASK_SHADER_BIT_EXT;
  }
  if (made.group >= 0) info.flags |= VK_SHADER_CREATE_LINK_STAGE_BIT_EXT;
  info.sets = {set_.layout()};
  info.push_bytes = sizeof(ObjectConstants);
  return info;
}

void ObjectSceneRun::create_shaders() {
  const VkSpecializationMapEntry entry{0, 0, sizeof(uint32_t)};
  std::vector<VkSpecializationInfo> constants;
  for (const SceneShader& made : scene_.shaders)
    constants.push_back({1, &entry, entry.size, &made.mode});
  for (size_t i = 0; i < scene_.shaders.size();) {
    const SceneShader& first = scene_.shaders[i];
    std::vector<ShaderObjectInfo> infos;
    do {
      infos.push_back(shader_info(i, constants[i]));
    } while (++i < scene_.shaders.size() && first.group >= 0 &&
             scene_.shaders[i].group == first.group);
    for (size_t k = 0; k + 1 < infos.size(); ++k) infos[k].next_stage = infos[k + 1].shader.stage;
    auto made = std::make_unique<ShaderObjects>(context_, infos);
    if (first.binary) {
      const std::vector<std::byte> binary = made->binary(0);
      infos[0].binary = binary;
      made = std::make_unique<ShaderObjects>(context_, infos);
    }
    for (size_t k = 0; k < infos.size(); ++k) handles_.push_back((*made)[k]);
    shaders_.push_back(std::move(made));
  }
}

// --- passes, queries and ranges

void ObjectSceneRun::begin_pass(VkRenderingFlags flags) {
  full_barrier(commands_);
  const auto attachment = [](const Image& image) {
    VkRenderingAttachmentInfo info{VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO};
    info.imageView = image.view();
    info.imageLayout = VK_IMAGE_LAYOUT_GENERAL;
    info.loadOp = VK_ATTACHMENT_LOAD_OP_LOAD;
    info.storeOp = VK_ATTACHMENT_STORE_OP_STORE;
    return info;
  };
  const VkRenderingAttachmentInfo color = attachment(color_), depth = attachment(depth_);
  VkRenderingInfo info{VK_STRUCTURE_TYPE_RENDERING_INFO};
  info.flags = flags;
  info.renderArea = {{0, 0}, scene_.extent};
  info.layerCount = 1;
  info.colorAttachmentCount = 1;
  info.pColorAttachments = &color;
  info.pDepthAttachment = &depth;
  vkCmdBeginRendering(commands_, &info);
  in_pass_ = true;
  if (scene_.whole) begin_query(statistics_);
}

void ObjectSceneRun::end_pass() {
  if (!in_pass_ || in_secondary_) return;
  end_query(occlusion_);
  end_query(statistics_);
  vkCmdEndRendering(commands_);
  in_pass_ = false;
  full_barrier(commands_);
}

void ObjectSceneRun::begin_query(Queries& queries) {
  if (queries.pool == VK_NULL_HANDLE || queries.begun == kSceneQueries) return;
  vkCmdBeginQuery(commands_, queries.pool, queries.begun++, queries.flags);
  queries.active = true;
}

void ObjectSceneRun::end_query(Queries& queries) {
  if (queries.active) vkCmdEndQuery(commands_, queries.pool, queries.begun - 1);
  queries.active = false;
}

void ObjectSceneRun::toggle_query(Queries& queries) {
  if (!in_pass_ || in_secondary_) return;
  queries.active ? end_query(queries) : begin_query(queries);
}

void ObjectSceneRun::begin_range(uint32_t object) {
  if (!options_.ranges) return;
  end_range();
  range_ = &*objects_[object];
  range_->begin(commands_);
}

void ObjectSceneRun::end_range() {
  if (range_) range_->end(commands_);
  range_ = nullptr;
}

// --- state

// All of it: command buffers do not inherit any.
void ObjectSceneRun::begin_state(VkCommandBuffer commands) {
  commands_ = commands;
  bound_.fill(kUnset);
  color_mask_ = 0xf;
  set_draw_state(context_, commands, {.extent = scene_.extent});
  set_vertex_input(0);
  const VkColorBlendEquationEXT equation{VK_BLEND_FACTOR_ONE,  VK_BLEND_FACTOR_ONE,
                                         VK_BLEND_OP_ADD,      VK_BLEND_FACTOR_ONE,
                                         VK_BLEND_FACTOR_ZERO, VK_BLEND_OP_ADD};
  call<PFN_vkCmdSetColorBlendEquationEXT>("vkCmdSetColorBlendEquationEXT", 0u, 1u, &equation);
  vkCmdSetDepthBias(commands, 100, 0, 1);
  vkCmdSetLineWidth(commands, 1);
  set_.bind(commands, layout_, VK_PIPELINE_BIND_POINT_GRAPHICS);
  set_.bind(commands, layout_, VK_PIPELINE_BIND_POINT_COMPUTE);
  const VkBuffer vertices = vertices_;
  const VkDeviceSize offset = 0;
  vkCmdBindVertexBuffers(commands, 0, 1, &vertices, &offset);
  vkCmdBindIndexBuffer(commands, indices_, 0, VK_INDEX_TYPE_UINT32);
  // lavapipe 25.0.7 crashes where statistics begin and no compute shader is bound.
  const auto compute = std::ranges::find(scene_.shaders, kCompute, &SceneShader::stage);
  bind({{kCompute, static_cast<int>(compute - scene_.shaders.begin())}});
  push({1, 1, 1.5f, 1});
}

void ObjectSceneRun::bind(const std::vector<std::pair<VkShaderStageFlagBits, int>>& binds) {
  std::vector<VkShaderStageFlagBits> stages;
  std::vector<VkShaderEXT> handles;
  for (const auto& [stage, number] : binds) {
    if (is_of_mesh(stage) && !mesh_) continue;
    stages.push_back(stage);
    handles.push_back(handle(number));
    bound_[stage_slot(stage)] = number;
  }
  const bool any =
      std::ranges::any_of(handles, [](VkShaderEXT one) { return one != VK_NULL_HANDLE; });
  if (stages.empty()) return;
  call<PFN_vkCmdBindShadersEXT>("vkCmdBindShadersEXT", static_cast<uint32_t>(stages.size()),
                                stages.data(), any ? handles.data() : nullptr);
}

void ObjectSceneRun::push(const ObjectConstants& values) {
  pushed_ = values;
  vkCmdPushConstants(commands_, layout_, VK_SHADER_STAGE_ALL, 0, sizeof values, &values);
}

void ObjectSceneRun::set_vertex_input(uint32_t kind) {
  VkVertexInputBindingDescription2EXT binding{
      VK_STRUCTURE_TYPE_VERTEX_INPUT_BINDING_DESCRIPTION_2_EXT};
  binding.stride = kind == 1 ? 8 : 4;
  binding.inputRate = kind == 2 ? VK_VERTEX_INPUT_RATE_INSTANCE : VK_VERTEX_INPUT_RATE_VERTEX;
  binding.divisor = 1;
  VkVertexInputAttributeDescription2EXT attribute{
      VK_STRUCTURE_TYPE_VERTEX_INPUT_ATTRIBUTE_DESCRIPTION_2_EXT};
  attribute.format = VK_FORMAT_R32_UINT;
  call<PFN_vkCmdSetVertexInputEXT>("vkCmdSetVertexInputEXT", 1u, &binding, 1u, &attribute);
}

void ObjectSceneRun::set_viewport(uint32_t value) {
  const auto width = static_cast<float>(scene_.extent.width);
  const auto height = static_cast<float>(scene_.extent.height);
  VkViewport viewport{0, 0, width, height, 0, 1};
  if ((value & 1) != 0) viewport = {8, 4, width / 2, height / 2, 0, 1};
  if ((value & 2) != 0) {
    viewport.y += viewport.height;
    viewport.height = -viewport.height;
  }
  vkCmdSetViewportWithCount(commands_, 1, &viewport);
}

void ObjectSceneRun::set_state(uint32_t state, uint32_t value) {
  const VkBool32 on = value & 1;
  switch (state) {
    case 0:
      return set_viewport(value);
    case 1: {
      VkRect2D scissor{{0, 0}, scene_.extent};
      if (on) scissor = {{3, 5}, {scene_.extent.width / 2, scene_.extent.height - 7}};
      return vkCmdSetScissorWithCount(commands_, 1, &scissor);
    }
    case 2:
      return vkCmdSetCullMode(commands_, value % 3);
    case 3:
      return vkCmdSetFrontFace(commands_, static_cast<VkFrontFace>(on));
    case kDepthTest:
      return vkCmdSetDepthTestEnable(commands_, on);
    case kDepthWrite:
      return vkCmdSetDepthWriteEnable(commands_, on);
    case kDepthCompare:
      return vkCmdSetDepthCompareOp(commands_, static_cast<VkCompareOp>(value % 8));
    case 7:
      return vkCmdSetRasterizerDiscardEnable(commands_, value % 4 == 0);
    case 8:
      return call<PFN_vkCmdSetPatchControlPointsEXT>("vkCmdSetPatchControlPointsEXT", 3 + on);
    case kAlphaToCoverage:
      return call<PFN_vkCmdSetAlphaToCoverageEnableEXT>("vkCmdSetAlphaToCoverageEnableEXT", on);
    case 10:
      return call<PFN_vkCmdSetPolygonModeEXT>(
          "vkCmdSetPolygonModeEXT", value % 4 != 0 ? VK_POLYGON_MODE_FILL : VK_POLYGON_MODE_LINE);
    case 11:
      return call<PFN_vkCmdSetTessellationDomainOriginEXT>(
          "vkCmdSetTessellationDomainOriginEXT", static_cast<VkTessellationDomainOrigin>(on));
    case 12:
      return call<PFN_vkCmdSetColorBlendEnableEXT>("vkCmdSetColorBlendEnableEXT", 0u, 1u, &on);
    case 13:
      color_mask_ = value % 3 != 0 ? 0xf : value & 0xf;
      return;
    case 14:
      return vkCmdSetDepthBiasEnable(commands_, on);
    default:
      return set_vertex_input(value % 3);
  }
}

// --- actions

// True if the shaders that are bound are valid for a draw.
bool ObjectSceneRun::may_draw(bool mesh) const {
  for (const VkShaderStageFlagBits stage : kGraphicsStages) {
    if (is_of_mesh(stage) && !mesh_) continue;
    if (bound(stage) == kUnset) return false;
    if (stage != kFragment && is_of_mesh(stage) != mesh && bound(stage) >= 0) return false;
  }
  if (mesh) {
    if (bound(kMesh) < 0 || statistics_.active || scene_.whole) return false;
    if ((bound(kTask) >= 0) != (shader(bound(kMesh)).variant == 1)) return false;
  } else if (bound(kVertex) < 0 || (bound(kControl) >= 0) != (bound(kEvaluation) >= 0)) {
    return false;
  }
  return keeps_groups();
}

// Linked shaders are bound together, with no others.
bool ObjectSceneRun::keeps_groups() const {
  int group = kUnset;
  int count = 0;
  for (const VkShaderStageFlagBits stage : kGraphicsStages) {
    if (bound(stage) < 0) continue;
    if (group != kUnset && shader(bound(stage)).group != group) return false;
    group = shader(bound(stage)).group;
    ++count;
  }
  return group < 0 || std::ranges::count(scene_.shaders, group, &SceneShader::group) == count;
}

// These commands change nothing. lavapipe 25.0.7 needs them (docs/reference/drivers.md).
void ObjectSceneRun::repeat(std::span<const VkShaderStageFlagBits> stages) {
  if (!options_.repeats) return;
  std::vector<std::pair<VkShaderStageFlagBits, int>> binds;
  for (const VkShaderStageFlagBits stage : stages) {
    if (bound(stage) != kUnset) binds.emplace_back(stage, bound(stage));
  }
  bind(binds);
  push(pushed_);
}

void ObjectSceneRun::prepare_draw(uint32_t topology) {
  constexpr std::array kTopologies = {
      VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST, VK_PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP,
      VK_PRIMITIVE_TOPOLOGY_TRIANGLE_FAN,  VK_PRIMITIVE_TOPOLOGY_LINE_LIST,
      VK_PRIMITIVE_TOPOLOGY_LINE_STRIP,    VK_PRIMITIVE_TOPOLOGY_POINT_LIST};
  constexpr uint32_t kOfTriangles = 3;
  // Without a fragment shader, colors are undefined.
  const VkColorComponentFlags mask = bound(kFragment) < 0 ? 0 : color_mask_;
  call<PFN_vkCmdSetColorWriteMaskEXT>("vkCmdSetColorWriteMaskEXT", 0u, 1u, &mask);
  if (bound(kControl) >= 0) {
    vkCmdSetPrimitiveTopology(commands_, VK_PRIMITIVE_TOPOLOGY_PATCH_LIST);
  } else {
    const bool triangles = bound(kGeometry) >= 0;
    vkCmdSetPrimitiveTopology(commands_,
                              kTopologies[triangles ? topology % kOfTriangles : topology]);
  }
}

void ObjectSceneRun::draw(const SceneStep& step) {
  if (!may_draw(step.kind == SceneStep::DrawMeshTasks)) return;
  if (!in_pass_) begin_pass();
  const auto& [topology, vertices, instances, first, first_instance] = step.values;
  repeat(kGraphicsStages);
  prepare_draw(topology);
  switch (step.kind) {
    case SceneStep::Draw:
      return vkCmdDraw(commands_, vertices, instances, first, first_instance);
    case SceneStep::DrawIndexed:
      return vkCmdDrawIndexed(commands_, vertices, instances, first, 0, first_instance);
    case SceneStep::DrawIndirect: {
      constexpr uint32_t kStride = sizeof(VkDrawIndirectCommand);
      return vkCmdDrawIndirect(commands_, arguments_, VkDeviceSize{first} * kStride,
                               1 + first_instance, kStride);
    }
    default:
      call<PFN_vkCmdDrawMeshTasksEXT>("vkCmdDrawMeshTasksEXT", 1 + topology % 5, 1u, 1u);
  }
}

void ObjectSceneRun::dispatch(uint32_t groups) {
  if (in_secondary_) return;
  end_pass();
  repeat(std::array{kCompute});
  if (scene_.whole) begin_query(statistics_);
  vkCmdDispatch(commands_, groups, 1, 1);
  end_query(statistics_);
}

void ObjectSceneRun::play(const SceneStep& step) {
  const auto& values = step.values;
  switch (step.kind) {
    case SceneStep::Bind:
      return bind(step.binds);
    case SceneStep::Push:
      return push({values[0], values[2] == 0 ? 0.5f : static_cast<float>(values[2]),
                   1 + 0.5f * static_cast<float>(values[3]), values[1]});
    case SceneStep::Dispatch:
      return dispatch(values[0]);
    case SceneStep::SetState:
      return set_state(values[0], values[1]);
    case SceneStep::EndPass:
      return end_pass();
    case SceneStep::BeginRange:
      return scene_.whole ? void() : begin_range(values[0]);
    case SceneStep::EndRange:
      return scene_.whole ? void() : end_range();
    case SceneStep::Occlusion:
      return toggle_query(occlusion_);
    case SceneStep::Statistics:
      return scene_.whole ? void() : toggle_query(statistics_);
    case SceneStep::Timestamp:
      if (in_secondary_ || timestamp_ == kSceneQueries) return;
      return vkCmdWriteTimestamp(commands_, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, timestamps_,
                                 timestamp_++);
    default:
      return draw(step);
  }
}

void ObjectSceneRun::record_secondary(std::span<const SceneStep> steps) {
  end_pass();
  end_range();
  const VkCommandBuffer primary = commands_;
  VkCommandBufferInheritanceRenderingInfo rendering{
      VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_RENDERING_INFO};
  rendering.colorAttachmentCount = 1;
  rendering.pColorAttachmentFormats = &kObjectColor;
  rendering.depthAttachmentFormat = kObjectDepth;
  rendering.rasterizationSamples = VK_SAMPLE_COUNT_1_BIT;
  const VkCommandBuffer secondary = context_.begin_secondary(
      {.pNext = &rendering}, VK_COMMAND_BUFFER_USAGE_RENDER_PASS_CONTINUE_BIT);
  in_secondary_ = in_pass_ = true;
  begin_state(secondary);
  for (const SceneStep& step : steps) play(step);
  end_range();
  check(vkEndCommandBuffer(secondary));
  in_secondary_ = in_pass_ = false;
  commands_ = primary;
  begin_pass(VK_RENDERING_CONTENTS_SECONDARY_COMMAND_BUFFERS_BIT);
  vkCmdExecuteCommands(primary, 1, &secondary);
  end_pass();
  begin_state(primary);
}

void ObjectSceneRun::record(VkCommandBuffer commands) {
  for (const VkQueryPool pool :
       {VkQueryPool{occlusion_.pool}, VkQueryPool{statistics_.pool}, VkQueryPool{timestamps_}}) {
    if (pool != VK_NULL_HANDLE) vkCmdResetQueryPool(commands, pool, 0, kSceneQueries);
  }
  full_barrier(commands);
  begin_state(commands);
  if (scene_.whole) begin_range(0);
  const std::span<const SceneStep> steps = scene_.steps;
  for (size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].kind != SceneStep::Secondary) {
      play(steps[i]);
      continue;
    }
    const size_t count = steps[i].values[0];
    record_secondary(steps.subspan(i + 1, count));
    i += count;
  }
  end_pass();
  end_range();
  full_barrier(commands);
}

// --- results

std::vector<std::byte> ObjectSceneRun::read(const Image& image) {
  const Buffer copied(context_, VkDeviceSize{4} * scene_.extent.width * scene_.extent.height,
                      VK_BUFFER_USAGE_TRANSFER_DST_BIT);
  context_.run([&](VkCommandBuffer commands) {
    VkBufferImageCopy copy{};
    copy.imageSubresource = {image.aspect(), 0, 0, 1};
    copy.imageExtent = {scene_.extent.width, scene_.extent.height, 1};
    vkCmdCopyImageToBuffer(commands, image, VK_IMAGE_LAYOUT_GENERAL, copied, 1, &copy);
    full_barrier(commands);
  });
  const std::span<const std::byte> bytes = copied.as<std::byte>();
  return {bytes.begin(), bytes.end()};
}

std::vector<uint64_t> ObjectSceneRun::read(const Queries& queries, uint32_t numbers) const {
  std::vector<uint64_t> results(size_t{queries.begun} * numbers);
  if (results.empty()) return results;
  check(vkGetQueryPoolResults(context_.device(), queries.pool, 0, queries.begun,
                              results.size() * sizeof(uint64_t), results.data(),
                              numbers * sizeof(uint64_t),
                              VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT));
  return results;
}

ObjectOutcome ObjectSceneRun::run() {
  context_.run([&](VkCommandBuffer commands) { record(commands); });
  ObjectOutcome outcome;
  outcome.color = read(color_);
  outcome.depth = read(depth_);
  outcome.sums.assign(sums_.as<uint32_t>().begin(), sums_.as<uint32_t>().end());
  outcome.samples = read(occlusion_, 1);
  const std::vector<uint64_t> statistics = read(statistics_, kSceneStatistics);
  outcome.statistics.resize(statistics_.begun);
  for (size_t i = 0; i < statistics.size(); ++i) {
    outcome.statistics[i / kSceneStatistics][i % kSceneStatistics] = statistics[i];
  }
  for (const auto& object : objects_) {
    if (!object) continue;
    const size_t executions = object->metric("executions");
    for (const BlockValues& block : object->read()) {
      if (block.header.basicBlockIndex == 0) {
        outcome.invocations[block.header.stages] += block.metrics[executions];
      }
    }
  }
  return outcome;
}

}  // namespace

ObjectOutcome run_object_scene(Context& context, const ObjectScene& scene, const ObjectRun& run) {
  return ObjectSceneRun(context, scene, run).run();
}

}  // namespace tally::test
