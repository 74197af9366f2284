// A program that loads a library, uses it and unloads it, again and again, as suites do. At the end
// it prints the files that are mapped, one a line, in order. It is linked to no EGL and no Vulkan.
//
// Usage: reloading_app LOOPS STEP
//   open        loads libEGL and lists its extensions, which loads the vendor libraries
//   display     also initialises a display and terminates it
//   context     also draws in a context, on this thread and on another that ends after libEGL is
//   unloaded counters    also counts with EGL_BRCM_performance_counters where that is listed, and
//   releases nothing left        as context, but on this thread alone, and what is current stays
//   current instance    loads the Vulkan loader once, and creates and destroys an instance and a
//   device loader      also unloads the Vulkan loader each time
#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GLES2/gl2.h>
#include <dlfcn.h>
#include <tally/egl_brcm.h>
#include <vulkan/vulkan.h>

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace {

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "reloading_app: %s\n", what);
  std::exit(1);
}

class Library {
 public:
  explicit Library(const char* name) : handle_(dlopen(name, RTLD_NOW)) {
    if (handle_ == nullptr) fail(dlerror());
  }
  ~Library() { dlclose(handle_); }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  template <typename Function>
  Function get(const char* name) const {
    const auto found = reinterpret_cast<Function>(dlsym(handle_, name));
    if (found == nullptr) fail(name);
    return found;
  }

 private:
  void* const handle_;
};

#define EGL_FUNCTION(function) \
  decltype(&::function) function = library.get<decltype(&::function)>(#function)

struct Egl {
  const Library library{"libEGL.so.1"};
  EGL_FUNCTION(eglBindAPI);
  EGL_FUNCTION(eglChooseConfig);
  EGL_FUNCTION(eglCreateContext);
  EGL_FUNCTION(eglDestroyContext);
  EGL_FUNCTION(eglGetPlatformDisplay);
  EGL_FUNCTION(eglGetProcAddress);
  EGL_FUNCTION(eglInitialize);
  EGL_FUNCTION(eglMakeCurrent);
  EGL_FUNCTION(eglQueryString);
  EGL_FUNCTION(eglReleaseThread);
  EGL_FUNCTION(eglTerminate);

  template <typename Function>
  Function address(const char* name) const {
    return reinterpret_cast<Function>(eglGetProcAddress(name));
  }
};

// A thread that outlives its job, so that it ends with what its job left in it.
class LastingThread {
 public:
  template <typename Job>
  void run(Job job) {
    bool done = false;
    thread_ = std::thread([this, &done, job] {
      job();
      std::unique_lock lock(mutex_);
      done = true;
      changed_.notify_all();
      changed_.wait(lock, [this] { return ends_; });
    });
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return done; });
  }
  ~LastingThread() {
    if (!thread_.joinable()) return;
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ends_ = false;
  std::thread thread_;
};

void draw(const Egl& egl, EGLDisplay display, EGLConfig config, bool leave) {
  egl.eglBindAPI(EGL_OPENGL_ES_API);
  const EGLint version[] = {EGL_CONTEXT_CLIENT_VERSION, 2, EGL_NONE};
  const EGLContext context = egl.eglCreateContext(display, config, EGL_NO_CONTEXT, version);
  if (context == EGL_NO_CONTEXT) fail("no context");
  if (!egl.eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, context)) fail("not current");
  egl.address<PFNGLCLEARPROC>("glClear")(GL_COLOR_BUFFER_BIT);
  egl.address<PFNGLFINISHPROC>("glFinish")();
  if (leave) return;
  egl.eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
  egl.eglDestroyContext(display, context);
  egl.eglReleaseThread();
}

void start_counting(const Egl& egl) {
  const auto set = egl.address<PFNEGLSETPERFCOUNTINGBRCMPROC>("eglSetPerfCountingBRCM");
  const auto choose = egl.address<PFNEGLCHOOSEPERFCOUNTERSBRCMPROC>("eglChoosePerfCountersBRCM");
  // One process on the machine has them at a time.
  while (!set(EGL_ACQUIRE_COUNTERS_BRCM)) std::this_thread::yield();
  for (EGLint group = 0; choose(EGL_TRUE, group, 0, nullptr);) group++;
  if (!set(EGL_START_COUNTERS_BRCM)) fail("the counters do not start");
}

