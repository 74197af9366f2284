// A program with a window, for Windows and for X11, which both have to draw and count the same.
// Usage: window_app FRAMES FILE: the texels of all frames are in FILE.
//        window_app until-asked FILE EVENT: draws until EVENT; FILE says what happened. Exits with
//        status 7.
//        window_app until-closed FILE EVENT: the same without a console, until its window is to
//        close.
//        window_app until-ended FILE [EVENT]: draws until Windows ends it.
//        window_app code-page FILE: writes the code page of its console, as the last three do too.
// EVENT, of interrupt (Ctrl-C), break and close, reaches this program and the one that started it
// after some frames, as Windows sends it to the programs of a console: wine's consoles know Ctrl-C
// alone. 3 seconds after `close-late` both are ended; Windows waits for 5. `interrupt-later` is
// Ctrl-C; before anything else, the program waits until the one that started it has ended, and then
// for at most a minute until the console shows UTF-8.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#ifdef _WIN32
#include <windows.h>

#include <tlhelp32.h>
#include <vulkan/vulkan.h>
#include <vulkan/vulkan_win32.h>
#else
#include <X11/Xlib.h>
#include <vulkan/vulkan.h>
#include <vulkan/vulkan_xlib.h>
#endif

#include "discard.frag.h"
#include "full.vert.h"
#include "support/context.h"
#include "support/pipeline.h"

namespace {

using namespace tally::test;

constexpr uint32_t kSize = 64;

#ifdef _WIN32

constexpr const char* kSurfaceExtension = VK_KHR_WIN32_SURFACE_EXTENSION_NAME;

std::atomic<const char*> g_event = nullptr;

BOOL WINAPI note_event(DWORD event) {
  g_event = event == CTRL_C_EVENT       ? "Ctrl-C"
            : event == CTRL_BREAK_EVENT ? "Ctrl-Break"
            : event == CTRL_CLOSE_EVENT ? "the console's end"
                                        : "another event";
  // Windows ends this process as soon as a handler of this event returns.
  if (event == CTRL_CLOSE_EVENT) ::Sleep(INFINITE);
  return TRUE;
}

DWORD parent_process() {
  const HANDLE all = ::CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS, 0);
  PROCESSENTRY32W entry{};
  entry.dwSize = sizeof entry;
  DWORD parent = 0;
  for (BOOL any = ::Process32FirstW(all, &entry); any != 0; any = ::Process32NextW(all, &entry)) {
    if (entry.th32ProcessID == ::GetCurrentProcessId()) parent = entry.th32ParentProcessID;
  }
  ::CloseHandle(all);
  return parent;
}

void wait_for_console_of_tally() {
  constexpr ULONGLONG kPatienceMs = 60'000;
  const HANDLE parent = ::OpenProcess(SYNCHRONIZE, FALSE, parent_process());
  if (parent != nullptr) ::WaitForSingleObject(parent, INFINITE);
  const ULONGLONG end = ::GetTickCount64() + kPatienceMs;
  while (::GetConsoleOutputCP() != CP_UTF8 && ::GetTickCount64() < end) ::Sleep(1);
}

// For the programs of one console.
class Neighbours {
 public:
  explicit Neighbours(bool with_this_one) {
    all_.push_back(::OpenProcess(PROCESS_ALL_ACCESS, FALSE, parent_process()));
    if (with_this_one) all_.push_back(::GetCurrentProcess());
  }
  void tell(DWORD event) const {
    if (event == CTRL_C_EVENT && ::GetConsoleCP() != 0) {
      if (::GenerateConsoleCtrlEvent(event, 0) == 0) throw std::runtime_error("no event");
      return;
    }
    // What Windows calls, in a thread that it makes.
    const auto routine = reinterpret_cast<LPTHREAD_START_ROUTINE>(reinterpret_cast<void*>(
        ::GetProcAddress(::GetModuleHandleW(L"kernelbase"), "CtrlRoutine")));
    for (const HANDLE process : all_) {
      if (::CreateRemoteThread(process, nullptr, 0, routine,
                               reinterpret_cast<void*>(uintptr_t{event}), 0, nullptr) == nullptr)
        throw std::runtime_error("no thread");
    }
  }
  void end() const {
    for (const HANDLE process : all_) ::TerminateProcess(process, STATUS_CONTROL_C_EXIT);
  }

