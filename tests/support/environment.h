// Where the tests find drivers and layers. CTest runs every Vulkan test through
// scripts/with-driver, which chooses the driver. A test program started by hand gets the same
// defaults: Debian's lavapipe and the layers of this build.
#pragma once

#include <string>

namespace tally::test {

// Sets VK_ADD_LAYER_PATH, and on Linux VK_DRIVER_FILES, if they are unset. Call before the first
// Vulkan call.
void set_default_environment();

// A profiling lock of this program and its children, so that several tests can run at the same
// time.
void set_own_lock();

// They change the environment of this process.
void set_variable(const char* name, const std::string& value);
void unset_variable(const char* name);

// The name of the driver that CTest chose ("lavapipe", "lavapipe-new", "swiftshader"); "lavapipe"
// by default.
std::string driver_name();

// Prevents the unloading of all libraries loaded so far: a leak checker can attribute a leak to a
// library only while it is loaded, and a process can load NVIDIA's driver only about 27 times.
void keep_libraries_loaded();

// True if to load VK_LAYER_KHRONOS_validation below the layers (TALLY_TEST_VALIDATION=1).
bool validation_wanted();

// True in a build with the address sanitizer.
bool has_address_sanitizer();

}  // namespace tally::test
