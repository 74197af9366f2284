// Which vendor libraries libEGL would load if we were not there: the ones that we stand in front
// of.
//
// TALLY_EGL_VENDORS names them where it is set: a list of manifest files between colons. Otherwise
// the first of these that names any but ourselves: __EGL_VENDOR_LIBRARY_FILENAMES, the folders of
// __EGL_VENDOR_LIBRARY_DIRS, libglvnd's own folders. In a program that runs with other rights than
// its user's, the environment is not heard.
#pragma once

#include <string>
#include <vector>

namespace tally::egl {

// The library_path of each manifest, in libEGL's order, ours left out, none twice.
std::vector<std::string> real_vendor_libraries();

// library_path of one manifest (a JSON file); empty where it is no vendor manifest of a version
// that we know.
std::string library_of_manifest(const std::string& file);

}  // namespace tally::egl