void use_egl(const std::string& step, LastingThread& other) {
  const Egl egl;
  const char* const extensions = egl.eglQueryString(EGL_NO_DISPLAY, EGL_EXTENSIONS);
  if (extensions == nullptr) fail("no extensions");
  if (step == "open") return;
  const bool on_device = std::strstr(extensions, "EGL_MESA_platform_surfaceless") == nullptr;
  EGLDeviceEXT device = nullptr;
  EGLint devices = 0;
  if (on_device) egl.address<PFNEGLQUERYDEVICESEXTPROC>("eglQueryDevicesEXT")(1, &device, &devices);
  const EGLDisplay display = egl.eglGetPlatformDisplay(
      on_device ? EGL_PLATFORM_DEVICE_EXT : EGL_PLATFORM_SURFACELESS_MESA, device, nullptr);
  if (!egl.eglInitialize(display, nullptr, nullptr)) fail("no display");
  if (step != "display") {
    const char* const more = egl.eglQueryString(display, EGL_EXTENSIONS);
    const bool counts =
        step == "counters" && std::strstr(more, "EGL_BRCM_performance_counters") != nullptr;
    if (counts) start_counting(egl);
    const EGLint any[] = {EGL_RENDERABLE_TYPE, EGL_OPENGL_ES2_BIT, EGL_SURFACE_TYPE, 0, EGL_NONE};
    EGLConfig config = nullptr;
    EGLint configs = 0;
    egl.eglChooseConfig(display, any, &config, 1, &configs);
    if (configs == 0) fail("no config");
    draw(egl, display, config, step == "left");
    if (step != "left") other.run([&] { draw(egl, display, config, false); });
    EGLint bytes = 0;
    if (counts && !egl.address<PFNEGLGETPERFCOUNTERDATABRCMPROC>("eglGetPerfCounterDataBRCM")(
                      0, nullptr, &bytes, EGL_FALSE))
      fail("not counted");
  }
  if (step != "left") egl.eglTerminate(display);
}

void use_vulkan(const Library& library) {
  const auto find = library.get<PFN_vkGetInstanceProcAddr>("vkGetInstanceProcAddr");
  const auto create_instance =
      reinterpret_cast<PFN_vkCreateInstance>(find(nullptr, "vkCreateInstance"));
  const VkInstanceCreateInfo instance_info{.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
  VkInstance instance = VK_NULL_HANDLE;
  if (create_instance(&instance_info, nullptr, &instance) != VK_SUCCESS) fail("no instance");
#define VULKAN_FUNCTION(function) \
  const auto function = reinterpret_cast<PFN_##function>(find(instance, #function))
  VULKAN_FUNCTION(vkEnumeratePhysicalDevices);
  VULKAN_FUNCTION(vkCreateDevice);
  VULKAN_FUNCTION(vkDestroyDevice);
  VULKAN_FUNCTION(vkDestroyInstance);
  uint32_t devices = 1;
  VkPhysicalDevice physical = VK_NULL_HANDLE;
  vkEnumeratePhysicalDevices(instance, &devices, &physical);
  if (devices == 0) fail("no physical device");
  const float priority = 1;
  const VkDeviceQueueCreateInfo queue{.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                      .queueCount = 1,
                                      .pQueuePriorities = &priority};
  const VkDeviceCreateInfo device_info{.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                       .queueCreateInfoCount = 1,
                                       .pQueueCreateInfos = &queue};
  VkDevice device = VK_NULL_HANDLE;
  if (vkCreateDevice(physical, &device_info, nullptr, &device) != VK_SUCCESS) fail("no device");
  vkDestroyDevice(device, nullptr);
  vkDestroyInstance(instance, nullptr);
}

void print_mapped_files() {
  std::set<std::string> files;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const size_t path = line.find('/');
    if (path != std::string::npos) files.insert(line.substr(path));
  }
  for (const std::string& file : files) std::printf("%s\n", file.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const int loops = std::atoi(argv[1]);
  const std::string step = argv[2];
  if (step == "instance") {
    const Library vulkan("libvulkan.so.1");
    for (int loop = 0; loop < loops; loop++) use_vulkan(vulkan);
  } else {
    for (int loop = 0; loop < loops; loop++) {
      LastingThread other;
      if (step == "loader") {
        use_vulkan(Library("libvulkan.so.1"));
      } else {
        use_egl(step, other);
      }
    }
  }
  print_mapped_files();
}
