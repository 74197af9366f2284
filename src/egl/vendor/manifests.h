// Finds the vendor libraries that libEGL would load without us.
//
// If TALLY_EGL_VENDORS is set, it names them: a colon-separated list of manifest files. Otherwise
// the first of these sources that names a vendor other than ours is used:
// __EGL_VENDOR_LIBRARY_FILENAMES, the folders in __EGL_VENDOR_LIBRARY_DIRS, libglvnd's default
// folders. The environment is ignored in programs that run with elevated privileges
// (secure_getenv).
#pragma once

#include <string>
#include <vector>

namespace tally::egl {

// The library_path of each manifest in libEGL's order, without ours and without duplicates.
std::vector<std::string> real_vendor_libraries();

// Returns library_path of one JSON manifest, or an empty string if it is not a vendor manifest of a
// known version.
std::string library_of_manifest(const std::string& file);

}  // namespace tally::egl
