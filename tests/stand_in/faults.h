// Two layers of the stand-ins' library that let calls fail: VK_LAYER_TALLY_test_faults, the
// lowest, stands for the driver and fails the calls that a test orders; VK_LAYER_TALLY_test_caller,
// the nearest to the application, notes which of the application's calls fail. They stand in front
// of every function that the layers of Tally call and that returns a VkResult.
//
// A test opens the library and calls tally_test_faults(). For a whole program, the variable
// TALLY_TEST_FAULT orders a failure: "vkCreateBuffer:3:-2" fails the third call, with a '+' behind
// it all later ones too.
#pragma once

#include <vulkan/vulkan_core.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tally::test {

class Faults {
 public:
  struct Order {
    std::string command;
    uint32_t first = 1;  // the number of the call, from 1
    bool later_too = false;
    VkResult code = VK_ERROR_OUT_OF_DEVICE_MEMORY;
  };
  // An error that the application got.
  struct Error {
    std::string command;
    VkResult code;
    bool own;  // the driver's last answer to this very call was the ordered failure
  };
  virtual ~Faults() = default;

  // Forgets all calls, failures and errors. Nothing: no call fails.
  virtual void order(const std::optional<Order>& order) = 0;
  // The number of calls that reached the driver, by command.
  virtual std::map<std::string, uint32_t> calls() const = 0;
  // The application's calls during which the ordered call failed; "" where there is none.
  virtual std::vector<std::string> failures() const = 0;
  virtual std::vector<Error> errors() const = 0;
};

using GetFaults = Faults*();
inline constexpr const char* kGetFaults = "tally_test_faults";

}  // namespace tally::test