 private:
  std::vector<HANDLE> all_;
};

LRESULT CALLBACK note_message(HWND window, UINT message, WPARAM first, LPARAM second) {
  if (message != WM_CLOSE) return ::DefWindowProcW(window, message, first, second);
  g_event = "close";
  return 0;
}

VkSurfaceKHR make_surface(VkInstance instance) {
  WNDCLASSW window_class{};
  window_class.lpfnWndProc = note_message;
  window_class.hInstance = ::GetModuleHandleW(nullptr);
  window_class.lpszClassName = L"window_app";
  ::RegisterClassW(&window_class);
  const HWND window =
      ::CreateWindowW(window_class.lpszClassName, L"window_app", WS_POPUP | WS_VISIBLE, 0, 0, kSize,
                      kSize, nullptr, nullptr, window_class.hInstance, nullptr);
  if (window == nullptr) throw std::runtime_error("no window");
  const VkWin32SurfaceCreateInfoKHR info{VK_STRUCTURE_TYPE_WIN32_SURFACE_CREATE_INFO_KHR, nullptr,
                                         0, window_class.hInstance, window};
  VkSurfaceKHR surface = VK_NULL_HANDLE;
  check(vkCreateWin32SurfaceKHR(instance, &info, nullptr, &surface));
  return surface;
}

void answer_system() {
  MSG message;
  while (::PeekMessageW(&message, nullptr, 0, 0, PM_REMOVE) != 0) ::DispatchMessageW(&message);
}

#else

constexpr const char* kSurfaceExtension = VK_KHR_XLIB_SURFACE_EXTENSION_NAME;

VkSurfaceKHR make_surface(VkInstance instance) {
  Display* const display = XOpenDisplay(nullptr);
  if (display == nullptr) throw std::runtime_error("no display");
  const Window window =
      XCreateSimpleWindow(display, DefaultRootWindow(display), 0, 0, kSize, kSize, 0, 0, 0);
  XMapWindow(display, window);
  XSync(display, 0);
  const VkXlibSurfaceCreateInfoKHR info{VK_STRUCTURE_TYPE_XLIB_SURFACE_CREATE_INFO_KHR, nullptr, 0,
                                        display, window};
  VkSurfaceKHR surface = VK_NULL_HANDLE;
  check(vkCreateXlibSurfaceKHR(instance, &info, nullptr, &surface));
  return surface;
}

void answer_system() {}

#endif

