#include "stand_in/faults.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include "capture/base/tables.h"
#include "counters/base/device_table.h"
#include "vk/handles.h"
#include "vk/layer.h"

namespace tally::test {
namespace {

// The call of the application that this thread is in, and whether the driver let it fail: a call of
// the same command with the same first arguments. A layer may try the creation of an object twice:
// then the last call counts.
struct CallerState {
  std::string_view command;
  std::array<uint64_t, 2> key{};
  bool failed_below = false;

  void note(std::string_view called, const std::array<uint64_t, 2>& with, bool failed) {
    if (called != command) return;
    if (called.starts_with("vkCreate")) {
      failed_below = failed;
    } else if (with == key) {
      failed_below = failed_below || failed;
    }
  }
};
thread_local CallerState caller;

template <typename T>
uint64_t bits(const T& value) {
  uint64_t result = 0;
  std::memcpy(&result, &value, std::min(sizeof value, sizeof result));
  return result;
}
// True if a submission executes command buffers. Layers put batches without any behind those of the
// application, and submit such batches for themselves.
bool executes(const VkSubmitInfo& batch) { return batch.commandBufferCount != 0; }
bool executes(const VkSubmitInfo2& batch) { return batch.commandBufferInfoCount != 0; }
bool executes(const VkBindSparseInfo&) { return true; }

// The handle and, of a submission, whether it executes command buffers, of a wait, the number of
// its items.
template <typename First, typename... Others>
std::array<uint64_t, 2> key_of(const First& first, const Others&... others) {
  std::array<uint64_t, 2> key{bits(first)};
  if constexpr (std::is_same_v<First, VkQueue> && sizeof...(Others) == 3) {
    const auto& [count, batches, fence] = std::tie(others...);
    key[1] =
        std::any_of(batches, batches + count, [](const auto& batch) { return executes(batch); });
  } else if constexpr (sizeof...(Others) != 0) {
    const auto& second = std::get<0>(std::tie(others...));
    if constexpr (std::is_integral_v<std::remove_cvref_t<decltype(second)>>) key[1] = second;
  }
  return key;
}

class FaultControl : public Faults {
 public:
  FaultControl() {
    if (const char* text = std::getenv("TALLY_TEST_FAULT")) order(parse(text));
  }

  void order(const std::optional<Order>& order) override {
    const std::lock_guard lock(mutex_);
    order_ = order;
    calls_.clear();
    failures_.clear();
    errors_.clear();
  }
  std::map<std::string, uint32_t> calls() const override {
    const std::lock_guard lock(mutex_);
    return calls_;
  }
  std::vector<std::string> failures() const override {
    const std::lock_guard lock(mutex_);
    return failures_;
  }
  std::vector<Error> errors() const override {
    const std::lock_guard lock(mutex_);
    return errors_;
  }

  // Counts a call that reached the driver. Returns the error that it has to return.
  VkResult next(std::string_view command, const std::array<uint64_t, 2>& key) {
    const std::lock_guard lock(mutex_);
    const uint32_t number = ++calls_[std::string(command)];
    const bool fails = order_ && order_->command == command &&
                       (order_->later_too ? number >= order_->first : number == order_->first);
    caller.note(command, key, fails);
    if (!fails) return VK_SUCCESS;
    failures_.emplace_back(caller.command);
    return order_->code;
  }
  void note_error(std::string_view command, VkResult code) {
    const std::lock_guard lock(mutex_);
    errors_.push_back({std::string(command), code, caller.failed_below});
  }

 private:
  static std::optional<Order> parse(const std::string& text) {
    const size_t first = text.find(':');
    const size_t second = text.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) return std::nullopt;
    return Order{text.substr(0, first),
                 static_cast<uint32_t>(std::strtoul(text.c_str() + first + 1, nullptr, 10)),
                 text.back() == '+',
                 static_cast<VkResult>(std::strtol(text.c_str() + second + 1, nullptr, 10))};
  }

