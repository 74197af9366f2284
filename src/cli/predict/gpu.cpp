#include "cli/predict/gpu.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "analysis/predict/fit.h"

namespace tally::cli {
namespace {

constexpr uint32_t kMaxRuns = 16;  // of one submission
constexpr uint32_t kPictureSize = 256;
constexpr VkDeviceSize kUniformBytes = 1024;
constexpr uint64_t kMaxRunNanoseconds = 20'000'000'000;  // nanoseconds; the device is given up then

class VulkanGpu : public Gpu {
 public:
  ~VulkanGpu() override;

  Status start(size_t number);
  const GpuFacts& facts() const override { return facts_; }
  Result<VkPipeline> make_kernel(std::span<const uint32_t> words) override;
  Result<VkPipeline> make_pass_kernel(std::span<const uint32_t> fragment) override {
    return passes_.make(fragment);
  }
  Result<CompiledKernel> compile(std::span<const uint32_t> words, uint32_t iterations) override;
  Result<std::vector<double>> time(std::span<const KernelRun> runs) override;

 private:
  Status load_instance();
  Status choose_device(size_t number);
  void describe();
  Status create_device();
  Status create_buffers();
  Status create_picture(uint32_t size, VkImageUsageFlags usage, VkImage& image, VkImageView& view);
  Status create_sampler();
  Status create_layout();
  void write_descriptors();
  Status create_commands();
  Result<VkDeviceMemory> allocate(const VkMemoryRequirements& needs);
  Status make_buffer(VkDeviceSize bytes, VkBufferUsageFlags usage, VkBuffer& buffer);
  Status begin();
  Status submit();
  void barrier(VkPipelineStageFlags before, VkPipelineStageFlags after);
  Result<VkPipeline> make_compute(std::span<const uint32_t> words, VkPipelineCreateFlags flags,
                                  const VkSpecializationInfo* constants);