class App {
 public:
  App() : surface_(make_surface(context_.instance())) {
    VkSurfaceCapabilitiesKHR can{};
    check(vkGetPhysicalDeviceSurfaceCapabilitiesKHR(context_.gpu(), surface_, &can));
    VkBool32 presents = VK_FALSE;
    check(vkGetPhysicalDeviceSurfaceSupportKHR(context_.gpu(), context_.queue_family(), surface_,
                                               &presents));
    if (presents == VK_FALSE) throw std::runtime_error("the queue cannot present");
    VkSwapchainCreateInfoKHR info{VK_STRUCTURE_TYPE_SWAPCHAIN_CREATE_INFO_KHR};
    info.surface = surface_;
    info.minImageCount = can.minImageCount;
    info.imageFormat = kFormat;
    info.imageColorSpace = VK_COLOR_SPACE_SRGB_NONLINEAR_KHR;
    info.imageExtent = {kSize, kSize};
    info.imageArrayLayers = 1;
    info.imageUsage = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT;
    info.preTransform = can.currentTransform;
    info.compositeAlpha = VK_COMPOSITE_ALPHA_OPAQUE_BIT_KHR;
    info.presentMode = VK_PRESENT_MODE_FIFO_KHR;
    info.clipped = VK_TRUE;
    check(vkCreateSwapchainKHR(context_.device(), &info, nullptr, &swapchain_));
    uint32_t count = 0;
    check(vkGetSwapchainImagesKHR(context_.device(), swapchain_, &count, nullptr));
    images_.resize(count);
    check(vkGetSwapchainImagesKHR(context_.device(), swapchain_, &count, images_.data()));
    for (const VkImage image : images_) {
      VkImageViewCreateInfo view{VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO};
      view.image = image;
      view.viewType = VK_IMAGE_VIEW_TYPE_2D;
      view.format = kFormat;
      view.subresourceRange = kWhole;
      VkImageView handle = VK_NULL_HANDLE;
      check(vkCreateImageView(context_.device(), &view, nullptr, &handle));
      views_.emplace_back(context_.device(), handle);
    }
    const VkFenceCreateInfo fence{VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    VkFence handle = VK_NULL_HANDLE;
    check(vkCreateFence(context_.device(), &fence, nullptr, &handle));
    acquired_ = Fence(context_.device(), handle);
  }

  ~App() {
    views_.clear();
    vkDestroySwapchainKHR(context_.device(), swapchain_, nullptr);
    vkDestroySurfaceKHR(context_.instance(), surface_, nullptr);
  }

  // The texels that are presented.
  std::span<const uint32_t> draw(uint32_t frame) {
    answer_system();
    uint32_t index = 0;
    check(vkAcquireNextImageKHR(context_.device(), swapchain_, UINT64_MAX, VK_NULL_HANDLE,
                                acquired_, &index));
    check(vkWaitForFences(context_.device(), 1, acquired_.address(), VK_TRUE, UINT64_MAX));
    check(vkResetFences(context_.device(), 1, acquired_.address()));
    context_.run([&](VkCommandBuffer commands) { record(commands, index, frame); });
    const VkPresentInfoKHR info{
        VK_STRUCTURE_TYPE_PRESENT_INFO_KHR, nullptr, 0, nullptr, 1, &swapchain_, &index, nullptr};
    check(vkQueuePresentKHR(context_.queue(), &info));
    return texels_.as<uint32_t>();
  }

 private:
  static constexpr VkFormat kFormat = VK_FORMAT_B8G8R8A8_UNORM;
  static constexpr VkImageSubresourceRange kWhole{VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};

  void change_layout(VkCommandBuffer commands, VkImage image, VkImageLayout from,
                     VkImageLayout to) const {
    const VkImageMemoryBarrier barrier{VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
                                       nullptr,
                                       VK_ACCESS_MEMORY_WRITE_BIT,
                                       VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT,
                                       from,
                                       to,
                                       context_.queue_family(),
                                       context_.queue_family(),
                                       image,
                                       kWhole};
    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                         VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 0, nullptr, 0, nullptr, 1,
                         &barrier);
  }

