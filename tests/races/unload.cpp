// A program that opens Vulkan's loader itself, as many engines do: `races_unload TIMES` opens it,
// fills a buffer with a dispatch, destroys everything and closes the loader, that many times.
#include <dlfcn.h>
#include <vulkan/vulkan.h>

#include <cstdio>
#include <cstdlib>

#include "noop.comp.h"

namespace {

struct Loader {
  void* library = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
  PFN_vkGetInstanceProcAddr get = nullptr;
  VkInstance instance = VK_NULL_HANDLE;

  Loader() {
    if (library)
      get = reinterpret_cast<PFN_vkGetInstanceProcAddr>(dlsym(library, "vkGetInstanceProcAddr"));
  }
  ~Loader() { dlclose(library); }
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  template <typename Function>
  Function function(const char* name) const {
    return reinterpret_cast<Function>(get(instance, name));
  }
};
#define CALL(loader, name) loader.function<PFN_##name>(#name)

void require(bool met, const char* what) {
  if (met) return;
  std::fprintf(stderr, "%s failed\n", what);
  std::exit(1);
}
void check(VkResult result, const char* what) { require(result == VK_SUCCESS, what); }

VkDevice create_device(const Loader& loader, VkPhysicalDevice gpu) {
  const float priority = 1;
  const VkDeviceQueueCreateInfo queue{
      VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, nullptr, 0, 0, 1, &priority};
  VkDeviceCreateInfo info{VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO};
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue;
  VkDevice device = VK_NULL_HANDLE;
  check(CALL(loader, vkCreateDevice)(gpu, &info, nullptr, &device), "vkCreateDevice");
  return device;
}

VkPipeline create_pipeline(const Loader& loader, VkDevice device, VkPipelineLayout layout) {
  const VkShaderModuleCreateInfo code{VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, nullptr, 0,
                                      sizeof noop_comp, noop_comp};
  VkShaderModule module = VK_NULL_HANDLE;
  check(CALL(loader, vkCreateShaderModule)(device, &code, nullptr, &module),
        "vkCreateShaderModule");
  VkComputePipelineCreateInfo info{VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO};
  info.stage = {VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                nullptr,
                0,
                VK_SHADER_STAGE_COMPUTE_BIT,
                module,
                "main",
                nullptr};
  info.layout = layout;
  VkPipeline pipeline = VK_NULL_HANDLE;
  check(
      CALL(loader, vkCreateComputePipelines)(device, VK_NULL_HANDLE, 1, &info, nullptr, &pipeline),
      "vkCreateComputePipelines");
  CALL(loader, vkDestroyShaderModule)(device, module, nullptr);
  return pipeline;
}

void dispatch(const Loader& loader, VkDevice device) {
  const VkPipelineLayoutCreateInfo layout_info{VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
  VkPipelineLayout layout = VK_NULL_HANDLE;
  check(CALL(loader, vkCreatePipelineLayout)(device, &layout_info, nullptr, &layout),
        "vkCreatePipelineLayout");
  const VkPipeline pipeline = create_pipeline(loader, device, layout);
  const VkCommandPoolCreateInfo pool_info{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
  VkCommandPool pool = VK_NULL_HANDLE;
  check(CALL(loader, vkCreateCommandPool)(device, &pool_info, nullptr, &pool),
        "vkCreateCommandPool");
  const VkCommandBufferAllocateInfo allocate{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                             nullptr, pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY, 1};
  VkCommandBuffer commands = VK_NULL_HANDLE;
  check(CALL(loader, vkAllocateCommandBuffers)(device, &allocate, &commands),
        "vkAllocateCommandBuffers");
  const VkCommandBufferBeginInfo begin{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  check(CALL(loader, vkBeginCommandBuffer)(commands, &begin), "vkBeginCommandBuffer");
  CALL(loader, vkCmdBindPipeline)(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
  CALL(loader, vkCmdDispatch)(commands, 1, 1, 1);
  check(CALL(loader, vkEndCommandBuffer)(commands), "vkEndCommandBuffer");
  VkQueue queue = VK_NULL_HANDLE;
  CALL(loader, vkGetDeviceQueue)(device, 0, 0, &queue);
  VkSubmitInfo submit{VK_STRUCTURE_TYPE_SUBMIT_INFO};
  submit.commandBufferCount = 1;
  submit.pCommandBuffers = &commands;
  check(CALL(loader, vkQueueSubmit)(queue, 1, &submit, VK_NULL_HANDLE), "vkQueueSubmit");
  check(CALL(loader, vkQueueWaitIdle)(queue), "vkQueueWaitIdle");
  CALL(loader, vkDestroyCommandPool)(device, pool, nullptr);
  CALL(loader, vkDestroyPipeline)(device, pipeline, nullptr);
  CALL(loader, vkDestroyPipelineLayout)(device, layout, nullptr);
}

void use_vulkan() {
  Loader loader;
  require(loader.get != nullptr, "dlopen");
  VkApplicationInfo application{VK_STRUCTURE_TYPE_APPLICATION_INFO};
  application.apiVersion = VK_API_VERSION_1_2;
  VkInstanceCreateInfo info{VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
  info.pApplicationInfo = &application;
  check(CALL(loader, vkCreateInstance)(&info, nullptr, &loader.instance), "vkCreateInstance");
  uint32_t count = 1;
  VkPhysicalDevice gpu = VK_NULL_HANDLE;
  require(
      CALL(loader, vkEnumeratePhysicalDevices)(loader.instance, &count, &gpu) >= 0 && count == 1,
      "vkEnumeratePhysicalDevices");
  const VkDevice device = create_device(loader, gpu);
  dispatch(loader, device);
  CALL(loader, vkDestroyDevice)(device, nullptr);
  CALL(loader, vkDestroyInstance)(loader.instance, nullptr);
}

}  // namespace

int main(int argc, char** argv) {
  for (int left = argc > 1 ? std::atoi(argv[1]) : 1; left > 0; --left) use_vulkan();
}