  InstanceFunctions vki_;
  DeviceFunctions vk_;
  VkInstance instance_ = VK_NULL_HANDLE;
  VkPhysicalDevice physical_ = VK_NULL_HANDLE;
  VkDevice device_ = VK_NULL_HANDLE;
  VkQueue queue_ = VK_NULL_HANDLE;
  uint32_t family_ = 0;
  uint32_t valid_bits_ = 0;
  double period_ = 1;  // nanoseconds
  GpuFacts facts_;
  std::vector<VkDeviceMemory> memory_;
  VkBuffer words_ = VK_NULL_HANDLE, values_ = VK_NULL_HANDLE;
  VkImage picture_ = VK_NULL_HANDLE, target_ = VK_NULL_HANDLE;
  VkImageView view_ = VK_NULL_HANDLE, target_view_ = VK_NULL_HANDLE;
  VkSampler sampler_ = VK_NULL_HANDLE;
  VkDescriptorSetLayout set_layout_ = VK_NULL_HANDLE;
  VkDescriptorPool set_pool_ = VK_NULL_HANDLE;
  VkDescriptorSet set_ = VK_NULL_HANDLE;
  VkPipelineLayout layout_ = VK_NULL_HANDLE;
  PassKernels passes_;  // where the device has graphics
  std::vector<VkPipeline> pipelines_;
  VkCommandPool command_pool_ = VK_NULL_HANDLE;
  VkCommandBuffer commands_ = VK_NULL_HANDLE;
  VkQueryPool queries_ = VK_NULL_HANDLE;
  VkFence fence_ = VK_NULL_HANDLE;
};

VulkanGpu::~VulkanGpu() {
  if (device_ != VK_NULL_HANDLE) {
    if (!facts_.compiles_only) vk_.DeviceWaitIdle(device_);  // RADV without hardware crashes here
    passes_.destroy();
    for (const VkPipeline pipeline : pipelines_) vk_.DestroyPipeline(device_, pipeline, nullptr);
    vk_.DestroyFence(device_, fence_, nullptr);
    vk_.DestroyQueryPool(device_, queries_, nullptr);
    vk_.DestroyCommandPool(device_, command_pool_, nullptr);
    vk_.DestroyPipelineLayout(device_, layout_, nullptr);
    vk_.DestroyDescriptorPool(device_, set_pool_, nullptr);
    vk_.DestroyDescriptorSetLayout(device_, set_layout_, nullptr);
    vk_.DestroySampler(device_, sampler_, nullptr);
    for (const VkImageView view : {view_, target_view_})
      vk_.DestroyImageView(device_, view, nullptr);
    for (const VkImage image : {picture_, target_}) vk_.DestroyImage(device_, image, nullptr);
    vk_.DestroyBuffer(device_, values_, nullptr);
    vk_.DestroyBuffer(device_, words_, nullptr);
    for (const VkDeviceMemory memory : memory_) vk_.FreeMemory(device_, memory, nullptr);
    vk_.DestroyDevice(device_, nullptr);
  }
  if (instance_ != VK_NULL_HANDLE) vki_.DestroyInstance(instance_, nullptr);
}

Status VulkanGpu::start(size_t number) {
  TALLY_TRY(load_instance());
  TALLY_TRY(choose_device(number));
  TALLY_TRY(create_device());
  if (facts_.compiles_only) return create_layout();
  TALLY_TRY(create_buffers());
  TALLY_TRY(create_picture(
      kPictureSize,
      VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_STORAGE_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT,
      picture_, view_));
  TALLY_TRY(create_sampler());
  TALLY_TRY(create_layout());
  if (facts_.graphics) {
    TALLY_TRY(create_picture(PassKernels::kSize, VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT, target_,
                             target_view_));
    TALLY_TRY(passes_.create(vk_, device_, target_view_, layout_));
  }
  return create_commands();
}

// The process loads the library once and ends soon after, so it never unloads it.
Status VulkanGpu::load_instance() {
  void* library = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return Error{fmt::format("there is no Vulkan loader: {}", dlerror())};
  const auto get =
      reinterpret_cast<PFN_vkGetInstanceProcAddr>(dlsym(library, "vkGetInstanceProcAddr"));
  if (get == nullptr) return Error{"libvulkan.so.1 has no vkGetInstanceProcAddr"};
  const auto create = reinterpret_cast<PFN_vkCreateInstance>(get(nullptr, "vkCreateInstance"));
  VkApplicationInfo application{VK_STRUCTURE_TYPE_APPLICATION_INFO};
  application.pApplicationName = "tally";
  application.apiVersion = VK_API_VERSION_1_2;
  VkInstanceCreateInfo info{VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
  info.pApplicationInfo = &application;
  TALLY_TRY(status_of("vkCreateInstance", create(&info, nullptr, &instance_)));
  vki_.load([&](const char* name) { return get(instance_, name); });
  return {};
}

Status VulkanGpu::choose_device(size_t number) {
  uint32_t count = 0;
  vki_.EnumeratePhysicalDevices(instance_, &count, nullptr);
  std::vector<VkPhysicalDevice> devices(count);
  vki_.EnumeratePhysicalDevices(instance_, &count, devices.data());
  if (number >= devices.size())
    return Error{
        fmt::format("no Vulkan device {}: there are {} (see tally list)", number, devices.size())};
  physical_ = devices[number];
  describe();
  uint32_t families = 0;
  vki_.GetPhysicalDeviceQueueFamilyProperties(physical_, &families, nullptr);
  std::vector<VkQueueFamilyProperties> properties(families);
  vki_.GetPhysicalDeviceQueueFamilyProperties(physical_, &families, properties.data());
  // Passes and dispatches are timed on one queue.
  constexpr VkQueueFlags kBoth = VK_QUEUE_COMPUTE_BIT | VK_QUEUE_GRAPHICS_BIT;
  for (const VkQueueFlags wanted : {kBoth, VkQueueFlags{VK_QUEUE_COMPUTE_BIT}}) {
    for (family_ = 0; family_ < families; ++family_) {
      valid_bits_ = properties[family_].timestampValidBits;
      facts_.graphics = (properties[family_].queueFlags & VK_QUEUE_GRAPHICS_BIT) != 0;
      if ((properties[family_].queueFlags & wanted) == wanted && valid_bits_ != 0) return {};
    }
  }
  return Error{facts_.name + " has no queue that computes and writes timestamps"};
}

void VulkanGpu::describe() {
  VkPhysicalDeviceDriverProperties driver{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES};
  VkPhysicalDeviceSubgroupProperties subgroup{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES,
                                              &driver};
  VkPhysicalDeviceProperties2 properties{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, &subgroup};
  vki_.GetPhysicalDeviceProperties2(physical_, &properties);
  VkPhysicalDeviceFeatures features{};
  vki_.GetPhysicalDeviceFeatures(physical_, &features);
  period_ = properties.properties.limits.timestampPeriod;
  facts_.name = properties.properties.deviceName;
  facts_.driver = fmt::format("{} {}", driver.driverName, driver.driverInfo);
  facts_.is_cpu = properties.properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
  // The name that RADV gives a device which RADV_FORCE_FAMILY makes up.
  facts_.compiles_only = facts_.name.starts_with("Null hardware");
  facts_.subgroup_size = subgroup.subgroupSize;
  facts_.subgroup_arithmetic =
      (subgroup.supportedStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0 &&
      (subgroup.supportedOperations & VK_SUBGROUP_FEATURE_ARITHMETIC_BIT) != 0;
  facts_.float64 = features.shaderFloat64 == VK_TRUE;
  facts_.int64 = features.shaderInt64 == VK_TRUE;
  // Larger than the caches of a GPU; a processor has less to spare.
  const uint32_t wanted = facts_.is_cpu ? 1U << 24 : 1U << 26;
  facts_.words = 1U << 20;
  while (facts_.words < wanted &&
         facts_.words <= properties.properties.limits.maxStorageBufferRange / 8)
    facts_.words *= 2;
}

Status VulkanGpu::create_device() {
  constexpr float kPriority = 1;
  VkDeviceQueueCreateInfo queue{VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO};
  queue.queueFamilyIndex = family_;
  queue.queueCount = 1;
  queue.pQueuePriorities = &kPriority;
  VkPhysicalDeviceFeatures features{};
  features.shaderFloat64 = facts_.float64 ? VK_TRUE : VK_FALSE;
  features.shaderInt64 = facts_.int64 ? VK_TRUE : VK_FALSE;
  VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR statistics{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR, nullptr,
      VK_TRUE};
  constexpr const char* kStatistics = VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME;
  VkDeviceCreateInfo info{VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO};
  if (facts_.compiles_only) {
    info.pNext = &statistics;
    info.enabledExtensionCount = 1;
    info.ppEnabledExtensionNames = &kStatistics;
  }
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue;
  info.pEnabledFeatures = &features;
  TALLY_TRY(status_of("vkCreateDevice", vki_.CreateDevice(physical_, &info, nullptr, &device_)));
  vk_.load([&](const char* name) { return vki_.GetDeviceProcAddr(device_, name); });
  vk_.GetDeviceQueue(device_, family_, 0, &queue_);
  return {};
}

Result<VkDeviceMemory> VulkanGpu::allocate(const VkMemoryRequirements& needs) {
  VkPhysicalDeviceMemoryProperties types;
  vki_.GetPhysicalDeviceMemoryProperties(physical_, &types);
  VkMemoryAllocateInfo info{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
  info.allocationSize = needs.size;
  for (; info.memoryTypeIndex < types.memoryTypeCount; ++info.memoryTypeIndex) {
    const bool fits = (needs.memoryTypeBits >> info.memoryTypeIndex & 1) != 0;
    const bool is_local = (types.memoryTypes[info.memoryTypeIndex].propertyFlags &
                           VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT) != 0;
    if (fits && is_local) break;
  }
  if (info.memoryTypeIndex == types.memoryTypeCount)
    return Error{facts_.name + " has no memory of its own for the kernels' data"};
  VkDeviceMemory memory = VK_NULL_HANDLE;
  TALLY_TRY(status_of("vkAllocateMemory", vk_.AllocateMemory(device_, &info, nullptr, &memory)));
  memory_.push_back(memory);
  return memory;
}

Status VulkanGpu::make_buffer(VkDeviceSize bytes, VkBufferUsageFlags usage, VkBuffer& buffer) {
  VkBufferCreateInfo info{VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
  info.size = bytes;
  info.usage = usage | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
  TALLY_TRY(status_of("vkCreateBuffer", vk_.CreateBuffer(device_, &info, nullptr, &buffer)));
  VkMemoryRequirements needs;
  vk_.GetBufferMemoryRequirements(device_, buffer, &needs);
  const auto memory = TALLY_TRY(allocate(needs));
  return status_of("vkBindBufferMemory", vk_.BindBufferMemory(device_, buffer, memory, 0));
}

Status VulkanGpu::create_buffers() {
  TALLY_TRY(
      make_buffer(VkDeviceSize{facts_.words} * 4, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT, words_));
  return make_buffer(kUniformBytes, VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT, values_);
}

Status VulkanGpu::create_picture(uint32_t size, VkImageUsageFlags usage, VkImage& image,
                                 VkImageView& view) {
  VkImageCreateInfo info{VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO};
  info.imageType = VK_IMAGE_TYPE_2D;
  info.format = PassKernels::kFormat;
  info.extent = {size, size, 1};
  info.mipLevels = 1;
  info.arrayLayers = 1;
  info.samples = VK_SAMPLE_COUNT_1_BIT;
  info.usage = usage;
  TALLY_TRY(status_of("vkCreateImage", vk_.CreateImage(device_, &info, nullptr, &image)));
  VkMemoryRequirements needs;
  vk_.GetImageMemoryRequirements(device_, image, &needs);
  const auto memory = TALLY_TRY(allocate(needs));
  TALLY_TRY(status_of("vkBindImageMemory", vk_.BindImageMemory(device_, image, memory, 0)));
  VkImageViewCreateInfo view_info{VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO};
  view_info.image = image;
  view_info.viewType = VK_IMAGE_VIEW_TYPE_2D;
  view_info.format = info.format;
  view_info.subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
  return status_of("vkCreateImageView", vk_.CreateImageView(device_, &view_info, nullptr, &view));
}

Status VulkanGpu::create_sampler() {
  VkSamplerCreateInfo info{VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO};
  info.magFilter = info.minFilter = VK_FILTER_LINEAR;
  return status_of("vkCreateSampler", vk_.CreateSampler(device_, &info, nullptr, &sampler_));
}

constexpr VkShaderStageFlags kStages = VK_SHADER_STAGE_COMPUTE_BIT | VK_SHADER_STAGE_FRAGMENT_BIT;
constexpr std::array kBindings = {
    VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER,
    VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, VK_DESCRIPTOR_TYPE_STORAGE_IMAGE};

Status VulkanGpu::create_layout() {
  std::vector<VkDescriptorSetLayoutBinding> bindings;
  std::vector<VkDescriptorPoolSize> sizes;
  for (uint32_t i = 0; i < kBindings.size(); ++i) {
    bindings.push_back({i, kBindings[i], 1, kStages, nullptr});
    sizes.push_back({kBindings[i], 1});
  }
  VkDescriptorSetLayoutCreateInfo set{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO};
  set.bindingCount = static_cast<uint32_t>(bindings.size());
  set.pBindings = bindings.data();
  TALLY_TRY(status_of("vkCreateDescriptorSetLayout",
                      vk_.CreateDescriptorSetLayout(device_, &set, nullptr, &set_layout_)));
  VkDescriptorPoolCreateInfo pool{VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO};
  pool.maxSets = 1;
  pool.poolSizeCount = static_cast<uint32_t>(sizes.size());
  pool.pPoolSizes = sizes.data();
  TALLY_TRY(status_of("vkCreateDescriptorPool",
                      vk_.CreateDescriptorPool(device_, &pool, nullptr, &set_pool_)));
  VkDescriptorSetAllocateInfo allocation{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO};
  allocation.descriptorPool = set_pool_;
  allocation.descriptorSetCount = 1;
  allocation.pSetLayouts = &set_layout_;
  TALLY_TRY(status_of("vkAllocateDescriptorSets",
                      vk_.AllocateDescriptorSets(device_, &allocation, &set_)));
  if (!facts_.compiles_only) write_descriptors();
  const VkPushConstantRange range{kStages, 0, sizeof(KernelParameters)};
  VkPipelineLayoutCreateInfo layout{VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
  layout.setLayoutCount = 1;
  layout.pSetLayouts = &set_layout_;
  layout.pushConstantRangeCount = 1;
  layout.pPushConstantRanges = &range;
  return status_of("vkCreatePipelineLayout",
                   vk_.CreatePipelineLayout(device_, &layout, nullptr, &layout_));
}

void VulkanGpu::write_descriptors() {
  const VkDescriptorBufferInfo words{words_, 0, VK_WHOLE_SIZE}, values{values_, 0, VK_WHOLE_SIZE};
  const VkDescriptorImageInfo image{sampler_, view_, VK_IMAGE_LAYOUT_GENERAL};
  std::array<VkWriteDescriptorSet, kBindings.size()> writes{};
  for (uint32_t i = 0; i < kBindings.size(); ++i) {
    writes[i].sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
    writes[i].dstSet = set_;
    writes[i].dstBinding = i;
    writes[i].descriptorCount = 1;
    writes[i].descriptorType = kBindings[i];
    writes[i].pBufferInfo = i == 0 ? &words : &values;
    writes[i].pImageInfo = &image;
  }
  vk_.UpdateDescriptorSets(device_, static_cast<uint32_t>(writes.size()), writes.data(), 0,
                           nullptr);
}

// Between dispatches, only for what shaders access.
void VulkanGpu::barrier(VkPipelineStageFlags before, VkPipelineStageFlags after) {
  const bool of_shaders = before == VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT &&
                          after == VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT;
  VkMemoryBarrier all{VK_STRUCTURE_TYPE_MEMORY_BARRIER};
  all.srcAccessMask = of_shaders ? VK_ACCESS_SHADER_WRITE_BIT : VK_ACCESS_MEMORY_WRITE_BIT;
  all.dstAccessMask = of_shaders ? VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT
                                 : VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT;
  vk_.CmdPipelineBarrier(commands_, before, after, 0, 1, &all, 0, nullptr, 0, nullptr);
}

Status VulkanGpu::create_commands() {
  VkCommandPoolCreateInfo pool{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
  pool.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
  pool.queueFamilyIndex = family_;
  TALLY_TRY(status_of("vkCreateCommandPool",
                      vk_.CreateCommandPool(device_, &pool, nullptr, &command_pool_)));
  VkCommandBufferAllocateInfo allocation{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
  allocation.commandPool = command_pool_;
  allocation.commandBufferCount = 1;
  TALLY_TRY(status_of("vkAllocateCommandBuffers",
                      vk_.AllocateCommandBuffers(device_, &allocation, &commands_)));
  VkQueryPoolCreateInfo queries{VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO};
  queries.queryType = VK_QUERY_TYPE_TIMESTAMP;
  queries.queryCount = kMaxRuns + 1;
  TALLY_TRY(
      status_of("vkCreateQueryPool", vk_.CreateQueryPool(device_, &queries, nullptr, &queries_)));
  const VkFenceCreateInfo fence{VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
  TALLY_TRY(status_of("vkCreateFence", vk_.CreateFence(device_, &fence, nullptr, &fence_)));
  TALLY_TRY(begin());
  VkImageMemoryBarrier to_general{VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER};
  to_general.dstAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT;
  to_general.newLayout = VK_IMAGE_LAYOUT_GENERAL;
  to_general.image = picture_;
  to_general.subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
  vk_.CmdPipelineBarrier(commands_, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT,
                         VK_PIPELINE_STAGE_TRANSFER_BIT, 0, 0, nullptr, 0, nullptr, 1, &to_general);
  const VkClearColorValue grey{{0.5F, 0.5F, 0.5F, 1}};
  vk_.CmdClearColorImage(commands_, picture_, VK_IMAGE_LAYOUT_GENERAL, &grey, 1,
                         &to_general.subresourceRange);
  vk_.CmdFillBuffer(commands_, words_, 0, VK_WHOLE_SIZE, 0);
  vk_.CmdFillBuffer(commands_, values_, 0, VK_WHOLE_SIZE, 1);
  return submit();
}

Status VulkanGpu::begin() {
  VkCommandBufferBeginInfo info{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  info.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
  return status_of("vkBeginCommandBuffer", vk_.BeginCommandBuffer(commands_, &info));
}

Status VulkanGpu::submit() {
  TALLY_TRY(status_of("vkEndCommandBuffer", vk_.EndCommandBuffer(commands_)));
  vk_.ResetFences(device_, 1, &fence_);
  VkSubmitInfo info{VK_STRUCTURE_TYPE_SUBMIT_INFO};
  info.commandBufferCount = 1;
  info.pCommandBuffers = &commands_;
  TALLY_TRY(status_of("vkQueueSubmit", vk_.QueueSubmit(queue_, 1, &info, fence_)));
  return status_of("vkWaitForFences",
                   vk_.WaitForFences(device_, 1, &fence_, VK_TRUE, kMaxRunNanoseconds));
}

Result<VkPipeline> VulkanGpu::make_kernel(std::span<const uint32_t> words) {
  return make_compute(words, 0, nullptr);
}

Result<CompiledKernel> VulkanGpu::compile(std::span<const uint32_t> words, uint32_t iterations) {
  const VkSpecializationMapEntry entry{0, 0, sizeof(iterations)};
  const VkSpecializationInfo constants{1, &entry, sizeof(iterations), &iterations};
  const auto pipeline =
      TALLY_TRY(make_compute(words, VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR, &constants));
  const VkPipelineInfoKHR of{VK_STRUCTURE_TYPE_PIPELINE_INFO_KHR, nullptr, pipeline};
  VkPipelineExecutablePropertiesKHR executable{
      VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_PROPERTIES_KHR};
  uint32_t count = 1;
  vk_.GetPipelineExecutablePropertiesKHR(device_, &of, &count, &executable);
  const VkPipelineExecutableInfoKHR first{VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR, nullptr,
                                          pipeline, 0};
  vk_.GetPipelineExecutableStatisticsKHR(device_, &first, &count, nullptr);
  std::vector<VkPipelineExecutableStatisticKHR> statistics(
      count, {VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_STATISTIC_KHR});
  vk_.GetPipelineExecutableStatisticsKHR(device_, &first, &count, statistics.data());
  CompiledKernel compiled{.subgroup_size = executable.subgroupSize};
  for (const VkPipelineExecutableStatisticKHR& statistic : statistics) {
    if (statistic.name == analysis::kBusyStatistic)
      compiled.busy = static_cast<double>(statistic.value.u64);
    if (statistic.name == std::string_view("Latency"))
      compiled.latency = static_cast<double>(statistic.value.u64);
  }
  if (compiled.busy == 0 || compiled.subgroup_size == 0)
    return Error{fmt::format("the compiler of {} has no statistic \"{}\"", facts_.driver,
                             analysis::kBusyStatistic)};
  return compiled;
}

Result<VkPipeline> VulkanGpu::make_compute(std::span<const uint32_t> words,
                                           VkPipelineCreateFlags flags,
                                           const VkSpecializationInfo* constants) {
  const auto module = TALLY_TRY(make_module(vk_, device_, words));
  VkComputePipelineCreateInfo info{VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO};
  info.flags = flags;
  info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
  info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  info.stage.module = module;
  info.stage.pName = "main";
  info.stage.pSpecializationInfo = constants;
  info.layout = layout_;
  VkPipeline pipeline = VK_NULL_HANDLE;
  const VkResult result =
      vk_.CreateComputePipelines(device_, VK_NULL_HANDLE, 1, &info, nullptr, &pipeline);
  vk_.DestroyShaderModule(device_, module, nullptr);
  TALLY_TRY(status_of("vkCreateComputePipelines", result));
  pipelines_.push_back(pipeline);
  return pipeline;
}

Result<std::vector<double>> VulkanGpu::time(std::span<const KernelRun> runs) {
  if (runs.size() > kMaxRuns) return Error{"more runs than there are queries"};
  const auto count = static_cast<uint32_t>(runs.size());
  TALLY_TRY(begin());
  vk_.CmdResetQueryPool(commands_, queries_, 0, count + 1);
  vk_.CmdBindDescriptorSets(commands_, VK_PIPELINE_BIND_POINT_COMPUTE, layout_, 0, 1, &set_, 0,
                            nullptr);
  if (facts_.graphics)
    vk_.CmdBindDescriptorSets(commands_, VK_PIPELINE_BIND_POINT_GRAPHICS, layout_, 0, 1, &set_, 0,
                              nullptr);
  // Between dispatches, programs wait for compute shaders alone.
  const auto stages_of = [&](const KernelRun& run) -> VkPipelineStageFlags {
    return run.pass ? VK_PIPELINE_STAGE_ALL_COMMANDS_BIT : VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT;
  };
  barrier(VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT);
  vk_.CmdWriteTimestamp(commands_, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, queries_, 0);
  for (uint32_t i = 0; i < count; ++i) {
    const KernelRun& run = runs[i];
    vk_.CmdPushConstants(commands_, layout_, kStages, 0, sizeof(KernelParameters), &run.parameters);
    if (run.pass) {
      passes_.record(commands_, run.pipeline, *run.pass);
    } else {
      vk_.CmdBindPipeline(commands_, VK_PIPELINE_BIND_POINT_COMPUTE, run.pipeline);
      vk_.CmdDispatch(commands_, run.groups, 1, 1);
    }
    vk_.CmdWriteTimestamp(commands_, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, queries_, i + 1);
    if (i + 1 < count) barrier(stages_of(run), stages_of(runs[i + 1]));
  }
  TALLY_TRY(submit());
  std::array<uint64_t, kMaxRuns + 1> ticks{};
  TALLY_TRY(status_of("vkGetQueryPoolResults",
                      vk_.GetQueryPoolResults(device_, queries_, 0, count + 1, sizeof(ticks),
                                              ticks.data(), sizeof(uint64_t),
                                              VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT)));
  const uint64_t mask = valid_bits_ >= 64 ? ~uint64_t{0} : (uint64_t{1} << valid_bits_) - 1;
  std::vector<double> seconds;
  for (uint32_t i = 0; i < count; ++i)
    seconds.push_back(static_cast<double>((ticks[i + 1] - ticks[i]) & mask) * period_ * 1e-9);
  return seconds;
}

}  // namespace

Result<std::unique_ptr<Gpu>> Gpu::open(size_t number) {
  auto gpu = std::make_unique<VulkanGpu>();
  TALLY_TRY(gpu->start(number));
  return std::unique_ptr<Gpu>(std::move(gpu));
}

}  // namespace tally::cli
