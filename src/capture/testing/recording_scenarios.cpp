#include "capture/testing/recording_scenarios.h"

#include <cstdlib>
#include <functional>
#include <mutex>
#include <thread>

#include "capture/testing/painter.h"
#include "launched.comp.h"
#include "launched_by_memory.comp.h"
#include "sized.comp.h"
#include "specialized.comp.h"
#include "triangle.tesc.h"
#include "triangle.tese.h"

namespace tally::test {
namespace {

constexpr VkCommandBufferUsageFlags kReusable = 0;

// One recording, submitted twice: the second submission's values are its own.
void resubmit(Context& context) {
  const Doubler doubler(context);
  const VkCommandBuffer commands = context.begin_commands(kReusable);
  for (const uint32_t groups : {1u, 2u, 3u}) doubler.dispatch(commands, groups);
  check(vkEndCommandBuffer(commands));
  context.submit_and_wait(commands);
  context.submit_and_wait(commands);
}

// The same recording several times in flight.
void simultaneous(Context& context) {
  const Doubler doubler(context);
  const VkCommandBuffer commands =
      context.begin_commands(VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT);
  doubler.dispatch(commands, 5);
  check(vkEndCommandBuffer(commands));
  for (int i = 0; i < 20; ++i) submit(context, {commands, commands});
  check(vkQueueWaitIdle(context.queue()));
}

// One pipeline is never bound, one is bound without a command, one is used.
void unused_pipelines(Context& context) {
  const Doubler never_bound(context), bound(context), used(context);
  context.run([&](VkCommandBuffer commands) {
    bound.bind(commands);
    used.dispatch(commands, 1);
  });
}

void render_pass(Context& context) {
  const Painter painter(context, Painter::Passes::Objects);
  set_name(context, VK_OBJECT_TYPE_RENDER_PASS, (void*)painter.target().render_pass(), "main pass");
  context.run([&](VkCommandBuffer commands) {
    const Label frame(context, commands, "Frame");
    painter.target().begin_render_pass(commands);
    {
      const Label shadow(context, commands, "Orange");
      painter.draw(commands, 2);
      painter.draw(commands, 3);
    }
    painter.target().end_render_pass(commands);
  });
}

// Passes of a megapixel, the last one with nothing to draw, and a copy between two of them.
void large_passes(Context& context) {
  const Painter painter(context, Painter::Passes::Objects, {.extent = {1024, 1024}});
  const Buffer copied(context, 64, VK_BUFFER_USAGE_TRANSFER_DST_BIT);
  context.run([&](VkCommandBuffer commands) {
    for (const uint32_t draws : {1, 3, 0}) {
      painter.target().begin_render_pass(commands);
      for (uint32_t i = 0; i < draws; ++i) painter.draw(commands, 1);
      painter.target().end_render_pass(commands);
      if (draws == 1) vkCmdFillBuffer(commands, copied, 0, 64, 1);
    }
  });
}

// 300 small passes in command buffers that are submitted once, and 100 executions of another.
void short_passes(Context& context) {
  const Painter painter(context, Painter::Passes::Objects);
  const auto paint = [&](VkCommandBuffer commands) {
    painter.target().begin_render_pass(commands);
    painter.draw(commands, 1);
    painter.target().end_render_pass(commands);
  };
  for (int i = 0; i < 300; ++i) context.run(paint);
  const VkCommandBuffer again = context.begin_commands(kReusable);
  paint(again);
  check(vkEndCommandBuffer(again));
  for (int i = 0; i < 100; ++i) context.submit_and_wait(again);
}

// Draws whose pipeline or commands say how vertices become primitives, in a pass. Exits with 77 if
// there is no tessellation.
void topologies(Context& context) {
  if (!context.features().tessellationShader) std::exit(77);
  const RenderTarget target(context);
  const PipelineLayout layout = make_pipeline_layout(context);
  GraphicsPipelineInfo info;
  info.stages = {{VK_SHADER_STAGE_VERTEX_BIT, full_screen_vert},
                 {VK_SHADER_STAGE_FRAGMENT_BIT, orange_frag}};
  info.layout = layout;
  info.render_pass = target.render_pass();
  info.topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP;
  info.primitive_restart = true;
  const Pipeline strips = make_graphics_pipeline(context, info);
  info.topology = VK_PRIMITIVE_TOPOLOGY_LINE_STRIP;
  info.dynamic = {VK_DYNAMIC_STATE_PRIMITIVE_TOPOLOGY, VK_DYNAMIC_STATE_PRIMITIVE_RESTART_ENABLE};
  const Pipeline lines = make_graphics_pipeline(context, info);
  info.stages.push_back({VK_SHADER_STAGE_TESSELLATION_CONTROL_BIT, triangle_tesc});
  info.stages.push_back({VK_SHADER_STAGE_TESSELLATION_EVALUATION_BIT, triangle_tese});
  info.topology = VK_PRIMITIVE_TOPOLOGY_PATCH_LIST;
  info.primitive_restart = false;
  info.patch_control_points = 3;
  info.dynamic.clear();
  const Pipeline patches = make_graphics_pipeline(context, info);
  const Buffer indices(context, 4096, VK_BUFFER_USAGE_INDEX_BUFFER_BIT);
  context.run([&](VkCommandBuffer commands) {
    const auto bind = [&](VkPipeline pipeline) {
      vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, pipeline);
    };
    target.begin_render_pass(commands);
    target.set_viewport(commands);
    vkCmdBindIndexBuffer(commands, indices, 0, VK_INDEX_TYPE_UINT16);
    bind(strips);
    vkCmdDraw(commands, 5, 2, 0, 0);
    vkCmdDrawIndexed(commands, 6, 1, 0, 0, 0);
    bind(lines);
    vkCmdSetPrimitiveTopology(commands, VK_PRIMITIVE_TOPOLOGY_LINE_LIST);
    vkCmdSetPrimitiveRestartEnable(commands, VK_FALSE);
    vkCmdDraw(commands, 4, 3, 0, 0);
    vkCmdSetPrimitiveTopology(commands, VK_PRIMITIVE_TOPOLOGY_LINE_STRIP);
    vkCmdDraw(commands, 4, 1, 0, 0);
    bind(patches);
    vkCmdDraw(commands, 9, 2, 0, 0);
    target.end_render_pass(commands);
  });
}

// Secondaries that continue the primary's pass, one of them executed twice; dispatches around.
void secondaries(Context& context) {
  const Painter painter(context, Painter::Passes::Objects);
  const Doubler doubler(context);
  VkCommandBufferInheritanceInfo inheritance{VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO};
  inheritance.renderPass = painter.target().render_pass();
  const auto continues = VK_COMMAND_BUFFER_USAGE_RENDER_PASS_CONTINUE_BIT;
  const VkCommandBuffer once = context.begin_secondary(inheritance, continues);
  {
    const Label label(context, once, "Inner");
    painter.draw(once, 2);
  }
  check(vkEndCommandBuffer(once));
  const VkCommandBuffer twice = context.begin_secondary(
      inheritance, continues | VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT);
  painter.draw(twice, 5);
  check(vkEndCommandBuffer(twice));
  const VkCommandBuffer computes = context.begin_secondary();
  doubler.dispatch(computes, 9);
  check(vkEndCommandBuffer(computes));
  context.run([&](VkCommandBuffer commands) {
    doubler.dispatch(commands, 1);
    const Label label(context, commands, "Outer");
    painter.target().begin_render_pass(commands, {}, VK_SUBPASS_CONTENTS_SECONDARY_COMMAND_BUFFERS);
    const VkCommandBuffer all[] = {once, twice, twice};
    vkCmdExecuteCommands(commands, 3, all);
    painter.target().end_render_pass(commands);
    vkCmdExecuteCommands(commands, 1, &computes);
    doubler.dispatch(commands, 4);
  });
}

// One dynamic render pass suspended and resumed, within and across command buffers.
void suspended(Context& context) {
  const Painter painter(context, Painter::Passes::Dynamic);
  const Doubler doubler(context);
  const auto begin = [&](VkCommandBuffer commands, VkRenderingFlags flags) {
    VkRenderingAttachmentInfo color{VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO};
    color.imageView = painter.target().color().view();
    color.imageLayout = VK_IMAGE_LAYOUT_GENERAL;
    color.storeOp = VK_ATTACHMENT_STORE_OP_STORE;
    VkRenderingInfo info{VK_STRUCTURE_TYPE_RENDERING_INFO, nullptr, flags};
    info.renderArea.extent = painter.target().info().extent;
    info.layerCount = 1;
    info.colorAttachmentCount = 1;
    info.pColorAttachments = &color;
    vkCmdBeginRendering(commands, &info);
  };
  const VkCommandBuffer first = context.begin_commands();
  change_layout(first, painter.target().color(), VK_IMAGE_LAYOUT_UNDEFINED,
                VK_IMAGE_LAYOUT_GENERAL);
  doubler.dispatch(first, 1);
  begin(first, VK_RENDERING_SUSPENDING_BIT);
  painter.draw(first, 1);
  vkCmdEndRendering(first);
  begin(first, VK_RENDERING_SUSPENDING_BIT | VK_RENDERING_RESUMING_BIT);
  painter.draw(first, 2);
  vkCmdEndRendering(first);
  check(vkEndCommandBuffer(first));
  const VkCommandBuffer second = context.begin_commands();
  painter.bind(second);
  begin(second, VK_RENDERING_RESUMING_BIT);
  painter.draw(second, 3);
  vkCmdEndRendering(second);
  doubler.dispatch(second, 2);
  check(vkEndCommandBuffer(second));
  const VkCommandBuffer both[] = {first, second};
  context.submit_and_wait(both);
}

// The pipeline is named after it was used.
void late_names(Context& context) {
  const Doubler doubler(context);
  context.run([&](VkCommandBuffer commands) { doubler.dispatch(commands, 1); });
  set_name(context, VK_OBJECT_TYPE_PIPELINE, (void*)doubler.pipeline(), "the doubler");
  set_name(context, VK_OBJECT_TYPE_QUEUE, context.queue(), "the queue");
  context.run([&](VkCommandBuffer commands) { doubler.dispatch(commands, 1); });
}

// Ten submissions of one dispatch each; the n-th (from 0) has n+1 groups.
void ten(Context& context) {
  const Doubler doubler(context);
  for (uint32_t i = 0; i < 10; ++i) {
    context.run([&](VkCommandBuffer commands) { doubler.dispatch(commands, i + 1); });
  }
}

// More commands than one instrumentation object holds.
void many(Context& context) {
  const Doubler doubler(context);
  context.run([&](VkCommandBuffer commands) {
    for (uint32_t i = 0; i < 2500; ++i) doubler.dispatch(commands, i % 7 + 1);
  });
}

// Four threads record and submit; one mutex guards the queue.
void threads(Context& context) {
  std::mutex queue;
  std::vector<std::thread> workers;
  for (uint32_t worker = 0; worker < 4; ++worker) {
    workers.emplace_back([&, worker] {
      const Doubler doubler(context);
      const VkCommandPoolCreateInfo info{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO, nullptr,
                                         VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                         context.queue_family()};
      VkCommandPool created = VK_NULL_HANDLE;
      check(vkCreateCommandPool(context.device(), &info, nullptr, &created));
      const CommandPool pool(context.device(), created);
      const VkCommandBufferAllocateInfo allocate{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                                 nullptr, pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY, 1};
      VkCommandBuffer commands = VK_NULL_HANDLE;
      check(vkAllocateCommandBuffers(context.device(), &allocate, &commands));
      for (uint32_t i = 0; i < 25; ++i) {
        const VkCommandBufferBeginInfo begin{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
        check(vkBeginCommandBuffer(commands, &begin));
        doubler.dispatch(commands, worker + 1);
        check(vkEndCommandBuffer(commands));
        const std::lock_guard lock(queue);
        submit(context, {commands});
        check(vkQueueWaitIdle(context.queue()));
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
}

void two_devices(Context& context) {
  Context other;
  const Doubler here(context);
  const Doubler there(other);
  context.run([&](VkCommandBuffer commands) { here.dispatch(commands, 1); });
  other.run([&](VkCommandBuffer commands) { there.dispatch(commands, 2); });
}

// Recorded, reset, recorded again, pool reset; only what is submitted counts.
void resets(Context& context) {
  const Doubler doubler(context);
  const VkCommandBuffer commands = context.begin_commands(kReusable);
  doubler.dispatch(commands, 11);
  check(vkEndCommandBuffer(commands));
  check(vkResetCommandBuffer(commands, 0));
  const VkCommandBufferBeginInfo begin{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  check(vkBeginCommandBuffer(commands, &begin));
  doubler.dispatch(commands, 12);
  check(vkEndCommandBuffer(commands));
  context.submit_and_wait(commands);
  check(vkResetCommandPool(context.device(), context.command_pool(), 0));
  check(vkBeginCommandBuffer(commands, &begin));
  doubler.dispatch(commands, 13);
  check(vkEndCommandBuffer(commands));
  context.submit_and_wait(commands);
}

// Three pipelines of one module. The last one only gives a constant that the module does not have.
void specialized(Context& context) {
  const Buffer buffer(context, 4096);
  const StorageSet set(context, {buffer});
  const VkDescriptorSetLayout set_layout = set.layout();
  const PipelineLayout layout = make_pipeline_layout(context, {&set_layout, 1});
  const uint32_t values[] = {8, 5, 7};  // of the workgroup and of the array; unknown
  const VkSpecializationMapEntry both[] = {{0, 0, 4}, {1, 4, 4}};
  const VkSpecializationMapEntry unknown[] = {{77, 8, 4}};
  const VkSpecializationInfo infos[] = {{2, both, sizeof values, values},
                                        {0, nullptr, 0, nullptr},
                                        {1, unknown, sizeof values, values}};
  std::vector<Pipeline> pipelines;
  for (const VkSpecializationInfo& info : infos) {
    pipelines.push_back(make_compute_pipeline(
        context, {{VK_SHADER_STAGE_COMPUTE_BIT, specialized_comp, "main", &info}, layout}));
  }
  context.run([&](VkCommandBuffer commands) {
    set.bind(commands, layout);
    for (const Pipeline& pipeline : pipelines) {
      vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
      vkCmdDispatch(commands, 3, 1, 1);
      full_barrier(commands);
    }
  });
}

// Dispatches with nothing but barriers between them, a copy, a dispatch, and a render pass after a
// barrier. Submitted twice.
void timed(Context& context) {
  constexpr VkDeviceSize kFilled = VkDeviceSize{4} << 20;
  const Doubler doubler(context);
  const Painter painter(context, Painter::Passes::Objects);
  const Buffer filled(context, kFilled, VK_BUFFER_USAGE_TRANSFER_DST_BIT);
  const VkCommandBuffer commands = context.begin_commands(kReusable);
  for (const uint32_t groups : {1u, 2u, 3u}) doubler.dispatch(commands, groups);
  vkCmdFillBuffer(commands, filled, 0, kFilled, 7);
  full_barrier(commands);
  doubler.dispatch(commands, 4);
  painter.target().begin_render_pass(commands);
  painter.draw(commands, 5);
  painter.target().end_render_pass(commands);
  check(vkEndCommandBuffer(commands));
  context.submit_and_wait(commands);
  context.submit_and_wait(commands);
}

// Dispatches of a shader that loops as often as its push constants say, or a number in memory.
class Launcher {
 public:
  explicit Launcher(Context& context)
      : context_(context), values_(context, 4096 * sizeof(uint32_t)), set_(context, {values_}) {
    const VkDescriptorSetLayout layout = set_.layout();
    layout_ = make_pipeline_layout(context, {&layout, 1}, 8);
    pushed_ =
        make_compute_pipeline(context, {{VK_SHADER_STAGE_COMPUTE_BIT, launched_comp}, layout_});
    from_memory_ = make_compute_pipeline(
        context, {{VK_SHADER_STAGE_COMPUTE_BIT, launched_by_memory_comp}, layout_});
  }
  void put_into_memory(uint32_t loops) { values_.as<uint32_t>()[1000] = loops; }
  void record(VkCommandBuffer commands, uint32_t loops, uint32_t add, uint32_t groups,
              bool from_memory = false, const std::function<void()>& before = {}) const {
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE,
                      from_memory ? from_memory_ : pushed_);
    set_.bind(commands, layout_);
    const uint32_t pushed[] = {loops, add};
    vkCmdPushConstants(commands, layout_, VK_SHADER_STAGE_ALL, 0, sizeof pushed, pushed);
    if (before) before();
    vkCmdDispatch(commands, groups, 1, 1);
    full_barrier(commands);
  }
  void run(uint32_t loops, uint32_t add, uint32_t groups, bool from_memory = false) const {
    context_.run(
        [&](VkCommandBuffer commands) { record(commands, loops, add, groups, from_memory); });
  }

 private:
  Context& context_;
  Buffer values_;
  StorageSet set_;
  PipelineLayout layout_;
  Pipeline pushed_, from_memory_;
};

// Each dispatch in a submission of its own.
void launches(Context& context) {
  Launcher launcher(context);
  launcher.run(3, 1, 1);
  launcher.run(3, 2, 1);  // repeats the first
  launcher.run(4, 2, 1);
  launcher.run(3, 2, 2);
  for (const uint32_t loops : {3u, 5u, 7u}) {
    launcher.put_into_memory(loops);
    launcher.run(1, 1, 1, true);
  }
  launcher.run(4, 1, 1);  // repeats the third
  // One command buffer in three submissions, twice in the last one.
  const VkCommandBuffer commands =
      context.begin_commands(VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT);
  launcher.record(commands, 3, 9, 1);  // repeats
  launcher.record(commands, 6, 9, 1);
  launcher.record(commands, 3, 9, 2);  // repeats
  check(vkEndCommandBuffer(commands));
  context.submit_and_wait(commands);
  context.submit_and_wait(commands);
  submit(context, {commands, commands});
  check(vkQueueWaitIdle(context.queue()));
}

// Each dispatch in a submission of its own: of a shader that loops as often as its image is wide
// and its buffer is long.
void sizes(Context& first) {
  if (!first.has_extension(VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME)) std::exit(77);
  Context context({.device_extensions = {VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME}});
  const VkDescriptorSetLayoutBinding bindings[] = {
      {0, VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr},
      {1, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr}};
  const SetLayout push_layout =
      make_set_layout(context, bindings, VK_DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT_KHR);
  const Buffer values(context, 4096);
  std::vector<Image> images;
  for (const uint32_t width : {3u, 3u, 5u}) {
    images.emplace_back(context, ImageInfo{.extent = {width, 2},
                                           .format = VK_FORMAT_R32_UINT,
                                           .usage = VK_IMAGE_USAGE_STORAGE_BIT});
    context.run([&](VkCommandBuffer commands) {
      change_layout(commands, images.back(), VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_GENERAL);
    });
  }
  const auto image = [&](size_t i) {
    return VkDescriptorImageInfo{VK_NULL_HANDLE, images[i].view(), VK_IMAGE_LAYOUT_GENERAL};
  };
  const auto words = [&](VkDeviceSize count) {
    return VkDescriptorBufferInfo{values, 0, 4 * count};
  };
  // The layer follows sets from the first module on that branches on sizes.
  std::vector<PipelineLayout> layouts;
  std::vector<Pipeline> pipelines;
  std::vector<DescriptorSet> sets;
  const DescriptorSet before(context, bindings);
  for (const VkDescriptorSetLayout layout : {before.layout(), push_layout.get()}) {
    layouts.push_back(make_pipeline_layout(context, {&layout, 1}));
    pipelines.push_back(make_compute_pipeline(
        context, {{VK_SHADER_STAGE_COMPUTE_BIT, sized_comp}, layouts.back()}));
  }
  const auto run = [&](bool pushed, const std::function<void(VkCommandBuffer)>& bind) {
    context.run([&](VkCommandBuffer commands) {
      vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipelines[pushed]);
      bind(commands);
      vkCmdDispatch(commands, 1, 1, 1);
      full_barrier(commands);
    });
  };
  const auto run_set = [&](const DescriptorSet& set) {
    run(false, [&](VkCommandBuffer commands) { set.bind(commands, layouts[0]); });
  };
  const auto set_of = [&](const VkDescriptorImageInfo& of_image,
                          const VkDescriptorBufferInfo& buffer) -> DescriptorSet& {
    DescriptorSet& set = sets.emplace_back(context, bindings);
    set.write(0, &of_image);
    set.write(1, &buffer);
    return set;
  };
  sets.reserve(8);
  const VkDescriptorImageInfo narrow = image(0), also_narrow = image(1), wide = image(2);
  const VkDescriptorBufferInfo short_one = words(32), long_one = words(33);
  before.write(0, &narrow);
  before.write(1, &short_one);
  run_set(before);  // its sizes are not known
  DescriptorSet& usual = set_of(narrow, short_one);
  run_set(usual);
  run_set(set_of(also_narrow, short_one));  // repeats
  run_set(set_of(wide, short_one));
  usual.write(1, &long_one);
  run_set(usual);
  run_set(set_of(also_narrow, long_one));  // repeats
  const auto push = [&](const VkDescriptorImageInfo& of_image,
                        const VkDescriptorBufferInfo& buffer) {
    VkWriteDescriptorSet writes[2] = {{VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET},
                                      {VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET}};
    for (uint32_t i = 0; i < 2; ++i) {
      writes[i].dstBinding = i;
      writes[i].descriptorCount = 1;
      writes[i].descriptorType = bindings[i].descriptorType;
    }
    writes[0].pImageInfo = &of_image;
    writes[1].pBufferInfo = &buffer;
    run(true, [&](VkCommandBuffer commands) {
      context.function<PFN_vkCmdPushDescriptorSetKHR>("vkCmdPushDescriptorSetKHR")(
          commands, VK_PIPELINE_BIND_POINT_COMPUTE, layouts[1], 0, 2, writes);
    });
  };
  push(narrow, short_one);
  push(also_narrow, short_one);  // repeats
  push(wide, short_one);
  // Another view may get the handle.
  images[2] = Image();
  images[2] = Image(context, ImageInfo{.extent = {4, 2},
                                       .format = VK_FORMAT_R32_UINT,
                                       .usage = VK_IMAGE_USAGE_STORAGE_BIT});
  context.run([&](VkCommandBuffer commands) {
    change_layout(commands, images[2], VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_GENERAL);
  });
  push(image(2), short_one);
  // In a secondary command buffer.
  const VkCommandBuffer secondary = context.begin_secondary();
  vkCmdBindPipeline(secondary, VK_PIPELINE_BIND_POINT_COMPUTE, pipelines[0]);
  usual.bind(secondary, layouts[0]);
  vkCmdDispatch(secondary, 1, 1, 1);  // repeats
  check(vkEndCommandBuffer(secondary));
  context.run([&](VkCommandBuffer commands) { vkCmdExecuteCommands(commands, 1, &secondary); });
}

// Push constants of a layout for another stage, at the place of those for the dispatch, come after
// these. Drivers may keep those of each stage apart, or not.
void pushed_for_others(Context& context) {
  const Launcher launcher(context);
  const PipelineLayout other = make_pipeline_layout(context, {}, 8, VK_SHADER_STAGE_FRAGMENT_BIT);
  for (uint32_t loops = 2; loops < 6; ++loops) {
    context.run([&](VkCommandBuffer commands) {
      const uint32_t pushed[] = {loops + 3, 1};
      launcher.record(commands, 1, 1, 1, false, [&] {
        vkCmdPushConstants(commands, other, VK_SHADER_STAGE_FRAGMENT_BIT, 0, sizeof pushed, pushed);
      });
    });
  }
}

// A dispatch that runs often. Its launch is counted again from time to time.
void often(Context& context) {
  const Launcher launcher(context);
  for (uint32_t i = 0; i < 200; ++i) launcher.run(3, i, 1);
}

// One launch on all queues: from command buffers that are used once, again and again, and by
// others, also twice in a submission.
void often_everywhere(Context&) {
  Context context({.queue_count = 2});
  const auto last = static_cast<uint32_t>(context.queue_count() - 1);
  const Launcher launcher(context);
  for (uint32_t i = 0; i < 100; ++i) launcher.run(3, i, 1);
  const auto record = [&](VkCommandBuffer commands, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) launcher.record(commands, 3, i, 1);
    check(vkEndCommandBuffer(commands));
    return commands;
  };
  const VkCommandBuffer again = record(context.begin_commands(kReusable), 40);
  for (uint32_t i = 0; i < 100; ++i) context.submit_and_wait({&again, 1}, i % 2 ? last : 0);
  const VkCommandBuffer secondary =
      record(context.begin_secondary({}, VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT), 3);
  for (uint32_t i = 0; i < 50; ++i) {
    context.run([&](VkCommandBuffer commands) {
      const VkCommandBuffer both[] = {secondary, secondary};
      vkCmdExecuteCommands(commands, 2, both);
    });
  }
  const VkCommandBuffer twice =
      record(context.begin_commands(VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT), 5);
  for (uint32_t i = 0; i < 20; ++i) {
    submit(context, {twice, twice});
    submit(context, {twice});
    check(vkQueueWaitIdle(context.queue()));
  }
}

// The application waits for work while later work of the queue waits for the application.
void held_up(Context& context) {
  const Launcher launcher(context);
  const VkSemaphoreTypeCreateInfo type{VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO, nullptr,
                                       VK_SEMAPHORE_TYPE_TIMELINE, 0};
  const VkSemaphoreCreateInfo create{VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, &type};
  VkSemaphore semaphore = VK_NULL_HANDLE;
  check(vkCreateSemaphore(context.device(), &create, nullptr, &semaphore));
  const VkFenceCreateInfo unsignaled{VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
  VkFence fence = VK_NULL_HANDLE;
  check(vkCreateFence(context.device(), &unsignaled, nullptr, &fence));

  const auto record = [&](uint32_t groups) {
    const VkCommandBuffer commands =
        context.begin_commands(VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT);
    launcher.record(commands, groups, 1, 1);
    check(vkEndCommandBuffer(commands));
    return commands;
  };
  const VkCommandBuffer free = record(3);
  const VkCommandBuffer held = record(4);
  const uint64_t value = 1;
  const VkTimelineSemaphoreSubmitInfo values{VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                             nullptr, 1, &value};
  const VkPipelineStageFlags stage = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
  VkSubmitInfo submit{VK_STRUCTURE_TYPE_SUBMIT_INFO};
  submit.commandBufferCount = 1;
  submit.pCommandBuffers = &free;
  check(vkQueueSubmit(context.queue(), 1, &submit, fence));
  submit.pNext = &values;
  submit.waitSemaphoreCount = 1;
  submit.pWaitSemaphores = &semaphore;
  submit.pWaitDstStageMask = &stage;
  submit.pCommandBuffers = &held;
  check(vkQueueSubmit(context.queue(), 1, &submit, VK_NULL_HANDLE));
  check(vkWaitForFences(context.device(), 1, &fence, VK_TRUE, UINT64_MAX));
  const VkSemaphoreSignalInfo signal{VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO, nullptr, semaphore,
                                     value};
  check(vkSignalSemaphore(context.device(), &signal));
  check(vkQueueWaitIdle(context.queue()));
  vkDestroyFence(context.device(), fence, nullptr);
  vkDestroySemaphore(context.device(), semaphore, nullptr);
}

// Exits with 77 if there is no conditional rendering.
void conditional(Context& first) {
  if (!first.has_extension(VK_EXT_CONDITIONAL_RENDERING_EXTENSION_NAME)) std::exit(77);
  VkPhysicalDeviceConditionalRenderingFeaturesEXT feature{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_CONDITIONAL_RENDERING_FEATURES_EXT, nullptr, VK_TRUE};
  Context context({.device_extensions = {VK_EXT_CONDITIONAL_RENDERING_EXTENSION_NAME},
                   .device_next = &feature});
  const auto begin =
      context.function<PFN_vkCmdBeginConditionalRenderingEXT>("vkCmdBeginConditionalRenderingEXT");
  const auto end =
      context.function<PFN_vkCmdEndConditionalRenderingEXT>("vkCmdEndConditionalRenderingEXT");
  Buffer conditions(context, 8, VK_BUFFER_USAGE_CONDITIONAL_RENDERING_BIT_EXT);
  conditions.as<uint32_t>()[0] = 0;
  conditions.as<uint32_t>()[1] = 1;
  const Launcher launcher(context);
  const auto run_if = [&](VkDeviceSize offset) {
    context.run([&](VkCommandBuffer commands) {
      const VkConditionalRenderingBeginInfoEXT info{
          VK_STRUCTURE_TYPE_CONDITIONAL_RENDERING_BEGIN_INFO_EXT, nullptr, conditions, offset, 0};
      begin(commands, &info);
      launcher.record(commands, 3, 1, 1);
      end(commands);
    });
  };
  run_if(0);
  run_if(4);
  launcher.run(3, 1, 1);
  run_if(0);
  launcher.run(3, 1, 1);
}

}  // namespace

const Scenarios& recording_scenarios() {
  static const Scenarios scenarios = {{"resubmit", resubmit},
                                      {"simultaneous", simultaneous},
                                      {"unused_pipelines", unused_pipelines},
                                      {"render_pass", render_pass},
                                      {"large_passes", large_passes},
                                      {"short_passes", short_passes},
                                      {"topologies", topologies},
                                      {"secondaries", secondaries},
                                      {"suspended", suspended},
                                      {"late_names", late_names},
                                      {"ten", ten},
                                      {"many", many},
                                      {"threads", threads},
                                      {"two_devices", two_devices},
                                      {"resets", resets},
                                      {"specialized", specialized},
                                      {"timed", timed},
                                      {"launches", launches},
                                      {"pushed_for_others", pushed_for_others},
                                      {"sizes", sizes},
                                      {"often", often},
                                      {"held_up", held_up},
                                      {"often_everywhere", often_everywhere},
                                      {"conditional", conditional}};
  return scenarios;
}

}  // namespace tally::test