  // Another colour and another width in each frame.
  void record(VkCommandBuffer commands, uint32_t index, uint32_t frame) const {
    change_layout(commands, images_[index], VK_IMAGE_LAYOUT_UNDEFINED,
                  VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL);
    VkRenderingAttachmentInfo color{VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO};
    color.imageView = views_[index];
    color.imageLayout = VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL;
    color.loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR;
    color.storeOp = VK_ATTACHMENT_STORE_OP_STORE;
    color.clearValue.color = {{0.25f, static_cast<float>(frame % 16) / 16, 0.5f, 1}};
    VkRenderingInfo pass{VK_STRUCTURE_TYPE_RENDERING_INFO};
    pass.renderArea.extent = {kSize, kSize};
    pass.layerCount = 1;
    pass.colorAttachmentCount = 1;
    pass.pColorAttachments = &color;
    const VkViewport viewport{0, 0, kSize, kSize, 0, 1};
    const VkRect2D scissor{{0, 0}, {8 * (1 + frame % 8), kSize}};
    vkCmdBeginRendering(commands, &pass);
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, pipeline_);
    vkCmdSetViewport(commands, 0, 1, &viewport);
    vkCmdSetScissor(commands, 0, 1, &scissor);
    vkCmdDraw(commands, 3, 1, 0, 0);
    vkCmdEndRendering(commands);
    change_layout(commands, images_[index], VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL,
                  VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
    VkBufferImageCopy region{};
    region.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};
    region.imageExtent = {kSize, kSize, 1};
    vkCmdCopyImageToBuffer(commands, images_[index], VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, texels_,
                           1, &region);
    full_barrier(commands);
    change_layout(commands, images_[index], VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL,
                  VK_IMAGE_LAYOUT_PRESENT_SRC_KHR);
  }

  Pipeline make_pipeline() const {
    const float width = 20;  // fragments to the left of it are discarded
    const VkSpecializationMapEntry entry{0, 0, sizeof width};
    const VkSpecializationInfo constants{1, &entry, sizeof width, &width};
    return make_graphics_pipeline(
        context_, {.stages = {{VK_SHADER_STAGE_VERTEX_BIT, full_vert},
                              {VK_SHADER_STAGE_FRAGMENT_BIT, discard_frag, "main", &constants}},
                   .layout = layout_,
                   .color_format = kFormat});
  }

  Context context_{{.instance_extensions = {VK_KHR_SURFACE_EXTENSION_NAME, kSurfaceExtension},
                    .device_extensions = {VK_KHR_SWAPCHAIN_EXTENSION_NAME}}};
  PipelineLayout layout_ = make_pipeline_layout(context_);
  Pipeline pipeline_ = make_pipeline();
  Buffer texels_{context_, VkDeviceSize{4} * kSize* kSize, VK_BUFFER_USAGE_TRANSFER_DST_BIT};
  VkSurfaceKHR surface_ = VK_NULL_HANDLE;
  VkSwapchainKHR swapchain_ = VK_NULL_HANDLE;
  std::vector<VkImage> images_;
  std::vector<ImageView> views_;
  Fence acquired_;
};

#ifdef _WIN32
void write_code_page(std::ostream& out) {
  out << "code page " << ::GetConsoleOutputCP() << std::endl;
}

int draw_until(const std::string& end, const char* file, const std::string& event) {
  constexpr uint32_t kFramesBefore = 5;
  constexpr ULONGLONG kPatienceMs = 3000;
  std::ofstream out(file);
  if (event == "interrupt-later") wait_for_console_of_tally();
  write_code_page(out);
  if (end == "asked") ::SetConsoleCtrlHandler(note_event, TRUE);
  if (end == "closed") ::FreeConsole();
  const Neighbours neighbours(end != "closed");
  const bool is_late = event == "close-late";
  uint32_t frames = 0;
  ULONGLONG told = 0;
  {
    App app;
    while (g_event == nullptr || is_late) {
      app.draw(frames++);
      if (frames == 1) out << "draws" << std::endl;
      if (frames == kFramesBefore && !event.empty()) {
        neighbours.tell(event.starts_with("interrupt") ? CTRL_C_EVENT
                        : event == "break"             ? CTRL_BREAK_EVENT
                                                       : CTRL_CLOSE_EVENT);
        told = ::GetTickCount64();
      }
      if (is_late && told != 0 && ::GetTickCount64() - told > kPatienceMs) {
        out << "ends after " << frames << " frames" << std::endl;
        neighbours.end();
      }
    }
  }
  out << g_event.load() << " after " << frames << " frames" << std::endl;
  return 7;
}
#endif

int draw_frames(uint32_t frames, const char* file) {
  App app;
  std::ofstream out(file, std::ios::binary);
  for (uint32_t frame = 0; frame < frames; ++frame) {
    const auto texels = app.draw(frame);
    out.write(reinterpret_cast<const char*>(texels.data()),
              static_cast<std::streamsize>(texels.size_bytes()));
  }
  return out.good() ? 0 : 1;
}

int run(int argc, char** argv) {
  if (argc < 3) {
    std::fputs("window_app FRAMES FILE\n", stderr);
    return 2;
  }
#ifdef _WIN32
  const std::string how = argv[1];
  if (how == "code-page") {
    std::ofstream out(argv[2]);
    return write_code_page(out), 0;
  }
  if (how.starts_with("until-"))
    return draw_until(how.substr(how.find('-') + 1), argv[2], argc > 3 ? argv[3] : "");
#endif
  return draw_frames(static_cast<uint32_t>(std::atoi(argv[1])), argv[2]);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "window_app: %s\n", error.what());
    return 2;
  }
}
