#include "api/queries/kit.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <latch>
#include <optional>
#include <thread>

namespace tally::test {

Queries::Queries(const Context& context, VkQueryType type, uint32_t count,
                 VkQueryPipelineStatisticFlags statistics, const void* next)
    : context_(context),
      pool_(make_query_pool(context, type, count, statistics, next)),
      count_(count),
      numbers_(1) {
  if (type == VK_QUERY_TYPE_PIPELINE_STATISTICS) {
    numbers_ = static_cast<uint32_t>(std::popcount(statistics));
  } else if (type == VK_QUERY_TYPE_TRANSFORM_FEEDBACK_STREAM_EXT) {
    numbers_ = 2;
  }
}

std::vector<uint64_t> Queries::read(uint32_t query) const {
  std::vector<uint64_t> numbers(numbers_);
  const size_t bytes = numbers.size() * sizeof(uint64_t);
  check(vkGetQueryPoolResults(context_.device(), pool_, query, 1, bytes, numbers.data(), bytes,
                              VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT));
  return numbers;
}

Context& QueriesTest::start(bool emulated, ContextOptions options, LayerSettings::Pairs settings) {
  work_.reset();
  layout_.reset();
  context_.reset();
  if (emulated) {
    const auto chosen = [](const auto& one) { return !std::strcmp(one.first, "emulate_queries"); };
    if (std::ranges::none_of(settings, chosen)) settings.emplace_back("emulate_queries", "all");
    settings.emplace_back("validate_spirv", "true");
    options.layers.push_back("VK_LAYER_TALLY_counters");
  }
  const LayerSettings layer_settings(settings);
  if (emulated) options.instance_next = layer_settings.next();
  return context_.emplace(options);
}

VkPipelineLayout QueriesTest::layout() {
  if (!layout_) layout_ = make_pipeline_layout(context(), {}, 64);
  return *layout_;
}

Pipeline QueriesTest::make_graphics(std::vector<Stage> stages, GraphicsPipelineInfo more) {
  more.stages = std::move(stages);
  more.layout = layout();
  return make_graphics_pipeline(context(), more);
}

QueriesTest::Work::Work(Context& context) : values(context, 4096), set(context, {values}) {
  layout = make_pipeline_layout(context, {{set.layout()}}, 4);
}

Pipeline QueriesTest::make_work(const void* next) {
  if (!work_) work_.emplace(context());
  return make_compute_pipeline(
      context(), {{VK_SHADER_STAGE_COMPUTE_BIT, work_shader()}, work_->layout, {}, 0, next});
}

std::vector<uint64_t> QueriesTest::fragments_in_threads(
    const std::function<void(VkCommandBuffer)>& draw) {
  constexpr size_t kThreads = 4;
  const Queries queries(context(), VK_QUERY_TYPE_PIPELINE_STATISTICS, kThreads,
                        VK_QUERY_PIPELINE_STATISTIC_FRAGMENT_SHADER_INVOCATIONS_BIT);
  context().run([&](VkCommandBuffer commands) { queries.reset(commands); });
  std::vector<std::optional<RenderTarget>> targets(kThreads);
  std::vector<CommandPool> pools;
  std::vector<VkCommandBuffer> buffers(kThreads);
  for (size_t i = 0; i < kThreads; ++i) {
    targets[i].emplace(context());
    VkCommandPoolCreateInfo info{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
    info.queueFamilyIndex = context().queue_family();
    VkCommandPool pool = VK_NULL_HANDLE;
    check(vkCreateCommandPool(context().device(), &info, nullptr, &pool));
    pools.emplace_back(context().device(), pool);
    const VkCommandBufferAllocateInfo allocate{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                               nullptr, pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY, 1};
    check(vkAllocateCommandBuffers(context().device(), &allocate, &buffers[i]));
  }
  std::latch ready(kThreads);
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      const VkCommandBufferBeginInfo begin{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
      check(vkBeginCommandBuffer(buffers[i], &begin));
      queries.begin(buffers[i], i);
      targets[i]->begin(buffers[i]);
      ready.arrive_and_wait();
      draw(buffers[i]);
      targets[i]->end(buffers[i]);
      queries.end(buffers[i], i);
      check(vkEndCommandBuffer(buffers[i]));
    });
  }
  for (std::thread& thread : threads) thread.join();
  context().submit_and_wait(buffers);
  std::vector<uint64_t> fragments;
  for (uint32_t i = 0; i < kThreads; ++i) fragments.push_back(queries.read(i).at(0));
  return fragments;
}

VkCommandBuffer QueriesTest::begin_secondary(const RenderTarget& target,
                                             VkCommandBufferUsageFlags usage,
                                             VkCommandBufferInheritanceInfo inheritance) {
  const VkFormat format = target.info().color_format;
  const VkCommandBufferInheritanceRenderingInfo rendering{
      VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_RENDERING_INFO,
      nullptr,
      0,
      0,
      1,
      &format,
      VK_FORMAT_UNDEFINED,
      VK_FORMAT_UNDEFINED,
      VK_SAMPLE_COUNT_1_BIT};
  inheritance.pNext = &rendering;
  return context().begin_secondary(inheritance,
                                   VK_COMMAND_BUFFER_USAGE_RENDER_PASS_CONTINUE_BIT | usage);
}

void QueriesTest::prepare_dispatch(VkCommandBuffer commands, VkPipeline pipeline) {
  const uint32_t add = 1;
  vkCmdBindPipeline(commands, kCompute, pipeline);
  work_->set.bind(commands, work_->layout);
  vkCmdPushConstants(commands, work_->layout, VK_SHADER_STAGE_ALL, 0, sizeof add, &add);
}

void QueriesTest::dispatch(VkCommandBuffer commands, VkPipeline pipeline, uint32_t groups) {
  prepare_dispatch(commands, pipeline);
  vkCmdDispatch(commands, groups, 1, 1);
  full_barrier(commands);
}

void QueriesTest::dispatch_indirect(VkCommandBuffer commands, VkPipeline pipeline, VkBuffer buffer,
                                    VkDeviceSize offset) {
  prepare_dispatch(commands, pipeline);
  vkCmdDispatchIndirect(commands, buffer, offset);
  full_barrier(commands);
}

}  // namespace tally::test
