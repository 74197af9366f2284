// Where the tests find drivers and layers. scripts/with-driver (CTest runs every Vulkan test
// through it) chooses the driver; a test program started by hand gets the same defaults: Debian's
// lavapipe, layers of this build.
#pragma once

#include <string>

namespace tally::test {

// Sets what is unset: VK_DRIVER_FILES and VK_ADD_LAYER_PATH. Call before the first Vulkan call.
void set_default_environment();

// Name of the driver that CTest chose ("lavapipe", "lavapipe-new", "swiftshader"), "lavapipe" by
// default.
std::string driver_name();

// Keeps what is loaded now loaded for good: a leak checker knows whose a leak is only while the
// library is there, and NVIDIA's driver can be loaded some 27 times by a process.
void keep_libraries_loaded();

// Whether VK_LAYER_KHRONOS_validation is to be loaded below the layers (TALLY_TEST_VALIDATION=1).
bool validation_wanted();

}  // namespace tally::test