  mutable std::mutex mutex_;  // guards what follows
  std::optional<Order> order_;
  std::map<std::string, uint32_t> calls_;
  std::vector<std::string> failures_;
  std::vector<Error> errors_;
};

FaultControl& control() {
  static auto* all = new FaultControl;  // outlives every thread
  return *all;
}

// --- one command

template <size_t kSize>
struct Name {
  constexpr Name(const char (&from)[kSize]) { std::copy_n(from, kSize, text); }
  constexpr std::string_view view() const { return {text, kSize - 1}; }
  char text[kSize];
};

// The outputs of a failed call: null handles where the specification asks for them, otherwise
// anything.
template <typename... Args>
void write_outputs(const std::tuple<Args...>& args) {
  using Last = std::tuple_element_t<sizeof...(Args) - 1, std::tuple<Args...>>;
  constexpr uint64_t kAnything = 0xbad0bad0bad0bad0;
  if constexpr (sizeof...(Args) == 4 && std::is_pointer_v<Last>) {
    using Output = std::remove_pointer_t<Last>;
    constexpr bool kAllocates =
        std::is_same_v<std::tuple_element_t<2, std::tuple<Args...>>, const VkAllocationCallbacks*>;
    // The loader keeps a pointer of its own in the handle of a device that is being created.
    if constexpr (kAllocates && !std::is_const_v<Output> && !std::is_same_v<Output, VkDevice>) {
      std::memcpy(std::get<3>(args), &kAnything, std::min(sizeof(Output), sizeof kAnything));
    }
  }
  if constexpr (std::is_same_v<Last, void**>) {
    std::memcpy(std::get<sizeof...(Args) - 1>(args), &kAnything, sizeof(void*));
  }
  const auto fill = [](uint32_t count, auto* handles) {
    if constexpr (!std::is_const_v<std::remove_pointer_t<decltype(handles)>>)
      std::fill_n(handles, count, std::remove_pointer_t<decltype(handles)>{});
  };
  if constexpr (std::is_same_v<Last, VkPipeline*>) {
    fill(std::get<sizeof...(Args) - 4>(args), std::get<sizeof...(Args) - 1>(args));
  } else if constexpr (sizeof...(Args) == 3) {
    using Info = std::tuple_element_t<1, std::tuple<Args...>>;
    if constexpr (std::is_same_v<Info, const VkCommandBufferAllocateInfo*>)
      fill(std::get<1>(args)->commandBufferCount, std::get<2>(args));
    if constexpr (std::is_same_v<Info, const VkDescriptorSetAllocateInfo*>)
      fill(std::get<1>(args)->descriptorSetCount, std::get<2>(args));
  } else if constexpr (sizeof...(Args) == 5) {
    if constexpr (std::is_same_v<std::tuple_element_t<4, std::tuple<Args...>>, VkShaderEXT*>)
      fill(std::get<1>(args), std::get<4>(args));
  }
}

template <Name kName, typename Function>
struct Command {
  static constexpr bool kFails = false;
};

// All devices of a process have the same driver, and so the same next functions.
template <Name kName, typename... Args>
struct Command<kName, VkResult(VKAPI_PTR*)(Args...)> {
  using Function = VkResult(VKAPI_PTR*)(Args...);
  static constexpr bool kFails = true;
  static inline std::atomic<Function> next_of_driver;
  static inline std::atomic<Function> next_of_caller;

  static VKAPI_ATTR VkResult VKAPI_CALL drive(Args... args) {
    const VkResult error = control().next(kName.view(), key_of(args...));
    if (error == VK_SUCCESS) return next_of_driver.load()(args...);
    write_outputs(std::tuple<Args...>(args...));
    return error;
  }
  static VKAPI_ATTR VkResult VKAPI_CALL call(Args... args) {
    const CallerState outer = std::exchange(caller, {kName.view(), key_of(args...)});
    const VkResult result = next_of_caller.load()(args...);
    if (result < 0) control().note_error(kName.view(), result);
    caller = outer;
    return result;
  }
};

// --- the functions of one of the two layers

enum class Role { Driver, Caller };

using Wrap = PFN_vkVoidFunction (*)(PFN_vkVoidFunction next, Role role);

template <typename Row>
PFN_vkVoidFunction wrap(PFN_vkVoidFunction next, Role role) {
  const auto function = reinterpret_cast<typename Row::Function>(next);
  (role == Role::Driver ? Row::next_of_driver : Row::next_of_caller) = function;
  return reinterpret_cast<PFN_vkVoidFunction>(role == Role::Driver ? Row::drive : Row::call);
}

using Wraps = std::unordered_map<std::string_view, Wrap>;

template <Name kName, Name kSuffixed, typename Function>
void add(Wraps& all) {
  if constexpr (Command<kName, Function>::kFails) {
    all.insert({kName.view(), wrap<Command<kName, Function>>});
    all.insert({kSuffixed.view(), wrap<Command<kName, Function>>});
  }
}

const Wraps& wraps() {
  static const auto* all = [] {
    auto* rows = new Wraps;
#define TALLY_ADD(name, suffix) add<"vk" #name, "vk" #name suffix, PFN_vk##name>(*rows);
    TALLY_COUNTERS_INSTANCE_FUNCTIONS(TALLY_ADD)
    TALLY_COUNTERS_DEVICE_FUNCTIONS(TALLY_ADD)
    TALLY_CAPTURE_INSTANCE_FUNCTIONS(TALLY_ADD)
    TALLY_CAPTURE_DEVICE_FUNCTIONS(TALLY_ADD)
    TALLY_ADD(CreateDevice, "")
#undef TALLY_ADD
    return rows;
  }();
  return *all;
}

template <Role kRole>
struct FaultLayer {
  // A test has one instance at a time.
  static inline VkInstance instance;
  static inline vk::NextInstance next_instance;
  static inline vk::NextDevice next_device;

  static VKAPI_ATTR VkResult VKAPI_CALL create_instance(const VkInstanceCreateInfo* info,
                                                        const VkAllocationCallbacks* allocator,
                                                        VkInstance* handle) {
    next_instance = vk::take_next_instance(*info);
    const auto create = reinterpret_cast<PFN_vkCreateInstance>(
        next_instance.get_instance_proc_addr(VK_NULL_HANDLE, "vkCreateInstance"));
    const VkResult result = create(info, allocator, handle);
    if (result == VK_SUCCESS) instance = *handle;
    return result;
  }

  static VKAPI_ATTR VkResult VKAPI_CALL create_device(VkPhysicalDevice gpu,
                                                      const VkDeviceCreateInfo* info,
                                                      const VkAllocationCallbacks* allocator,
                                                      VkDevice* device) {
    next_device = vk::take_next_device(*info);
    using Row = Command<"vkCreateDevice", PFN_vkCreateDevice>;
    const auto next = next_device.get_instance_proc_addr(instance, "vkCreateDevice");
    return reinterpret_cast<PFN_vkCreateDevice>(wrap<Row>(next, kRole))(gpu, info, allocator,
                                                                        device);
  }

  static PFN_vkVoidFunction wrapped(const char* name, PFN_vkVoidFunction next) {
    const auto found = wraps().find(name);
    return next && found != wraps().end() ? found->second(next, kRole) : next;
  }
  static PFN_vkVoidFunction own(std::string_view name) {
    if (name == "vkCreateInstance") return reinterpret_cast<PFN_vkVoidFunction>(create_instance);
    if (name == "vkCreateDevice") return reinterpret_cast<PFN_vkVoidFunction>(create_device);
    if (name == "vkGetInstanceProcAddr")
      return reinterpret_cast<PFN_vkVoidFunction>(get_instance_proc_addr);
    if (name == "vkGetDeviceProcAddr")
      return reinterpret_cast<PFN_vkVoidFunction>(get_device_proc_addr);
    return nullptr;
  }

  static PFN_vkVoidFunction VKAPI_CALL get_device_proc_addr(VkDevice device, const char* name) {
    if (const auto found = own(name)) return found;
    return wrapped(name, next_device.get_device_proc_addr(device, name));
  }
  static PFN_vkVoidFunction VKAPI_CALL get_instance_proc_addr(VkInstance handle, const char* name) {
    if (const auto found = own(name)) return found;
    return handle ? wrapped(name, next_instance.get_instance_proc_addr(handle, name)) : nullptr;
  }
  static PFN_vkVoidFunction VKAPI_CALL get_physical_device_proc_addr(VkInstance handle,
                                                                     const char* name) {
    const auto next = next_instance.get_physical_device_proc_addr;
    return next ? wrapped(name, next(handle, name)) : nullptr;
  }

  static VkResult negotiate(VkNegotiateLayerInterface* interface) {
    return vk::negotiate(interface, get_instance_proc_addr, get_device_proc_addr,
                         get_physical_device_proc_addr);
  }
};

}  // namespace
}  // namespace tally::test

#define TALLY_EXPORT extern "C" __attribute__((visibility("default")))

TALLY_EXPORT tally::test::Faults* tally_test_faults() { return &tally::test::control(); }

TALLY_EXPORT VKAPI_ATTR VkResult VKAPI_CALL
tally_test_negotiate_faults(VkNegotiateLayerInterface* interface) {
  using namespace tally::test;
  return FaultLayer<Role::Driver>::negotiate(interface);
}

TALLY_EXPORT VKAPI_ATTR VkResult VKAPI_CALL
tally_test_negotiate_caller(VkNegotiateLayerInterface* interface) {
  using namespace tally::test;
  return FaultLayer<Role::Caller>::negotiate(interface);
}
